"""What the events of an OpenAI-style stream say: tokens, channels, usage, finish reason, error frames.

Definitions in docs/metrics.md: an event bears tokens when its delta carries text in any channel. A role-only or
empty delta does not, nor does a tool call that only announces its name.
"""

from __future__ import annotations

from array import array
from typing import Any

from orjson import JSONDecodeError, loads

from benchgate.client.wire.alike import Alike
from benchgate.client.wire.delta import chars_of, count_of, parse_json, text_of, tool_text
from benchgate.client.wire.faults import error_in
from benchgate.client.wire.sse import NamedEvent

# finish reasons by which an engine says that it gave up
_GAVE_UP = ("error", "abort", "aborted", "cancelled", "canceled", "timeout", "failed")

# what JSON of another shape raises: text where a list belongs, null in it, lists a thousand deep, ..
_OTHER_SHAPE = (AttributeError, TypeError, RecursionError)
_TEXT_FIELDS = ("content", "refusal", "reasoning", "reasoning_content", "tool_calls", "function_call")
_CHANNELS = ("content", "reasoning", "reasoning_content")
_VISIBLE = ("content", "text")


class Answer:
    """Collects one answer. ``on_event`` is called for the data of each event, with the time its last byte was read."""

    __slots__ = (
        "_alike",
        "bad_event",
        "cached_tokens",
        "completion_tokens",
        "content_chars",
        "content_events",
        "done",
        "error",
        "events",
        "finish_reason",
        "first_at",
        "first_visible_at",
        "gaps",
        "largest_event_chars",
        "last_at",
        "prompt_tokens",
        "reasoning_chars",
        "reasoning_events",
        "reasoning_tokens",
        "texts",
        "tool_chars",
        "tool_events",
    )

    def __init__(self, *, keep_text: bool = False) -> None:
        self.events = self.content_events = self.reasoning_events = self.tool_events = 0
        self.content_chars = self.reasoning_chars = self.tool_chars = self.largest_event_chars = 0
        self.first_at: float | None = None
        self.first_visible_at: float | None = None
        self.last_at: float | None = None
        self.gaps = array("f")
        self._alike = Alike()
        self.finish_reason: str | None = None
        self.error: str | None = None  # first error frame
        self.bad_event: str | None = None  # first event that is no JSON object
        self.done = False  # [DONE] was seen
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.reasoning_tokens: int | None = None
        self.cached_tokens: int | None = None
        self.texts: list[str] | None = [] if keep_text else None

    def on_event(self, payload: bytes, at: float) -> None:
        """Take in one event."""
        if payload == b"[DONE]":
            self.done = True
            return
        try:
            chunk = loads(payload)
        except JSONDecodeError:
            try:
                chunk = parse_json(payload)
            except ValueError:
                self._not_json(payload)
                return
        if type(chunk) is not dict:
            self._not_json(payload)
            return
        try:
            self._take(chunk, payload, at)
        except _OTHER_SHAPE:
            self._not_json(payload)

    def _take(self, chunk: dict[str, Any], payload: bytes, at: float) -> None:
        choices = chunk.get("choices")
        if choices:
            if chunk.get("error"):
                self._fail(chunk, payload)
                return
            alone = len(choices) == 1 and not chunk.get("usage")
            for choice in choices:
                delta = choice.get("delta")
                if delta is None:
                    # legacy completions carry text; a server may also send a whole message as its only event
                    delta = {"content": choice.get("text")} if "text" in choice else choice.get("message") or {}
                self._on_delta(delta, at)
                finish = choice.get("finish_reason")
                if alone and not finish:
                    self._learn(payload, choice, delta)
                if finish:
                    self.finish_reason = finish if type(finish) is str else str(finish.get("type", finish))
        elif not chunk.get("usage") or "error" in chunk or type(payload) is NamedEvent:
            self._fail(chunk, payload)
        usage = chunk.get("usage")
        if usage:
            self.take_usage(usage)

    def _learn(self, payload: bytes, choice: dict[str, Any], delta: dict[str, Any]) -> None:
        """The next event may differ from this one in its text only, if text is all that this one says."""
        said = [name for name in _TEXT_FIELDS if delta.get(name)]
        if len(said) == 1 and type(delta[said[0]]) is str and said[0] in _CHANNELS:
            self._alike.learn(payload, "text" if "text" in choice else said[0], delta[said[0]])

    def on_chunk(self, data: bytes, at: float) -> bool:
        """Take in one HTTP chunk, if it is one event like the last one but for its text; False if it is not."""
        text = self._alike.text(data)
        if text is None or self.last_at is None:
            return False
        chars = len(text)
        if self._alike.channel in _VISIBLE:
            self.content_events += 1
            self.content_chars += chars
            if self.first_visible_at is None:
                self.first_visible_at = at
        else:
            self.reasoning_events += 1
            self.reasoning_chars += chars
        self.events += 1
        self.gaps.append(at - self.last_at)
        self.last_at = at
        if chars > self.largest_event_chars:
            self.largest_event_chars = chars
        if self.texts is not None:
            self.texts.append(text)
        return True

    def _on_delta(self, delta: dict[str, Any], at: float) -> None:
        content = delta.get("content") or delta.get("refusal")
        reasoning = delta.get("reasoning") or delta.get("reasoning_content")
        chars = 0
        if content:
            chars = visible = len(content) if type(content) is str else chars_of(content)
            if visible:
                self.content_events += 1
                self.content_chars += visible
                if self.first_visible_at is None:
                    self.first_visible_at = at
        if reasoning:
            hidden = len(reasoning) if type(reasoning) is str else chars_of(reasoning)
            if hidden:
                self.reasoning_events += 1
                self.reasoning_chars += hidden
                chars += hidden
        tool = ""
        if "tool_calls" in delta or "function_call" in delta:
            tool = tool_text(delta)
            if tool:
                self.tool_events += 1
                self.tool_chars += len(tool)
                chars += len(tool)
        if not chars:
            return
        self.events += 1
        if self.last_at is None:
            self.first_at = at
        else:
            self.gaps.append(at - self.last_at)
        self.last_at = at
        if chars > self.largest_event_chars:
            self.largest_event_chars = chars
        if self.texts is not None:
            self.texts.append(text_of(reasoning) + text_of(content) + tool)

    def take_usage(self, usage: dict[str, Any]) -> None:
        """The last usage counts: servers that send it in every event count up."""
        self.prompt_tokens = count_of(usage.get("prompt_tokens"), self.prompt_tokens)
        self.completion_tokens = count_of(usage.get("completion_tokens"), self.completion_tokens)
        details = usage.get("completion_tokens_details")
        reasoning = details.get("reasoning_tokens") if details else usage.get("reasoning_tokens")  # SGLang: top level
        self.reasoning_tokens = count_of(reasoning, self.reasoning_tokens)
        details = usage.get("prompt_tokens_details")
        if details:
            self.cached_tokens = count_of(details.get("cached_tokens"), self.cached_tokens)

    def take_whole(self, body: dict[str, Any], at: float) -> None:
        """A JSON answer that came instead of a stream: its text counts, but it has no token times."""
        try:
            self._take_message(body, at)
        except _OTHER_SHAPE:
            self.bad_event = self.bad_event or str(body)[:300]
        self.first_at = self.first_visible_at = None

    def _take_message(self, body: dict[str, Any], at: float) -> None:
        for choice in body.get("choices") or []:
            message = choice.get("message")
            self._on_delta({"content": choice.get("text")} if message is None else message, at)
            if choice.get("finish_reason"):
                self.finish_reason = str(choice["finish_reason"])
        if body.get("usage"):
            self.take_usage(body["usage"])

    def _fail(self, chunk: dict[str, Any], payload: bytes) -> None:
        message = error_in(chunk)
        if message is None and type(payload) is NamedEvent and payload.name == b"error":
            message = str(chunk.get("message") or chunk)
        if message is not None and self.error is None:
            self.error = message

    def _not_json(self, payload: bytes) -> None:
        text = payload.decode("utf-8", errors="replace").strip()
        if text in ("", "[DONE]"):  # an empty event keeps the connection alive
            self.done = self.done or bool(text)
            return
        if type(payload) is NamedEvent and payload.name == b"error":
            self.error = self.error or text
        else:
            self.bad_event = self.bad_event or text

    @property
    def gave_up(self) -> bool:
        """The finish reason itself says that the engine aborted."""
        return self.finish_reason in _GAVE_UP
