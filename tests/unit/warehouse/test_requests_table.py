"""Request rows: the latencies of docs/metrics.md, whole columns at a time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from upath import UPath

from benchgate.client.requests_file import write_requests
from benchgate.errors import WarehouseError
from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.queue import queue_s
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.metrics.ttfv import ttfv_s
from benchgate.request_record import ClientFacts, RequestRecord
from benchgate.warehouse.requests import COLUMNS, request_table
from tests.support.runs import requests_file

FACTS = ClientFacts(client_name="benchgate", client_version="0.1.0")
moments = st.none() | st.floats(min_value=0, max_value=1000)


def table_of(path: Path, *, latencies_valid: bool = True) -> list[dict[str, Any]]:
    table = request_table(UPath(path), 7, latencies_valid=latencies_valid)
    assert tuple(table.column_names) == COLUMNS
    return list(table.to_pylist())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            RequestRecord,
            request_id=st.integers(min_value=0, max_value=10),
            intended_at=moments,
            queued_at=moments,
            sent_at=moments,
            first_token_at=moments,
            first_visible_at=moments,
            last_token_at=moments,
            completion_tokens=st.none() | st.integers(min_value=0, max_value=1000),
            status=st.sampled_from(["ok", "timeout", "cut_off"]),
            error_message=st.none() | st.text(max_size=20),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_latency_is_the_one_that_metrics_defines(tmp_path: Path, records: list[RequestRecord]) -> None:
    path = tmp_path / "requests.parquet"
    write_requests(path, records, FACTS)

    rows = table_of(path)

    for record, row in zip(records, rows, strict=True):
        for column, formula in (
            ("ttft_ms", ttft_s),
            ("ttfv_ms", ttfv_s),
            ("e2e_ms", e2e_s),
            ("tpot_ms", tpot_s),
            ("queue_ms", queue_s),
        ):
            expected = formula(record)
            if expected is None:
                assert row[column] is None, column
            else:
                assert row[column] == pytest.approx(1000 * expected, abs=1e-6), column
    assert len({row["request"] for row in rows}) == len(rows)


def test_latencies_of_a_burst_are_null_and_the_stamps_stay(tmp_path: Path) -> None:
    rows = table_of(requests_file(tmp_path / "r.parquet"), latencies_valid=False)

    assert {row[name] for row in rows for name in ("ttft_ms", "ttfv_ms", "tpot_ms", "e2e_ms")} == {None}
    assert all(row["first_token_at_ms"] is not None for row in rows)


def test_numbers_of_several_client_processes_do_not_collide(tmp_path: Path) -> None:
    def two_processes(record: RequestRecord) -> None:
        record.process, record.request_id = record.request_id % 2, record.request_id // 2

    rows = table_of(requests_file(tmp_path / "r.parquet", 10, two_processes))

    assert sorted(row["request"] for row in rows) == list(range(10))


def test_messages_are_cleaned_and_numbers_that_are_none_are_null(tmp_path: Path) -> None:
    def hostile(record: RequestRecord) -> None:
        record.status = "http_5xx"
        record.error_message = 'quote " comma , newline \n nul \x00 hf_abcdefghijklmnop'
        record.sent_at = math.nan

    row = table_of(requests_file(tmp_path / "r.parquet", 1, hostile))[0]

    assert row["error_message"] == 'quote " comma , newline \n nul \ufffd ***'
    assert row["sent_at_ms"] is None
    assert row["ttft_ms"] is None


def test_an_imported_file_may_know_less(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table({"request_id": [0, 1], "status": ["ok", "timeout"]}), path)

    rows = table_of(path)

    assert [row["phase"] for row in rows] == ["measured", "measured"]
    assert rows[0]["ttft_ms"] is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "are missing"),
        (b"not a parquet file at all", "cannot be read as Parquet"),
        ({"request_id": [1]}, "have no column status"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "r.parquet"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        pq.write_table(pa.table(content), path)

    with pytest.raises(WarehouseError, match=message) as raised:
        request_table(UPath(path), 7, latencies_valid=True)
    assert str(path) in str(raised.value)
