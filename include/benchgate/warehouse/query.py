"""Reading a view or table by name, for the command line and for reports."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from benchgate.errors import WarehouseError
from benchgate.warehouse.connect import open_warehouse, reading, shown
from benchgate.warehouse.migrate import require_current
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views import VIEWS


@dataclass(frozen=True)
class Answer:
    """Rows of a view, and whether there are more."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool


def relation_names() -> list[str]:
    """Every view, then every table."""
    return [*VIEWS, *(table.name for table in metadata.sorted_tables)]


def read_relation(
    name: str,
    url: str | None = None,
    *,
    limit: int | None = None,
    campaign: str | None = None,
    run: str | None = None,
) -> Answer:
    """The rows of a view or table.

    Args:
        name: one of :func:`relation_names`.
        url: SQLAlchemy URL; default is the configured warehouse.
        limit: how many rows at most; None: all.
        campaign: only this campaign's (views and tables that have the column).
        run: only this run's, by run key.

    Raises:
        WarehouseError: no such view or table, it has no such column, or the warehouse refuses.
    """
    if name not in relation_names():
        near = difflib.get_close_matches(name, relation_names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"views: {', '.join(VIEWS)}"
        raise WarehouseError(f"the warehouse has no view or table {name}", remedy=hint)
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            columns = [str(column["name"]) for column in sa.inspect(connection).get_columns(name)]
            relation = sa.table(name, *(sa.column(column) for column in columns))
            query = sa.select(relation)
            for column, wanted in (("campaign", campaign), ("run", run)):
                if wanted is None:
                    continue
                if column not in columns:
                    raise WarehouseError(f"{name} has no column {column}", remedy="ask without it, or ask a view")
                query = query.where(relation.c[column] == wanted)
            if limit is not None:
                query = query.limit(limit + 1)
            rows = [list(row) for row in connection.execute(query)]
    finally:
        engine.dispose()
    more = limit is not None and len(rows) > limit
    return Answer(columns, rows[:limit] if limit is not None else rows, more)
