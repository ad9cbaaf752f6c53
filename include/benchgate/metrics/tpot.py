"""Time per output token, in seconds.

Formula: (last_token_at - first_token_at) / (completion_tokens - 1), per request. ``completion_tokens`` is the server's
usage (or the tokenizer's count), never the number of events and never the requested length.
"""

from __future__ import annotations

from benchgate.request_record import RequestRecord


def tpot_s(record: RequestRecord) -> float | None:
    """None when fewer than two tokens came, or their number is unknown."""
    tokens = record.completion_tokens
    if tokens is None or tokens < 2 or record.first_token_at is None or record.last_token_at is None:
        return None
    return (record.last_token_at - record.first_token_at) / (tokens - 1)
