"""What the analysis reads and writes must be the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.analysis.findings_of_run import find, find_and_write
from benchgate.analysis.write import write_sources
from benchgate.report.export import read_rows, to_csv, to_parquet
from benchgate.report.html import render
from benchgate.report.llmd import document
from benchgate.report.load import load_report
from benchgate.spec.load import load_sources
from benchgate.steps.reporting import nightly_message
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.query import read_relation
from tests.support.postgres import fresh_database
from tests.unit.analysis.test_from_warehouse import load_night
from tests.unit.analysis.test_write_ups import SOURCES


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated warehouse with ten calm nights and two slow ones."""
    if request.param == "sqlite":
        made = f"sqlite:///{tmp_path}/warehouse.db"
        yield _filled(made)
    else:
        with fresh_database() as made:
            yield _filled(made)


def _filled(url: str) -> str:
    migrate(url)
    for night in range(1, 13):
        slow = night > 10
        load_night(url, night, level=820.0 if slow else 1000.0, digest="b" if slow else "a")
    write_sources(load_sources(SOURCES), url)
    return url


def test_findings_reach_the_views_and_the_nightly_message(url: str) -> None:
    find_and_write("kernels.night-11", url)
    find_and_write("kernels.night-12", url)

    regressions = read_relation("regression", url, run="kernels.night-12")
    answers = {row[regressions.columns.index("answer")] for row in regressions.rows}
    assert "REGRESSED" in answers
    messages = [nightly_message([f"kernels.night-{night}"], url) for night in (11, 12)]
    assert any("image_digest" in message for message in messages if message)
    assert read_relation("comparison", url).rows
    assert any(row for row in read_relation("reversal", url).rows)


def test_the_report_of_both_databases_says_the_same(url: str, tmp_path: Path) -> None:
    report = load_report("kernels.night-12", url)

    html = render(report)
    assert "2026-11-12T02:00:00Z" in html
    assert "REGRESSED" in html
    assert "2026-11-11" in html
    found = find("kernels.night-12", url)
    [speed] = [c for c in found.comparisons if (c.metric, c.workload) == ("decode_tok_s", "prompt-8k")]
    assert speed.point == pytest.approx(1.36, rel=0.05)
    assert {s.nights[0].night for s in found.series} == {"2026-11-01T02:00:00Z"}


def test_the_write_ups_findings_are_the_same_on_both_databases(url: str) -> None:
    stated, turned = read_relation("versus_reference", url), read_relation("reversal", url)

    ratios = sorted(round(row[stated.columns.index("reference_ratio")], 2) for row in stated.rows)
    assert ratios == [0.54, 0.58, 0.74, 0.93, 1.04, 1.08, 1.22, 1.36, 1.58, 1.82, 1.83, 1.92]
    words = [row[turned.columns.index("words")] for row in turned.rows]
    assert sum("stated by gpt-oss-120b-two-kernels" in text for text in words) == 5
    assert any("behind at document-126k, 8 users (0.93x)" in text for text in words)
    assert any("behind in time to first token, median (1.58x)" in text for text in words)


def test_rows_leave_both_databases_with_the_same_types(url: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    rows = read_rows("kernels.night-12", url)
    to_parquet(rows, tmp_path / "run.parquet")

    table = pq.read_table(tmp_path / "run.parquet")
    assert str(table.schema.field("decode_tok_s").type) == "double"
    assert str(table.schema.field("simulated").type) == "bool"
    assert rows[0]["run_started_at"] == "2026-11-12T02:00:00Z"
    assert "2026-11-12T02:00:00Z" in to_csv(rows)
    assert document(rows[0])["run"]["time"]["start"] == "2026-11-30T02:10:00Z"
