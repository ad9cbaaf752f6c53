"""The measured window: wall clock, in seconds.

Formula: first measured ``sent_at`` (open loop: first intended arrival) to the last event of the last measured request.
Warm-up is outside. Requests that failed or were cut off took their time inside the window, so they stretch it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchgate.request_record import RequestRecord


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the clock."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return max(0.0, self.end - self.start)


def last_event_at(record: RequestRecord) -> float | None:
    """The last token-bearing event of a request; where there was none, the moment it ended."""
    if record.last_token_at is not None:
        return record.last_token_at
    return record.ended_at if record.ended_at is not None else record.sent_at


def measured_window(records: Iterable[RequestRecord]) -> Window | None:
    """None when nothing was sent."""
    starts, ends = [], []
    for record in records:
        if record.starts_at is None:
            continue
        starts.append(record.starts_at)
        ended = last_event_at(record)
        if ended is not None:
            ends.append(ended)
    if not starts or not ends:
        return None
    return Window(min(starts), max(ends))
