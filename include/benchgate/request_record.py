"""The record of one request. Standard library only: the load generator imports this and nothing heavier."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

OK = "ok"
CUT_OFF = "cut_off"  # ended by the time cap: neither completed nor an error
ERROR_KINDS = (
    "connect",
    "timeout",
    "http_4xx",
    "http_5xx",
    "stream_error",
    "truncated_stream",
    "empty_completion",
    "harmony_parse",
    "context_overflow",
    "bad_response",
)


def _no_gaps() -> array[float]:
    return array("f")


@dataclass(slots=True)
class RequestRecord:
    """What one request did. Times in seconds on one monotonic clock; None where it did not happen."""

    request_id: int
    phase: str = "measured"  # measured | warmup | probe
    user: int | None = None  # closed loop
    intended_at: float | None = None  # open loop: when it should have been sent
    queued_at: float | None = None  # when the client wanted to send
    sent_at: float | None = None  # just before the first byte is written to an open connection
    headers_at: float | None = None
    first_token_at: float | None = None
    first_visible_at: float | None = None
    last_token_at: float | None = None
    ended_at: float | None = None  # its last byte came, or it broke off, or the client gave it up
    status: str = OK  # ok | cut_off | one of ERROR_KINDS
    http_status: int | None = None
    error_message: str | None = None  # cut, secrets masked
    near_cap: bool | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    token_count_source: str | None = None  # usage | tokenizer | None when unknown
    max_tokens: int | None = None
    events: int = 0  # token-bearing events
    content_events: int = 0
    reasoning_events: int = 0
    tool_events: int = 0
    content_chars: int = 0
    reasoning_chars: int = 0
    response_bytes: int = 0
    retried_stale_connection: bool = False
    # gaps between consecutive token-bearing events; single precision (4 bytes a token, exact to 0.1 us at 1 s)
    itl_s: Sequence[float] = field(default_factory=_no_gaps)
    streamed: bool | None = None  # did the answer come as an event stream; None when no answer came
    tool_chars: int = 0
    largest_event_chars: int = 0  # characters of the token-bearing event that carried most
    cached_tokens: int | None = None  # prompt tokens that the server took from its prefix cache, if it says so
    requested_prompt_tokens: int | None = None  # what the dataset aimed at
    process: int = 0  # which client process sent it

    @property
    def starts_at(self) -> float | None:
        """Where its latency begins: the intended arrival in an open loop (no coordinated omission), else the write."""
        return self.sent_at if self.intended_at is None else self.intended_at

    @property
    def is_error(self) -> bool:
        """Neither a success nor cut off by the client itself."""
        return self.status not in (OK, CUT_OFF)


@dataclass(slots=True)
class ClientFacts:
    """What the load generator knows about its own run, beside the records. Times in seconds unless named otherwise."""

    client_name: str
    client_version: str
    started_at: str | None = None  # UTC, ISO 8601: start of the measured window
    model: str | None = None
    endpoint: str | None = None
    users: int | None = None
    request_rate: float | None = None
    max_tokens: int | None = None
    planned: int | None = None  # requests; None when only the time cap ends the run
    stopped_by: str = "requests"  # requests | time_cap | error_rate | interrupt
    processes: int = 1
    cpu_share: float | None = None  # of one core, in the measured window; the busiest process
    loop_lag_p99_ms: float | None = None  # how late the event loop woke up, or bytes were read; the worst process
    stamp_source: str | None = None  # who timed the reads: kernel | user | mixed; None when nothing was read
    reads: int | None = None  # socket reads that carried answers
    events: int | None = None  # events of any sort in them
    token_count_source: str | None = None  # where counts came from when the server sent no usage
    tokenize_refused: str | None = None  # what the server's /tokenize said in place of a count; None: it counted
    notes: list[str] = field(default_factory=list)
