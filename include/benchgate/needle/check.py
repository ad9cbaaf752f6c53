"""The needle check: plant facts in a long document, ask them back, count what came back.

Every needle is a request of its own at temperature 0, with its own document. Lengths are the server's: asked with
its ``/tokenize`` where it has one, else learned from the usage of a first short prompt.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchgate.client.tokenize import count_in, question
from benchgate.client.wire.faults import classify
from benchgate.errors import BenchgateError
from benchgate.needle import haystack
from benchgate.records import NeedleCheck, NeedleResult
from benchgate.secrets import mask

# (path, JSON body, timeout in seconds) -> (HTTP status, body)
Post = Callable[[str, bytes, float], tuple[int, bytes]]

_SHORT, _OVER = 0.02, 0.01  # of the document's length, by the server's count
_SENTENCE = 24  # tokens: a document is cut at whole sentences
_CUT = 300  # characters of an answer or message that a person needs to see


@dataclass(frozen=True)
class NeedleRequest:
    """What to check. ``context_tokens`` is the whole context used: prompt plus the room for the answer."""

    model: str
    context_tokens: int
    depths: list[float]
    max_tokens: int = 256
    max_seconds: float = 600.0  # for each needle
    seed: int | None = None  # None: new documents every time


def run_needle_check(
    request: NeedleRequest, post: Post, *, on_result: Callable[[NeedleResult], None] | None = None
) -> NeedleCheck:
    """Ask every needle. A request that fails is a needle that was not found, with its error kept.

    A document that came out shorter or longer than it should, by the server's own usage, corrects the next ones and
    is asked again once itself, with new words: a needle found in a shorter context proves less than was asked for.

    Raises:
        BenchgateError: the context is too small to hold a needle and its answer.
    """
    target = request.context_tokens - request.max_tokens
    if target < 64:
        raise BenchgateError(
            f"a needle check with {request.context_tokens} context tokens and {request.max_tokens} answer tokens "
            "leaves no room for a document",
            remedy="raise context_tokens or lower max_tokens of the needle gate",
        )
    rng = random.Random(request.seed) if request.seed is not None else random.SystemRandom()
    counter = counter_of(request.model, post)
    correction = 1.0  # tokens as the server's usage counts them, for each token as ``counter`` does
    results = []
    for depth in request.depths:
        for attempt in (1, 2):
            needle = haystack.make_needle(depth, rng)
            seed = rng.getrandbits(48)
            sentences = haystack.sentences_for(int(target / correction), counter, needle, seed)
            prompt = haystack.build_prompt(needle, sentences, seed)
            result = _ask(request, needle, prompt, post)
            if result.context_tokens is None or attempt == 2:
                break
            missing = target - result.context_tokens
            if -_OVER * target <= missing <= max(_SHORT * target, _SENTENCE):
                break
            correction = result.context_tokens / counter(prompt)
        results.append(result)
        if on_result:
            on_result(result)
    return NeedleCheck(requested_context_tokens=request.context_tokens, results=results)


def is_found(answer: str, expected: str) -> bool:
    """Whether ``expected`` stands in ``answer`` as a number of its own; digit groups may be separated."""
    compact = re.sub(r"(?<=\d)[ ,._'-](?=\d{3}(?!\d))", "", answer)
    return re.search(rf"(?<!\d){re.escape(expected)}(?!\d)", compact) is not None


def _ask(request: NeedleRequest, needle: haystack.Needle, prompt: str, post: Post) -> NeedleResult:
    body = {
        "model": request.model,
        "messages": _messages(prompt),
        "max_tokens": request.max_tokens,
        "temperature": 0,
    }
    started = time.monotonic()
    try:
        status, raw = post("/v1/chat/completions", json.dumps(body).encode(), request.max_seconds)
    except (OSError, BenchgateError) as error:
        kind = "timeout" if "timed out" in str(error).lower() else "connect"
        return _result(needle, None, "", started, kind, str(error))
    text = raw.decode("utf-8", "replace")
    answer = _parsed(text)
    message = _message_in(answer)
    if status >= 400 or message is None:
        default = "bad_response" if status < 400 else "http_5xx" if status >= 500 else "http_4xx"
        kind = classify(text, default)
        return _result(needle, None, "", started, kind, text or f"HTTP {status} with an empty body")
    content = _text(message.get("content"))
    empty = None if content.strip() else "empty_completion"
    said = content or _text(message.get("reasoning")) or _text(message.get("reasoning_content"))
    return _result(needle, _used(answer), said, started, empty, None, visible=content)


def _parsed(text: str) -> dict[str, Any]:
    """A JSON object, empty where the text is none: what a server sends may be anything."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _message_in(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The message of the first choice; None when the answer has another shape than that of a chat."""
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None


def _used(answer: dict[str, Any]) -> int | None:
    """Prompt tokens by the server's usage; None where it does not say."""
    usage = answer.get("usage")
    return _count(usage.get("prompt_tokens")) if isinstance(usage, dict) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40 else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _result(
    needle: haystack.Needle,
    tokens: int | None,
    answered: str,
    started: float,
    kind: str | None,
    message: str | None,
    *,
    visible: str = "",
) -> NeedleResult:
    return NeedleResult(
        depth=needle.depth,
        context_tokens=tokens,
        asked=needle.question,
        expected=needle.answer,
        answered=mask(answered)[:_CUT],
        # only what a user sees counts: a code that stands in hidden reasoning was not given as the answer
        found=is_found(visible, needle.answer),
        error_kind=kind,
        error_message=mask(message)[:_CUT] if message else None,
        duration_s=time.monotonic() - started,
    )


def counter_of(model: str, post: Post) -> Callable[[str], int]:
    """Token counts as the server makes them, chat template included.

    vLLM's ``/tokenize`` applies a template to messages; llama.cpp's and SGLang's count plain text. Either may differ
    from what the chat endpoint really feeds the model (harmony models are templated elsewhere), so the difference is
    learned from the usage of one short chat. A server without ``/tokenize`` is learned from usage alone.
    """

    def templated(text: str) -> int:
        return _counted(_json(post, "/tokenize", {"model": model, "messages": _messages(text)}))

    def plain(text: str) -> int:
        return _counted(_json(post, "/tokenize", question(model, text)))

    sample = "The harbour office wrote a short note."
    for count in (templated, plain):
        try:
            tokens = count(sample)
        except (BenchgateError, OSError):
            continue
        if tokens < len(sample.split()):  # a word has a token at least: it counted something else
            continue
        used = _prompt_tokens(model, post, sample)
        overhead = used - tokens if used else (0 if count is templated else 32)
        return lambda text, count=count, overhead=overhead: count(text) + overhead  # type: ignore[misc]
    return _counter_from_usage(model, post)


def _counter_from_usage(model: str, post: Post) -> Callable[[str], int]:
    """Tokens for each character, learned from the usage of one short chat; 2 % is added so as not to overflow."""
    rng = random.Random(1)
    text = " ".join(haystack.sentence(rng) for _ in range(40))
    tokens = _prompt_tokens(model, post, text)
    # a server that cannot even say this will fail the needles themselves, with its own words
    per_character = tokens / len(text) if tokens else 0.25
    return lambda prompt: round(len(prompt) * per_character * 1.02)


def _messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _json(post: Post, path: str, body: dict[str, object]) -> dict[str, Any]:
    status, raw = post(path, json.dumps(body).encode(), 120.0)
    if status != 200:
        raise BenchgateError(f"{path} answered {status}")
    answer = _parsed(raw.decode("utf-8", "replace"))
    if not answer:
        raise BenchgateError(f"{path} answered no JSON object: {raw[:80]!r}")
    return answer


def _counted(answer: dict[str, Any]) -> int:
    count = count_in(answer)
    if count is None:
        raise BenchgateError(f"/tokenize answered no count of tokens: {str(answer)[:80]}")
    return count


def _prompt_tokens(model: str, post: Post, text: str) -> int | None:
    """Prompt tokens of one chat, as the server's usage says; None when it does not say."""
    body = {"model": model, "messages": _messages(text), "max_tokens": 1, "temperature": 0}
    try:
        return _used(_json(post, "/v1/chat/completions", body))
    except (OSError, BenchgateError):
        return None
