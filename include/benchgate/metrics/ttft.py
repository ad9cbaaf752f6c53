"""Time to first token, in seconds.

Formula: first_token_at - start. ``first_token_at`` is the first streamed event with text in any channel (content,
reasoning, tool-call arguments); role-only and empty deltas do not count. ``start`` is ``sent_at`` (the write on an open
connection) in a closed loop, and the intended arrival in an open loop, so that nothing is omitted.
"""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def ttft_s(record: RequestRecord) -> float | None:
    """None when no token came, or the answer was no stream."""
    start = record.starts_at
    if start is None or record.first_token_at is None:
        return None
    return record.first_token_at - start
