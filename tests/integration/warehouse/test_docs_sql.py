"""Every SQL that a page shows is asked of a warehouse like the demo's, on both databases, and has an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchgate.settings import PROJECT_ROOT
from tests.support.demo_like import load_demo
from tests.support.warehouses import rows

ASKED_WITH_THEIR_COMMANDS = ("analyst.md", "author.md", "contributor.md", "operator.md")  # by tests/integration/docs
PAGES = [
    PROJECT_ROOT / "README.md",
    *(page for page in sorted((PROJECT_ROOT / "docs").glob("*.md")) if page.name not in ASKED_WITH_THEIR_COMMANDS),
]
NIGHTS = ("2026-11-29", "2026-11-30")


def queries_of(page: Path) -> list[str]:
    """SQL blocks, and the queries given to ``sqlite3`` in other blocks."""
    text = page.read_text()
    blocks = re.findall(r"^```sql\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [*blocks, *re.findall(r'^sqlite3 .*?"(select .*?)"', text, re.MULTILINE | re.IGNORECASE)]


SHOWN = [pytest.param(query, id=f"{page.name}-{n}") for page in PAGES for n, query in enumerate(queries_of(page), 1)]


def test_the_pages_show_queries() -> None:
    assert len(queries_of(PROJECT_ROOT / "docs" / "warehouse.md")) == 9
    assert len(queries_of(PROJECT_ROOT / "README.md")) == 1


def test_every_query_of_a_page_has_an_answer(url: str) -> None:
    load_demo(url, *NIGHTS)

    answers = {query.values[0]: rows(url, str(query.values[0])) for query in SHOWN}

    assert [query for query, found in answers.items() if not found] == []


def test_the_answers_are_those_of_the_demo(url: str) -> None:
    load_demo(url, *NIGHTS)
    shown = queries_of(PROJECT_ROOT / "docs" / "warehouse.md")
    quoted, compared, not_run, refused, verdicts, proven, trend, ended = (rows(url, query) for query in shown[:8])

    assert len(quoted) == 32  # two arms, two workloads, two loads, two repeats, two nights
    assert {row["arm"] for row in compared} == {"threads-2"}
    assert {(row["arm"], row["failure_kind"]) for row in not_run} == {("bad-flag", "bad_flag")}
    assert {(row["arm"], row["refused_by"]) for row in refused} == {("small-context", "needle_all_found")}
    assert [row["rule"] for row in verdicts[:2]] == ["needle_all_found"] * 2
    assert {row["arm"] for row in proven} == {"threads-1", "threads-2", "small-context"}
    assert [str(row["night"]) for row in trend] == list(NIGHTS)
    assert {row["end_state"]: row["cells"] for row in ended} == {"published": 16, "unpublishable": 8, "not_run": 8}
