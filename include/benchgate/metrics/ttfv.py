"""Time to first visible token, in seconds.

Formula: first_visible_at - start, where ``first_visible_at`` is the first event with final-channel content, and
``start`` as for TTFT. A model that reasons first has a TTFV long after its TTFT; one that never answers has none.
"""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def ttfv_s(record: RequestRecord) -> float | None:
    """None when no visible content came."""
    start = record.starts_at
    if start is None or record.first_visible_at is None:
        return None
    return record.first_visible_at - start
