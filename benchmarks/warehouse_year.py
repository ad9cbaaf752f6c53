"""A year of nights for ``warehouse_scale``: one real night of every campaign, and its earlier nights made inside the
database from it, with noise on the numbers and ids of their own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse

LAST_NIGHT = "2026-12-31"
_NOISY = ("decode_tok_s", "prefill_tok_s", "ttft_p50_ms", "tpot_p50_ms")
_IDS = (
    "run_id",
    "launch_id",
    "cell_id",
    "comparison_id",
    "reversal_finding_id",
    "regression_finding_id",
)
_EVERY_NIGHT = (t.campaign_run, t.launch, t.cell, t.cell_median, t.campaign_source)
_FINDINGS = (t.comparison, t.reversal_finding, t.regression_finding)


@dataclass(frozen=True)
class Year:
    """What is made. ``requests`` and ``findings`` say how many campaigns have them; both are most of the volume."""

    nights: int
    request_nights: int
    request_campaigns: int
    finding_campaigns: int


def fill_year(url: str, campaigns: Sequence[str], year: Year) -> None:
    """Make the nights before ``LAST_NIGHT``, oldest first, as a year of loads would have written them."""
    engine = open_warehouse(url, keep_connections=True)
    postgres = engine.dialect.name == "postgresql"
    with engine.connect() as connection:
        with connection.begin():
            for table, chosen in _sources(campaigns, year):
                _remember(connection, table, chosen)
        with _without_indexes(connection) if postgres else _as_it_is():
            started = time.perf_counter()
            for back in range(year.nights - 1, 0, -1):
                with connection.begin():
                    for table, _ in _sources(campaigns, year):
                        if table is not t.request or back < year.request_nights:
                            _copy_night(connection, table, back, postgres)
                if back in (year.nights - 1, year.nights - 10) or back % 50 == 1:
                    print(f"  night -{back} after {time.perf_counter() - started:.0f} s", flush=True)
    engine.dispose()


def _sources(campaigns: Sequence[str], year: Year) -> Iterator[tuple[sa.Table, Sequence[str]]]:
    for table in _EVERY_NIGHT:
        yield table, campaigns
    for table in _FINDINGS:
        yield table, campaigns[: year.finding_campaigns]
    yield t.request_percentile, campaigns[: year.request_campaigns]
    yield t.request, campaigns[: year.request_campaigns]


def _remember(connection: Connection, table: sa.Table, campaigns: Sequence[str]) -> None:
    """A temporary table with the real night of these campaigns."""
    runs = ", ".join(f"'{name}.{LAST_NIGHT}'" for name in campaigns) or "''"
    joins = {
        "campaign_run": "",
        "request": " JOIN cell c ON c.cell_id = x.cell_id JOIN campaign_run r ON r.run_id = c.run_id",
    }
    join = joins.get(table.name, " JOIN campaign_run r ON r.run_id = x.run_id")
    run = "x.run" if table.name == "campaign_run" else "r.run"
    connection.exec_driver_sql(
        f"CREATE TEMPORARY TABLE night_{table.name} AS SELECT x.* FROM {table.name} x{join} WHERE {run} IN ({runs})"
    )


def _copy_night(connection: Connection, table: sa.Table, back: int, postgres: bool) -> None:
    if postgres:
        night = f"(DATE '{LAST_NIGHT}' - {back})"
        moment = f"(TIMESTAMPTZ '{LAST_NIGHT}T02:00:00Z' - interval '{back} days')"
        noise = "(0.97 + 0.06 * random())"
        new_id = "hashtextextended(x.{}::text, {})"  # scattered over the index, as hashes of names are
    else:
        night = f"date('{LAST_NIGHT}', '-{back} days')"
        moment = f"strftime('%Y-%m-%dT02:00:00.000000Z', '{LAST_NIGHT}', '-{back} days')"
        noise = "(0.97 + 0.06 * abs(random() % 1000) / 1000.0)"
        new_id = "x.{} - {}"
    special = {name: new_id.format(name, back) for name in _IDS}
    if table.name in ("campaign_run", "cell_median"):
        special |= {"run": f"x.campaign || '.' || {night}", "night": night}
    if table.name == "campaign_run":
        special |= {"airflow_run_id": night, "started_at": moment, "content_sha256": "NULL"}
    if table.name in ("cell", "cell_median"):
        special |= {name: f"x.{name} * {noise}" for name in _NOISY} | {"run_started_at": moment}
    names = list(table.columns.keys())
    picked = ", ".join(special.get(name, f"x.{name}") for name in names)
    connection.exec_driver_sql(
        f"INSERT INTO {table.name} ({', '.join(names)}) SELECT {picked} FROM night_{table.name} x"
    )


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


@contextmanager
def _without_indexes(connection: Connection) -> Iterator[None]:
    """Twenty million rows go in faster when the indexes are made afterwards; they end as they were."""
    tables = ", ".join(f"'{table.name}'::regclass" for table, _ in _sources((), Year(0, 0, 0, 0)))
    with connection.begin():
        constraints = _rows(
            connection,
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), contype = 'f' FROM pg_constraint "
            f"WHERE contype IN ('p', 'u', 'f') AND (conrelid IN ({tables}) OR confrelid IN ({tables}))",
        )
        indexes = _rows(
            connection,
            "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) FROM pg_index i "
            f"WHERE i.indrelid IN ({tables}) AND NOT EXISTS "
            "(SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u'))",
        )
        for table, name, _, _ in sorted(constraints, key=lambda row: not row[3]):  # those that refer to others first
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        for name, _ in indexes:
            connection.exec_driver_sql(f"DROP INDEX {name}")
    yield
    started = time.perf_counter()
    with connection.begin():
        for table, name, definition, _ in sorted(constraints, key=lambda row: bool(row[3])):
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
        for _, definition in indexes:
            connection.exec_driver_sql(definition)
    print(f"  indexes made in {time.perf_counter() - started:.0f} s", flush=True)


def _rows(connection: Connection, query: str) -> list[Any]:
    return list(connection.exec_driver_sql(query).all())
