"""ShareGPT-like files: the first human turn and the assistant's answer to it, read as a stream, filtered, sampled.

The filter is the one of ``vllm bench serve``: prompt of 4 to 1024 tokens, answer of 4 or more, both together at most
2048. Unlike it, the first two turns must really be human and assistant: a third of the usual file starts with an
assistant's turn, whose "answer" would be the human's.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from benchgate.client.datasets.counting import TokenCounter
from benchgate.client.template import Prompt
from benchgate.errors import BenchgateError

HUMAN, ASSISTANT = ("human", "user"), ("gpt", "assistant", "chatgpt", "bing", "bard")
MIN_TOKENS, MAX_PROMPT, MAX_TOTAL = 4, 1024, 2048
LONGEST_TOKEN_CHARS = 16  # a text longer than this many characters a token is over the limit without counting
BATCH = 64
ENDLESS_SAMPLE = 1000  # prompts when only the time cap ends the run


class DatasetError(BenchgateError):
    """A dataset file that is missing, cut off, or something else. The message names the file and the place."""


@dataclass(slots=True)
class ShareGptFile:
    """What was read of a file."""

    pairs: list[tuple[str, str]] = field(default_factory=list)  # (human, assistant)
    conversations: int = 0
    truncated_at: int | None = None  # byte where it broke off; only with allow_truncated


def read_sharegpt(path: str, *, allow_truncated: bool = False) -> ShareGptFile:
    """Stream a file; keep the first turns of the conversations that start human, assistant.

    Raises:
        DatasetError: missing, cut off (unless allowed), no JSON, or no conversations in it.
    """
    file = Path(path)
    result = ShareGptFile()
    try:
        with file.open("rb") as handle:
            _read(handle, path, result, allow_truncated)
    except FileNotFoundError:
        raise DatasetError(
            f"dataset {path} does not exist", remedy="give synthetic, or the path of a ShareGPT JSON file"
        ) from None
    except OSError as error:
        raise DatasetError(f"dataset {path} cannot be read: {error.strerror or error}") from None
    if not result.conversations:
        raise DatasetError(f"dataset {path} holds no conversations", remedy="it must be a list of ShareGPT entries")
    if not result.pairs:
        raise DatasetError(
            f"dataset {path}: none of its {result.conversations} conversations starts with a human turn and its answer"
        )
    return result


def check_beginning(path: str) -> None:
    """Look at the first conversation alone, which tells a foreign file at once.

    Raises:
        DatasetError: there is none, or the file is of another kind. A file that is cut off later passes.
    """
    import ijson

    try:
        with Path(path).open("rb") as handle:
            prefix = _prefix_of(handle, path)
            for entry in ijson.items(handle, prefix, multiple_values=prefix == ""):
                _turns_of(entry, path, 0)
                return
    except OSError as error:
        raise DatasetError(f"dataset {path} cannot be read: {error.strerror or error}") from None
    except ijson.JSONError as error:
        raise DatasetError(f"dataset {path} is no valid JSON: {str(error).splitlines()[0]}") from None
    raise DatasetError(f"dataset {path} holds no conversations", remedy="it must be a list of ShareGPT entries")


def _read(handle: BinaryIO, path: str, result: ShareGptFile, allow_truncated: bool) -> None:
    import ijson  # 30 ms, and only this dataset needs it

    prefix = _prefix_of(handle, path)
    try:
        for entry in ijson.items(handle, prefix, multiple_values=prefix == ""):
            turns = _turns_of(entry, path, result.conversations)
            result.conversations += 1
            pair = _first_pair(turns)
            if pair is not None:
                result.pairs.append(pair)
    except ijson.JSONError as error:
        offset = handle.tell()
        # both back ends raise IncompleteJSONError for other faults as well; only these words mean the end of the file
        said = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        if "premature EOF" not in said and "Incomplete JSON" not in said:
            raise DatasetError(
                f"dataset {path} is no valid JSON near byte {offset:,}, behind {result.conversations:,} whole "
                f"conversations: {said.splitlines()[0]}"
            ) from None
        if not allow_truncated:
            raise DatasetError(
                f"dataset {path} is cut off: it ends at byte {offset:,} in the middle of JSON, behind "
                f"{result.conversations:,} whole conversations",
                remedy="fetch it again, or use what is whole with --allow-truncated",
            ) from None
        result.truncated_at = offset


def _prefix_of(handle: BinaryIO, path: str) -> str:
    """``item`` for one JSON list, empty for one JSON object a line."""
    start = handle.read(4096)
    if not start:
        raise DatasetError(f"dataset {path} is empty", remedy="give a ShareGPT JSON file")
    start = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    handle.seek(0)
    if start[:1] == b"[":
        return "item"
    if start[:1] == b"{":
        return ""
    raise DatasetError(f"dataset {path} is no JSON: it starts with {start[:40]!r}", remedy="give a ShareGPT JSON file")


def _turns_of(entry: Any, path: str, number: int) -> list[Any]:
    turns = None
    if isinstance(entry, dict):
        turns = next((entry[key] for key in ("conversations", "conversation", "messages") if key in entry), None)
    if not isinstance(turns, list):
        kind = type(entry).__name__
        if isinstance(entry, dict):
            kind = f"an object with {', '.join(list(entry)[:6])}" if entry else "an empty object"
        raise DatasetError(
            f"dataset {path} is no ShareGPT file: entry {number} is {kind}, without a list of conversations",
            remedy='entries look like {"conversations": [{"from": "human", "value": ".."}, {"from": "gpt", ..}]}',
        )
    return turns


def _first_pair(turns: list[Any]) -> tuple[str, str] | None:
    """First human turn and the assistant's answer; a system turn before them is left out."""
    spoken = [turn for turn in turns[:3] if isinstance(turn, dict) and _who(turn) != "system"]
    if len(spoken) < 2 or _who(spoken[0]) not in HUMAN or _who(spoken[1]) not in ASSISTANT:
        return None
    human, assistant = _what(spoken[0]), _what(spoken[1])
    return (human, assistant) if isinstance(human, str) and isinstance(assistant, str) else None


def _who(turn: dict[str, Any]) -> object:
    return turn.get("from", turn.get("role"))


def _what(turn: dict[str, Any]) -> object:
    return turn.get("value", turn.get("content"))


def is_kept(prompt_tokens: int, answer_tokens: int) -> bool:
    """The filter of the known clients."""
    return (
        MIN_TOKENS <= prompt_tokens <= MAX_PROMPT
        and answer_tokens >= MIN_TOKENS
        and prompt_tokens + answer_tokens <= MAX_TOTAL
    )


async def sample(
    pairs: list[tuple[str, str]], counter: TokenCounter, *, wanted: int, seed: int
) -> list[tuple[str, int]]:
    """Up to ``wanted`` prompts with their token counts, in the random order of ``seed``. Counts only what it needs."""
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)
    kept: list[tuple[str, int]] = []
    for at in range(0, len(order), BATCH):
        if len(kept) >= wanted:
            break
        batch = [pairs[index] for index in order[at : at + BATCH]]
        batch = [(human, gpt) for human, gpt in batch if len(human) + len(gpt) <= MAX_TOTAL * LONGEST_TOKEN_CHARS]
        counts = await counter.count([text for pair in batch for text in pair])
        for (human, _), prompt_tokens, answer_tokens in zip(batch, counts[::2], counts[1::2], strict=True):
            if is_kept(prompt_tokens, answer_tokens):
                kept.append((human, prompt_tokens))
    return kept[:wanted]


@dataclass
class SampledSource:
    """Prompts of a file. Measured requests take them from the front, warm-up from behind the measured ones."""

    prompts: list[Prompt]
    measured: int  # how many measured requests are planned, if that is known; warm-up starts behind them
    notes: list[str] = field(default_factory=list)

    def prompt(self, index: int) -> Prompt:
        """The measured prompt number ``index``; starts over when the sample is used up."""
        return self.prompts[index % len(self.prompts)]

    def warmup_prompt(self, index: int) -> Prompt:
        """A prompt from behind the measured ones, as long as the sample has more."""
        return self.prompts[(self.measured + index) % len(self.prompts)]


async def sharegpt_source(
    path: str, counter: TokenCounter, *, requests: int | None, warmup: int, seed: int, allow_truncated: bool
) -> SampledSource:
    """Read, filter and sample ``path``."""
    file = read_sharegpt(path, allow_truncated=allow_truncated)
    measured = requests or ENDLESS_SAMPLE
    kept = await sample(file.pairs, counter, wanted=measured + warmup, seed=seed)
    if not kept:
        raise DatasetError(
            f"dataset {path}: no conversation passes the filter (prompt of {MIN_TOKENS} to {MAX_PROMPT} tokens)"
        )
    notes = []
    if file.truncated_at is not None:
        notes.append(
            f"the dataset file is cut off at byte {file.truncated_at:,}: {file.conversations:,} conversations used"
        )
    if counter.source == "approximation":
        notes.append(f"dataset filtered by {counter.described}: no tokenizer was given")
    if requests is not None and len(kept) < requests:
        notes.append(f"{requests} prompts wanted, {len(kept)} fit the filter: prompts repeat (a prefix cache may help)")
    return SampledSource([Prompt.of(text, tokens) for text, tokens in kept], min(measured, len(kept)), notes)
