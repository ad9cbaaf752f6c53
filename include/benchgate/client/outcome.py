"""From an exchange to a record: the status rules of docs/metrics.md in one place."""

from __future__ import annotations

import contextlib

from benchgate.client.wire.delta import parse_json
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.faults import classify, cut, error_in
from benchgate.request_record import CUT_OFF, OK, RequestRecord
from benchgate.secrets import mask

NEAR_CAP = 0.98  # share of max_tokens from which an error counts as near the cap


def fill(record: RequestRecord, exchange: Exchange, *, ended_by: str | None = None) -> None:
    """Write what happened into ``record``.

    Args:
        ended_by: ``timeout`` or ``cut_off`` when the client itself ended the request.
    """
    record.sent_at = exchange.sent_at
    record.headers_at = exchange.headers_at
    record.http_status = exchange.http_status
    record.response_bytes = exchange.bytes_in
    record.ended_at = exchange.last_read_at if exchange.ended_at is None else exchange.ended_at
    record.streamed = exchange.stream if exchange.headers_at is not None else None
    try:
        status, message = _status(exchange, ended_by)  # reads a JSON body into exchange.answer, so it comes first
    except RecursionError:
        status, message = "bad_response", "the JSON of the answer is nested too deeply to be shown"
    _copy_answer(record, exchange)
    record.status = status
    if message:
        record.error_message = cut(mask(message))
    if record.is_error:
        record.near_cap = _near_cap(record)


def _copy_answer(record: RequestRecord, exchange: Exchange) -> None:
    answer = exchange.answer
    record.first_token_at = answer.first_at
    record.first_visible_at = answer.first_visible_at
    record.last_token_at = answer.last_at
    record.finish_reason = answer.finish_reason
    record.prompt_tokens = answer.prompt_tokens
    record.completion_tokens = answer.completion_tokens
    record.reasoning_tokens = answer.reasoning_tokens
    record.cached_tokens = answer.cached_tokens
    record.token_count_source = "usage" if answer.completion_tokens is not None else None
    record.events = answer.events
    record.content_events = answer.content_events
    record.reasoning_events = answer.reasoning_events
    record.tool_events = answer.tool_events
    record.content_chars = answer.content_chars
    record.reasoning_chars = answer.reasoning_chars
    record.tool_chars = answer.tool_chars
    record.largest_event_chars = answer.largest_event_chars
    record.itl_s = answer.gaps


def _status(exchange: Exchange, ended_by: str | None) -> tuple[str, str | None]:
    answer = exchange.answer
    if answer.error is not None:  # whatever ended the stream later, this is why
        return classify(answer.error, "stream_error"), answer.error
    if exchange.protocol_error is not None:
        return "bad_response", exchange.protocol_error
    if ended_by == CUT_OFF:
        return CUT_OFF, None
    if ended_by is not None:
        return ended_by, _silence(exchange)
    status = exchange.http_status
    if status is None:
        return "connect", f"{exchange.lost or 'connection closed'}, before any answer came"
    if status != 200:
        return _http_error(exchange, status)
    if not exchange.stream:
        return _whole_answer(exchange)
    return _stream(exchange)


def _stream(exchange: Exchange) -> tuple[str, str | None]:
    answer = exchange.answer
    if exchange.body:
        return _no_event(exchange)
    if answer.bad_event is not None:
        return "bad_response", f"an event of the stream is not a JSON object: {answer.bad_event}"
    if answer.gave_up:
        return "stream_error", f"the stream ended with finish_reason {answer.finish_reason!r}"
    if answer.finish_reason is None:
        how = exchange.lost or ("[DONE] came" if answer.done else "the stream ended")
        return "truncated_stream", f"{how}, but no finish reason did; {answer.events} token events before"
    if not answer.events:
        count = answer.completion_tokens
        claim = "" if count is None else f"; the server's usage says {count} completion tokens"
        return "empty_completion", f"finish_reason {answer.finish_reason!r}, but no text in any channel{claim}"
    return OK, None


def _no_event(exchange: Exchange) -> tuple[str, str | None]:
    """A stream by its content type alone: proxies give their error pages the type of what was asked for."""
    message = None
    with contextlib.suppress(ValueError):
        message = error_in(parse_json(bytes(exchange.body)))
    if message is not None:
        return classify(message, "stream_error"), f"HTTP 200 with an error in the body: {message}"
    return "bad_response", f"an event stream without an event: {exchange.body[:200].decode('utf-8', errors='replace')}"


def _whole_answer(exchange: Exchange) -> tuple[str, str | None]:
    """HTTP 200 without an event stream: a plain JSON answer, or an error in disguise."""
    if exchange.lost is not None:
        return "truncated_stream", f"{exchange.lost} in the middle of the answer"
    try:
        body = parse_json(bytes(exchange.body))
    except ValueError:
        text = bytes(exchange.body[:200]).decode("utf-8", errors="replace")
        return (
            "bad_response",
            f"neither an event stream nor JSON ({exchange.content_type or 'no content type'}): {text}",
        )
    message = error_in(body)
    if message is not None:
        # whatever code the body names, the HTTP status was 200: to a client that looks at it, a success
        return classify(message, "stream_error"), f"HTTP 200 with an error in the body: {message}"
    if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
        return "bad_response", f"JSON without choices: {str(body)[:200]}"
    exchange.answer.take_whole(body, exchange.last_read_at or 0.0)
    if exchange.answer.bad_event is not None:
        return "bad_response", f"JSON of another shape than an answer: {exchange.answer.bad_event}"
    if not exchange.answer.events:
        return "empty_completion", "the answer carries no text in any channel"
    return OK, None


def _http_error(exchange: Exchange, status: int) -> tuple[str, str | None]:
    if exchange.location is not None and 300 <= status < 400:
        return "bad_response", f"HTTP {status}: redirected to {exchange.location}; use that address as --base-url"
    text = bytes(exchange.body[:65536]).decode("utf-8", errors="replace")
    message = text
    with contextlib.suppress(ValueError, RecursionError):
        message = error_in(parse_json(bytes(exchange.body))) or text
    default = "http_4xx" if 400 <= status < 500 else "http_5xx" if status >= 500 else "bad_response"
    return classify(message, default), f"HTTP {status}: {message}"


def _silence(exchange: Exchange) -> str:
    if exchange.http_status is None:
        return "no answer within the time limit"
    if not exchange.answer.events:
        return "no token within the time limit"
    return f"the stream stalled after {exchange.answer.events} token events"


def _near_cap(record: RequestRecord) -> bool | None:
    """Did the error come within 2 % of max_tokens? Events stand in for tokens when no usage came (never more)."""
    if record.max_tokens is None:
        return None
    tokens = record.completion_tokens if record.completion_tokens is not None else record.events
    return tokens >= NEAR_CAP * record.max_tokens
