"""The reference of the warehouse as Markdown: every view, table and column, from where they are defined."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import sqlalchemy as sa

from benchgate.warehouse.connect import open_warehouse, reading
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views import VIEWS, view_sql
from benchgate.warehouse.views.meaning import column_meaning


def view_columns() -> Mapping[str, list[str]]:
    """View -> its columns, asked of a new SQLite warehouse."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'warehouse.db'}"
        migrate(url)
        engine = open_warehouse(url)
        with reading(engine) as connection:
            inspector = sa.inspect(connection)
            columns = {view: [str(column["name"]) for column in inspector.get_columns(view)] for view in VIEWS}
        engine.dispose()
        return columns


def view_comment(view: str) -> str:
    """The sentences at the head of a view's file."""
    lines = []
    for line in view_sql(view).splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)


def markdown() -> str:
    """The whole reference. docs/warehouse.md holds it, and a test compares."""
    parts = ["## Views", ""]
    for view, columns in view_columns().items():
        rows = [(column, column_meaning(view, column) or "") for column in columns]
        parts += [f"### {view}", "", view_comment(view), "", *_table(("column", "meaning"), rows), ""]
    parts += ["## Tables", ""]
    for table in sorted(metadata.tables.values(), key=lambda one: one.name):
        described = [(c.name, _kind(c), c.comment or "") for c in table.columns]
        parts += [
            f"### {table.name}",
            "",
            table.comment or "",
            "",
            *_table(("column", "type", "meaning"), described),
            "",
        ]
    return "\n".join(parts).rstrip() + "\n"


def _kind(column: sa.Column[object]) -> str:
    names = {
        "BigInteger": "bigint",
        "Integer": "integer",
        "Double": "double",
        "Text": "text",
        "Boolean": "boolean",
        "DateTime": "time",
        "Date": "day",
        "JSON": "json",
    }
    kind = names[type(column.type).__name__]
    if column.primary_key:
        return f"{kind}, key"
    return kind if column.nullable else f"{kind}, not null"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows),
    ]
