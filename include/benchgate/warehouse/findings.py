"""Where the analysis writes what it found: comparisons, reversals and regressions of a run, or of the sources.

``replace_findings(run, comparisons=.., reversals=.., regressions=.., url=..)``
``replace_references(rows, url)``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.errors import WarehouseError
from benchgate.names import stable_id
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, shown, writing
from benchgate.warehouse.migrate import require_current
from benchgate.warehouse.rows import run_id_of
from benchgate.warehouse.values import row

Finding = Mapping[str, Any]  # columns of the table, without its id and run_id


def replace_findings(
    run: str | None,
    *,
    comparisons: Iterable[Finding] = (),
    reversals: Iterable[Finding] = (),
    regressions: Iterable[Finding] = (),
    url: str | None = None,
) -> int:
    """Write the findings of one run in one transaction, in place of those it had; returns how many.

    Args:
        run: run key; None for findings about the values of sources, which belong to no run.
        comparisons: rows of ``comparison``.
        reversals: rows of ``reversal_finding``.
        regressions: rows of ``regression_finding`` (never for None).
        url: SQLAlchemy URL; default is the configured warehouse.

    Raises:
        WarehouseError: the run is not in the warehouse, or the warehouse refuses.
    """
    found = (
        (t.comparison, list(comparisons)),
        (t.reversal_finding, list(reversals)),
        (t.regression_finding, list(regressions)),
    )
    engine = open_warehouse(url)
    try:
        with writing(engine) as connection:
            require_current(connection, shown(engine.url))
            if run is not None:
                _require_run(connection, run)
            for table, rows in found:
                _replace(connection, table, run, rows)
        return sum(len(rows) for _, rows in found)
    finally:
        engine.dispose()


def replace_references(rows: Iterable[Finding], url: str | None = None) -> int:
    """Write the values of all sources, in place of those that were there; returns how many.

    Args:
        rows: columns of ``reference_value``, without its id.
        url: SQLAlchemy URL; default is the configured warehouse.
    """
    table = t.reference_value
    values = []
    for number, given in enumerate(rows):
        parts = [str(given.get(name)) for name in ("source", "arm", "workload", "users", "metric")]
        values.append(row(table, reference_value_id=stable_id(table.name, *parts, str(number)), **given))
    engine = open_warehouse(url)
    try:
        with writing(engine) as connection:
            require_current(connection, shown(engine.url))
            connection.execute(sa.delete(table))
            if values:
                connection.execute(sa.insert(table), values)
        return len(values)
    finally:
        engine.dispose()


def _require_run(connection: Connection, run: str) -> None:
    known = connection.execute(sa.select(t.campaign_run.c.run_id).where(t.campaign_run.c.run == run)).first()
    if known is None:
        raise WarehouseError(f"run {run} is not in the warehouse", remedy=f"benchgate warehouse load {run}")


def _replace(connection: Connection, table: sa.Table, run: str | None, rows: list[Finding]) -> None:
    run_id = None if run is None else run_id_of(run)
    connection.execute(sa.delete(table).where(table.c.run_id == run_id))  # == None becomes IS NULL
    if rows:
        identity = f"{table.name}_id"
        values = [
            row(table, **{**given, identity: stable_id(table.name, run or "", str(number)), "run_id": run_id})
            for number, given in enumerate(rows)
        ]
        connection.execute(sa.insert(table), values)
