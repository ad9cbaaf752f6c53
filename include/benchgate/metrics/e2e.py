"""End-to-end latency, in seconds.

Formula: last_token_at - start, where ``last_token_at`` is the last event with text, and ``start`` as for TTFT. Usage,
``[DONE]`` and the end of the connection come later and do not count.
"""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def e2e_s(record: RequestRecord) -> float | None:
    """None when no token came."""
    start = record.starts_at
    if start is None or record.last_token_at is None:
        return None
    return record.last_token_at - start
