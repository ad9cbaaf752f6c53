"""Bytes on the wire: OpenAI stream chunks, server-sent events, HTTP/1.1 heads and chunks."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence

FINGERPRINT = "simulated"
DONE = b"data: [DONE]\n\n"
LAST_CHUNK = b"0\r\n\r\n"
WORDS = ("the", "of", "and", "to", "in", "is", "was", "for", "on", "are", "with", "they", "at", "be", "this", "have")


def dumps(value: object) -> bytes:
    """Compact JSON; characters stay as they are, so that multi-byte text is on the wire."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(payload: object) -> bytes:
    """One server-sent event with a JSON payload."""
    return b"data: " + dumps(payload) + b"\n\n"


def http_chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head(
    status: int, reason: str, headers: Mapping[str, str] | Sequence[tuple[str, str]], version: str = "1.1"
) -> bytes:
    """A response head; every one says that it is simulated."""
    pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    lines = [f"HTTP/{version} {status} {reason}", "Server: benchgate-reference (simulated)", "X-Simulated: true"]
    lines += [f"{name}: {value}" for name, value in pairs]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def words(count: int, start: int = 0) -> str:
    """``count`` plain words, each with a leading space; a word is a token here."""
    return "".join(" " + WORDS[i % len(WORDS)] for i in range(start, start + count))


def chunk(endpoint: str, model: str, choices: list[dict[str, object]], **more: object) -> dict[str, object]:
    """A stream chunk of chat or text completions."""
    chat = endpoint == "chat"
    return {
        "id": "chatcmpl-simulated" if chat else "cmpl-simulated",
        "object": "chat.completion.chunk" if chat else "text_completion",
        "created": 0,
        "model": model,
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
        **more,
    }


def delta_choice(delta: dict[str, object], finish_reason: str | None = None) -> dict[str, object]:
    """A chat choice with a delta."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def text_choice(text: str, finish_reason: str | None = None) -> dict[str, object]:
    """A text completion's choice."""
    return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason}


def usage(prompt_tokens: int, completion_tokens: int, reasoning_tokens: int | None = None) -> dict[str, object]:
    """A usage object."""
    counts: dict[str, object] = {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
    if reasoning_tokens is not None:
        counts["completion_tokens_details"] = {"reasoning_tokens": reasoning_tokens}
    return counts


@functools.lru_cache(maxsize=4096)
def token_event(endpoint: str, model: str, channel: str, text: str) -> bytes:
    """One token-bearing event. Cached: 50,000 a second are written from one core."""
    if endpoint == "completions":
        return event(chunk(endpoint, model, [text_choice(text)]))
    if channel == "tool":
        call = {"index": 0, "function": {"arguments": text}}
        return event(chunk(endpoint, model, [delta_choice({"tool_calls": [call]})]))
    return event(chunk(endpoint, model, [delta_choice({channel: text})]))


def finish_event(endpoint: str, model: str, reason: str | None, **more: object) -> bytes:
    """The chunk that carries the finish reason and no text."""
    choice = delta_choice({}, reason) if endpoint == "chat" else text_choice("", reason)
    return event(chunk(endpoint, model, [choice], **more))


def usage_event(endpoint: str, model: str, counts: dict[str, object]) -> bytes:
    """The chunk with an empty ``choices`` and the usage."""
    return event(chunk(endpoint, model, [], usage=counts))
