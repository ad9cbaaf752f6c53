"""Throughput while all users were busy: ramp and tail cut off.

Window: from the moment when, for the first time, as many requests were in flight as there are users, to the last such
moment. Requests that were cut off are left out of the count of those in flight, because their tokens are not counted
either: the window ends before they would make it look slower than it was.
Tokens in the window: completion tokens at their events (each event carries completion_tokens / events of its request),
prompt tokens spread evenly from ``sent_at`` to the first token. Successful requests only, as for the whole window.
None for an open loop, which has no users, and when all users were never busy at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.metrics.window import Window, last_event_at
from benchgate.request_record import CUT_OFF, OK, RequestRecord


@dataclass(frozen=True, slots=True)
class Steady:
    """Throughput inside the steady window."""

    seconds: float
    prefill_tok_s: float | None
    decode_tok_s: float | None


def busy_window(records: Sequence[RequestRecord], users: int) -> Window | None:
    """First to last moment with ``users`` requests in flight."""
    moments: list[tuple[float, int]] = []
    for record in records:
        ended = record.ended_at if record.ended_at is not None else last_event_at(record)
        if record.sent_at is None or ended is None or record.status == CUT_OFF:
            continue
        moments.append((record.sent_at, 1))
        moments.append((ended, -1))
    moments.sort()
    running, first, last = 0, None, None
    for at, change in moments:
        if running >= users and change < 0:
            last = at
        running += change
        if running >= users and first is None:
            first = at
    if first is None or last is None or last <= first:
        return None
    return Window(first, last)


def _prompt_share(record: RequestRecord, window: Window) -> float:
    """Prompt tokens of a request that fall into the window."""
    if record.prompt_tokens is None or record.sent_at is None or record.first_token_at is None:
        return 0.0
    begin, end = record.sent_at, record.first_token_at
    if end <= begin:
        return float(record.prompt_tokens) if window.start <= begin <= window.end else 0.0
    overlap = min(end, window.end) - max(begin, window.start)
    return record.prompt_tokens * max(0.0, overlap) / (end - begin)


def _completion_share(record: RequestRecord, window: Window) -> float:
    """Completion tokens of a request that fall into the window."""
    if record.completion_tokens is None or not record.events or record.first_token_at is None:
        return 0.0
    if window.start <= record.first_token_at and (record.last_token_at or record.first_token_at) <= window.end:
        return float(record.completion_tokens)
    at = record.first_token_at
    inside = int(window.start <= at <= window.end)
    for gap in record.itl_s:
        at += gap
        inside += window.start <= at <= window.end
    return record.completion_tokens * inside / record.events


def steady(records: Sequence[RequestRecord], users: int | None) -> Steady | None:
    """Throughput of the steady window."""
    window = busy_window(records, users) if users else None
    if window is None:
        return None
    successful = [record for record in records if record.status == OK]
    prefill = decode = None
    if any(record.prompt_tokens is not None and record.first_token_at is not None for record in successful):
        prefill = sum(_prompt_share(record, window) for record in successful) / window.seconds
    if any(record.completion_tokens is not None and record.events for record in successful):
        decode = sum(_completion_share(record, window) for record in successful) / window.seconds
    return Steady(window.seconds, prefill, decode)
