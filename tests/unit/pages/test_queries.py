"""Pages of a warehouse with years of nights: every query finds its rows by an index, and takes a page of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Connection

from tests.unit.pages.every_page import views
from tests.unit.pages.fabricated import run_id_of

# tables that grow with every night; campaign_run grows by one row and may be counted
LARGE = (
    "launch|proof|needle_check|host_snapshot|cell|request|error_group|verdict|quarantine|seed|server_metrics|comparison"
)
LARGE += "|reversal_finding|regression_finding|gpu_sample|approval"


@contextmanager
def _statements(connection: Connection) -> Iterator[list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []

    def remember(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(connection, "before_cursor_execute", remember)
    try:
        yield seen
    finally:
        event.remove(connection, "before_cursor_execute", remember)


def test_no_page_reads_a_large_table_from_end_to_end(connection: Connection) -> None:
    with _statements(connection) as seen:
        pages = list(views(connection, "kernels", run_id_of(4)))
    asked = [(sql, values) for sql, values in seen if sql.lstrip().upper().startswith(("SELECT", "WITH"))]

    scans = set()
    for sql, values in asked:
        for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values):
            if re.match(rf"SCAN ({LARGE})\b", row[3]):
                scans.add((row[3], sql[:200]))

    assert len(pages) > 10
    assert len(asked) > 50
    assert scans == set()


def test_the_number_of_queries_does_not_grow_with_the_nights(connection: Connection) -> None:
    counts = {}
    for campaign in ("kernels", "other"):  # a month of nights, and three
        with _statements(connection) as seen:
            list(views(connection, campaign, run_id_of(2)))
        counts[campaign] = len(seen)

    assert abs(counts["kernels"] - counts["other"]) <= 3
