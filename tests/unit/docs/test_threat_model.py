"""Every promise of the threat model is held by a test that exists."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.doc_pages import DOCS, ROOT

TEXT = (DOCS / "threat-model.md").read_text()
PROMISES = re.findall(r"^- (.+)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("promise", PROMISES)
def test_the_promise_names_a_test_that_is_there(promise: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", promise)

    assert named, promise
    for file, name in named:
        functions = [
            node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, ast.FunctionDef)
        ]
        assert name in functions, f"{file} has no {name}"


def test_each_person_has_promises_and_what_is_not_promised() -> None:
    parts = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]

    assert len(parts) == 4
    for part in parts:
        assert part.count("\n- ") >= 5
        assert "Not promised:" in part
