"""docs/warehouse.md says what every table, view and column means, and its SQL answers."""

from __future__ import annotations

import re
from pathlib import Path

from benchgate.settings import PROJECT_ROOT
from benchgate.warehouse.describe import markdown, view_columns
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views.meaning import column_meaning
from tests.support.warehouses import bundle, rows

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


def test_every_query_in_the_docs_answers(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/w.db"
    migrate(url)
    load_run(bundle(), url)
    queries = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)

    answers = [rows(url, query) for query in queries]

    assert len(queries) >= 8
    assert len(answers[0]) == 12  # what may be quoted
    assert len(answers[1]) == 3  # arm against baseline
    assert answers[-1] == [{"end_state": "published", "cells": 12}]
