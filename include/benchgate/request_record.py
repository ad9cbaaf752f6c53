"""The record of one request. Standard library only: the load generator imports this and nothing heavier."""

from __future__ import annotations

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
    ended_at: float | None = None
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
    itl_s: list[float] = field(default_factory=list)  # gaps between consecutive token-bearing events
