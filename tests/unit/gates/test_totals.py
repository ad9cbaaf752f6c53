"""What a client sent in all."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from benchgate.gates.totals import token_totals
from benchgate.records import TokenTotals


def parquet(rows: list[tuple[str, int | None, int | None]]) -> bytes:
    """Request records with the columns that totals are made of."""
    columns = {
        "status": pa.array([row[0] for row in rows], pa.string()),
        "prompt_tokens": pa.array([row[1] for row in rows], pa.int64()),
        "completion_tokens": pa.array([row[2] for row in rows], pa.int64()),
    }
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def test_a_cell_in_which_every_request_failed_has_a_lower_bound_of_nothing() -> None:
    totals = token_totals(
        parquet([("harmony_parse", None, None), ("stream_error", None, None), ("connect", None, None)])
    )

    assert totals == TokenTotals(prompt_tokens=0, completion_tokens=0, unaccounted=2)


def test_known_counts_add_up_and_the_others_are_counted() -> None:
    totals = token_totals(parquet([("ok", 10, 5), ("ok", 20, 7), ("truncated_stream", 30, None)]))

    assert totals == TokenTotals(prompt_tokens=60, completion_tokens=12, unaccounted=1)
