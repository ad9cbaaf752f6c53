"""The request body: built once, with a hole for the prompt, so that a million-token prompt is never copied."""

from __future__ import annotations

from dataclasses import dataclass

from orjson import dumps

from benchgate.client.config import BenchConfig

Pieces = tuple["bytes | memoryview", ...]
_HOLE = "\u2063prompt\u2063"  # invisible separators: in no model name and no sane extra body


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as JSON-escaped bytes in pieces, and its length as the dataset knows it (None: unknown)."""

    pieces: Pieces
    tokens: int | None = None

    @classmethod
    def of(cls, text: str, tokens: int | None = None) -> Prompt:
        """A prompt from text. Lone surrogates (broken dataset files) become question marks."""
        try:
            return cls((dumps(text)[1:-1],), tokens)
        except TypeError:
            return cls((dumps(text.encode("utf-8", "replace").decode())[1:-1],), tokens)


@dataclass(frozen=True, slots=True)
class BodyTemplate:
    """What stands before and behind the prompt in the body."""

    before: bytes
    behind: bytes

    def pieces(self, prompt: Prompt) -> Pieces:
        """The whole body."""
        return (self.before, *prompt.pieces, self.behind)


def body_template(
    config: BenchConfig, model: str, *, max_tokens: int | None = None, stream: bool = True
) -> BodyTemplate:
    """The body of a request to ``config.endpoint``. ``extra_body`` is merged last; a null value removes a field."""
    body: dict[str, object] = {"model": model}
    if config.endpoint == "chat":
        body["messages"] = [{"role": "user", "content": _HOLE}]
    else:
        body["prompt"] = _HOLE
    body["max_tokens"] = config.max_tokens if max_tokens is None else max_tokens
    body["stream"] = stream
    if stream:
        body["stream_options"] = {"include_usage": True}
    if config.temperature is not None:
        body["temperature"] = config.temperature
    if config.ignore_eos:
        body["ignore_eos"] = True
    body.update(config.extra_body)
    body = {name: value for name, value in body.items() if value is not None}
    before, _, behind = dumps(body).partition(_HOLE.encode())
    return BodyTemplate(before, behind)
