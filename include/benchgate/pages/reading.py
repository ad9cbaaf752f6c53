"""Reading the warehouse for a page: one consistent transaction, or None while there is nothing to read."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from benchgate.warehouse.connect import open_warehouse, parse_url, reading, shown, sqlite_path
from benchgate.warehouse.migrate import require_current

Row = Mapping[str, Any]

_engines: dict[str, Engine] = {}
_lock = threading.Lock()


@contextmanager
def warehouse(url: str | None = None) -> Iterator[Connection | None]:
    """A connection to the warehouse for the length of a page; None when its SQLite file was not made yet.

    Raises:
        WarehouseError: it does not answer, or is at another migration.
    """
    parsed = parse_url(url)
    path = sqlite_path(parsed)
    if path is not None and not path.exists():
        yield None
        return
    engine = open_warehouse(url) if path is not None else _kept(url)
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            yield connection
    finally:
        if path is not None:  # opening a file costs nothing, and it may be another file the next time
            engine.dispose()


def _kept(url: str | None) -> Engine:
    key = parse_url(url).render_as_string(hide_password=False)
    with _lock:
        if key not in _engines:
            _engines[key] = open_warehouse(url, keep_connections=True)
        return _engines[key]


def rows(connection: Connection, query: sa.Select[Any]) -> list[Row]:
    """The rows of a query as mappings."""
    return [dict(row) for row in connection.execute(query).mappings()]


def one(connection: Connection, query: sa.Select[Any]) -> Row | None:
    """The first row, or None."""
    found = connection.execute(query.limit(1)).mappings().first()
    return None if found is None else dict(found)


def pages_of(total: int, size: int) -> int:
    """How many pages ``total`` things fill; at least one."""
    return max(1, -(-total // size))


def chunks(values: Sequence[Any], size: int = 500) -> Iterator[Sequence[Any]]:
    """``values`` in pieces that fit into one IN list."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
