"""An answer as a list of timed writes, and the request it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.reference_server import frames
from benchmarks.reference_server.schedule import Schedule

KEEP = "keep"  # the connection stays open
CLOSE = "close"  # orderly close (FIN)
RESET = "reset"  # RST
HANG = "hang"  # nothing more is ever sent


class Step(NamedTuple):
    """One write: due ``offset_s`` after the request; ``tokens`` > 0 makes it a token-bearing event of a channel."""

    offset_s: float
    data: bytes
    tokens: int = 0
    channel: str | None = None  # content | reasoning | reasoning_content | tool


@dataclass(frozen=True)
class Request:
    """What a scenario may know about the request that it answers."""

    endpoint: str  # chat | completions
    model: str
    schedule: Schedule
    prompt_tokens: int
    include_usage: bool
    stream: bool
    accepts: str  # Accept-Encoding


@dataclass
class Reply:
    """Every write of one answer, in order of time, and how the connection ends."""

    steps: list[Step]
    ending: str = KEEP
    completion_tokens: int | None = None  # what a right client must report; None: the sum over the steps
    finish_reason: str | None = None


Scenario = Callable[[Request], Reply]

STREAM_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}
STREAM_HEAD = frames.head(200, "OK", STREAM_HEADERS)


@dataclass
class Stream:
    """Collects the events of a chunked event stream. The head goes out at once, as real servers do."""

    request: Request
    head: bytes = STREAM_HEAD
    encode: Callable[[bytes], bytes] = frames.http_chunk
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.steps.append(Step(0.0, self.head))

    def send(self, offset_s: float, data: bytes, tokens: int = 0, channel: str | None = None) -> None:
        """One event in one write."""
        self.steps.append(Step(offset_s, self.encode(data), tokens, channel))

    def text(self, index: int, tokens: int) -> str:
        """The text of the event at ``index``: the schedule's own, or plain words."""
        own = self.request.schedule.text
        return "".join(own[(index + i) % len(own)] for i in range(tokens)) if own else frames.words(tokens, index)

    def tokens(self, channel: str = "content", start: int = 0, stop: int | None = None) -> None:
        """The scheduled token events from ``start`` to ``stop``."""
        schedule, request = self.request.schedule, self.request
        for i in range(len(schedule.tokens))[start:stop]:
            data = frames.token_event(request.endpoint, request.model, channel, self.text(i, schedule.tokens[i]))
            self.send(schedule.offsets_s[i], data, schedule.tokens[i], channel)

    def finish(self, reason: str | None = None, **more: object) -> None:
        """The finish chunk, right behind the last token."""
        schedule = self.request.schedule
        reason = reason or schedule.finish_reason
        self.send(schedule.end_s(), frames.finish_event(self.request.endpoint, self.request.model, reason, **more))

    def usage(self, completion_tokens: int | None = None, more_s: float = 0.0) -> None:
        """The usage chunk, if the request asked for it."""
        if self.request.include_usage:
            tokens = self.request.schedule.total_tokens if completion_tokens is None else completion_tokens
            counts = frames.usage(self.request.prompt_tokens, tokens)
            event = frames.usage_event(self.request.endpoint, self.request.model, counts)
            self.send(self.request.schedule.end_s(more_s), event)

    def done(self, more_s: float = 0.0) -> None:
        """``[DONE]`` and the end of the chunked body."""
        self.send(self.request.schedule.end_s(more_s), frames.DONE)
        self.end(more_s)

    def end(self, more_s: float = 0.0) -> None:
        """The end of the chunked body alone."""
        self.steps.append(Step(self.request.schedule.end_s(more_s), frames.LAST_CHUNK))

    def reply(self, ending: str = KEEP, finish_reason: str | None = None) -> Reply:
        """The collected answer."""
        return Reply(self.steps, ending, finish_reason=finish_reason or self.request.schedule.finish_reason)


def merged(steps: list[Step]) -> list[Step]:
    """Writes of one moment that carry no token become one write: fewer packets, and every token keeps its own."""
    out: list[Step] = []
    for step in steps:
        if out and not step.tokens and not out[-1].tokens and out[-1].offset_s == step.offset_s:
            last = out[-1]
            out[-1] = Step(last.offset_s, last.data + step.data)
        else:
            out.append(step)
    return out
