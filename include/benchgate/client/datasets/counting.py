"""Counting tokens before anything is measured: the server's own tokenizer, a tokenizer file, or an approximation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchgate.client.config import OptionError
from benchgate.client.tokenize import count_in, question
from benchgate.client.wire.calls import CallFailed, call_json
from benchgate.client.wire.faults import cut, error_in
from benchgate.client.wire.pool import Pool
from benchgate.secrets import mask

CALLS_AT_ONCE = 8
# Two lengths of the same words, then what tokenizers differ in: numbers, capitals, other scripts, code, white space.
PROBE_TEXTS = (
    "one",
    "one two three four five six seven eight",
    "In 1987, 12345.67 ZŁOTYCH: naïve café — 漢字かな 한국어 русский हिन्दी 🙂🙂",
    "def f(x_1, *args):\n\treturn {'k': x_1 ** 2}   # indented\n\n\nhttps://example.org/a?b=c&d=%20e",
)
CHARS_PER_TOKEN = 4.0  # English prose with vocabularies of 32K to 200K tokens: 3.8 to 4.7


class TokenCounter(Protocol):
    """Counts tokens of texts, without special tokens where the counter can leave them out."""

    source: str  # server | tokenizer | approximation: goes into the records
    described: str  # for people

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        ...


class ServerCounter:
    """The server's own ``/tokenize``."""

    source = "server"

    def __init__(self, pool: Pool, model: str, api_key: str | None) -> None:
        self._pool = pool
        self._model = model
        self._api_key = api_key
        self._gate = asyncio.Semaphore(CALLS_AT_ONCE)
        self.described = "the server's /tokenize"

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text.

        Raises:
            CallFailed: the server refused or answered something else.
        """
        return list(await asyncio.gather(*(self._one(text) for text in texts)))

    async def _one(self, text: str) -> int:
        path = f"{self._pool.target.root_path}/tokenize"
        async with self._gate:
            status, answer = await call_json(
                self._pool, "POST", path, question(self._model, text), api_key=self._api_key
            )
        count = count_in(answer)
        if status != 200 or count is None:
            said = error_in(answer) or (str(answer) if answer else "nothing readable")
            raise CallFailed(f"it answered {status}: {cut(mask(said))}")
        return count


class FileCounter:
    """A Hugging Face ``tokenizer.json``."""

    source = "tokenizer"

    def __init__(self, path: str) -> None:
        from tokenizers import Tokenizer  # 0.1 s: only when asked for

        file = Path(path)
        if file.is_dir():
            file = file / "tokenizer.json"
        if not file.is_file():
            raise OptionError(
                f"--tokenizer {path}: there is no {file.name} there",
                remedy="give a tokenizer.json or a folder that holds one",
            )
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # noqa: BLE001 - the Rust binding raises plain Exception
            raise OptionError(f"--tokenizer {file} cannot be read: {error}") from None
        self.described = f"the tokenizer {file}"

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(one.ids) for one in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


class Approximation:
    """Characters / 4. Whoever uses it says so."""

    source = "approximation"
    described = f"an approximation ({CHARS_PER_TOKEN:g} characters a token)"

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Estimated tokens of each text."""
        return [max(1, round(len(text) / CHARS_PER_TOKEN)) for text in texts]


@dataclass(frozen=True, slots=True)
class Choice:
    """Who counts, and why the server's ``/tokenize`` does not; None where it does, or agrees with who does."""

    counter: TokenCounter
    refused: str | None = None


async def choose_counter(
    pool: Pool, model: str, *, tokenizer: str | None, api_key: str | None, refused: str | None = None
) -> Choice:
    """The server's tokenizer if it has one, else the file that was given, else the approximation.

    A file that counts as the server does is used in its place: it counts thousands of prompts in the time of a few
    calls. One that counts otherwise is of another model, and the server is right.

    Args:
        tokenizer: a tokenizer file, or the folder that holds one.
        refused: what the server said before in place of a count: it is not asked again.
    """
    file = FileCounter(tokenizer) if tokenizer is not None else None
    server = ServerCounter(pool, model, api_key)
    counts: list[int] = []
    if refused is None:
        try:
            # one text alone first: a server that fails at it writes one traceback and not one for each
            counts = [*await server.count(PROBE_TEXTS[:1]), *await server.count(PROBE_TEXTS[1:])]
        except CallFailed as error:
            refused = str(error)
        else:  # a server without the route may still answer something: the texts must give plausible counts
            if not 0 < counts[0] < counts[1]:
                refused = f"it counted {counts[0]} tokens for one word and {counts[1]} for eight"
    if refused is not None:
        return Choice(file or Approximation(), refused)
    return Choice(file if file is not None and await file.count(PROBE_TEXTS) == counts else server)
