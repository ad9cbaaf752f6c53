"""docs/gates.md lists every rule as the code has it."""

from __future__ import annotations

import re

import pytest
import yaml

from benchgate.gates.suites import SUITES
from benchgate.settings import PROJECT_ROOT
from tests.support.runs import CAMPAIGN, campaign

DOCS = (PROJECT_ROOT / "docs" / "gates.md").read_text()


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_every_rule_is_described(suite: object) -> None:
    lines = [f"| `{rule.name}` | {rule.severity} | {rule.asks} |" for rule in suite.rules]  # type: ignore[attr-defined]

    assert [line for line in lines if line not in DOCS] == []


def test_no_rule_is_described_that_does_not_exist() -> None:
    described = set(re.findall(r"^\| `(\w+)` \| (?:critical|warning)", DOCS, re.MULTILINE))

    assert described == {rule.name for suite in SUITES for rule in suite.rules}


def test_rule_names_are_unique() -> None:
    names = [rule.name for suite in SUITES for rule in suite.rules]
    assert len(names) == len(set(names))


def test_the_example_limits_are_valid() -> None:
    example = re.search(r"```yaml\n(.*?)```", DOCS, re.DOTALL)
    assert example is not None
    assert campaign(**{**CAMPAIGN, **yaml.safe_load(example.group(1))}).gates.min_completed == 1
