"""What a client sent in all, to be held against the rise of the server's own token counters."""

from __future__ import annotations

from typing import Any

from benchgate.records import TokenTotals

# These never reached the server's tokenizer: no connection, or refused before anything was generated.
_NEVER_COUNTED = ("connect", "http_4xx", "context_overflow")


def token_totals(parquet: bytes) -> TokenTotals:
    """Sum the tokens of every request of a cell, warm-up and probes included.

    Args:
        parquet: the client's request records (``requests.parquet``).

    A request that reached the server and has no token count (an error, or cut off before its usage came) makes the
    totals a lower bound; ``unaccounted`` counts those.
    """
    import pyarrow as pa
    from pyarrow import compute as pc
    from pyarrow import parquet as pq

    table = pq.read_table(pa.BufferReader(parquet), columns=["status", "prompt_tokens", "completion_tokens"])

    def total(name: str) -> int:
        known = pc.sum(pc.cast(table[name], pa.int64())).as_py()
        return int(known or 0)  # when nobody knows any count, 0 is the lower bound and all are unaccounted

    def unknown(name: str) -> Any:
        return pc.is_null(table[name])

    reached = pc.invert(pc.is_in(table["status"], pa.array(_NEVER_COUNTED)))
    silent = pc.and_(reached, pc.or_(unknown("prompt_tokens"), unknown("completion_tokens")))
    return TokenTotals(
        prompt_tokens=total("prompt_tokens"),
        completion_tokens=total("completion_tokens"),
        unaccounted=int(pc.sum(silent).as_py() or 0),
    )
