from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.client.requests_file import read_requests, write_requests
from benchgate.errors import BenchgateError
from benchgate.metrics.summary import summarise
from benchgate.request_record import ClientFacts, RequestRecord
from tests.unit.metrics.cells import a_cell


def facts() -> ClientFacts:
    return ClientFacts("benchgate", "0", users=4, loop_lag_p99_ms=0.5, cpu_share=0.1, reads=10, events=10, notes=["n"])


def test_a_summary_can_be_computed_again_from_the_file(tmp_path: Path) -> None:
    records = a_cell(users=4, waves=6)
    records[3].status, records[3].error_message, records[3].near_cap = "stream_error", "died", False
    records[5].status = "cut_off"
    records += [RequestRecord(9, phase="warmup", sent_at=-5.0)]
    path = tmp_path / "requests.parquet"

    write_requests(path, records, facts())
    again, known = read_requests(path)

    before = summarise(records, facts()).model_dump()
    after = summarise(again, known).model_dump()
    assert _close(after, before)
    assert not list(tmp_path.glob("*.part"))


def _close(one: object, other: object) -> bool:
    """Equal, numbers to single precision (gaps are stored so)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-5, abs=1e-6)
    return one == other


def test_unknown_stays_unknown(tmp_path: Path) -> None:
    path = tmp_path / "requests.parquet"
    write_requests(path, [RequestRecord(1, sent_at=2.0)], facts())
    (record,), known = read_requests(path)
    assert (record.completion_tokens, record.first_token_at, record.near_cap, record.user) == (None, None, None, None)
    assert record.sent_at == 0.0  # the clock of the file starts at the first request
    assert known == facts()


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(BenchgateError, match=r"no requests\.parquet of benchgate"):
        read_requests(path)
    path.write_bytes(b"hello")
    with pytest.raises(BenchgateError, match="is no Parquet file"):
        read_requests(path)
    with pytest.raises(BenchgateError, match="does not exist"):
        read_requests(tmp_path / "none.parquet")
