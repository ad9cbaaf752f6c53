"""Time a request waited in the client, in seconds.

Formula: sent_at - queued_at. ``queued_at`` is the intended arrival in an open loop; in a closed loop it is the moment
the user's last answer ended. The wait is for a connection or for the client itself, and is in no other latency of a
closed loop.
"""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def queue_s(record: RequestRecord) -> float | None:
    """None when the request was never sent."""
    if record.sent_at is None or record.queued_at is None:
        return None
    return max(0.0, record.sent_at - record.queued_at)
