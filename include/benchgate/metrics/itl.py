"""Inter-token latency, in seconds.

Formula: gap between consecutive token-bearing events, one sample an event, never invented per token. A stream with
several tokens in an event has fewer samples than tokens; ``tokens_per_event`` of the cell says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchgate.request_record import RequestRecord


def itl_s(records: Iterable[RequestRecord]) -> Iterator[float]:
    """All gaps of all records."""
    for record in records:
        yield from record.itl_s
