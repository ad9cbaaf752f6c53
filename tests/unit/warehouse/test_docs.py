"""docs/warehouse.md says what every table, view and column means."""

from __future__ import annotations

from benchgate.settings import PROJECT_ROOT
from benchgate.warehouse.describe import markdown, view_columns
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views.meaning import column_meaning

DOCS = PROJECT_ROOT / "docs" / "warehouse.md"


def test_the_reference_in_the_docs_is_the_one_that_the_code_gives() -> None:
    assert markdown() in DOCS.read_text(), "run: python -m benchgate warehouse describe, and put it into the docs"


def test_every_column_of_every_view_has_a_meaning() -> None:
    nameless = [
        f"{view}.{column}"
        for view, columns in view_columns().items()
        for column in columns
        if not column_meaning(view, column)
    ]
    assert nameless == []


def test_every_column_of_every_table_has_a_meaning() -> None:
    assert [f"{t.name}.{c.name}" for t in metadata.tables.values() for c in t.columns if not c.comment] == []
