"""The suites: which rules hold for launches, needle checks and cells. A new gate is one entry in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from benchgate.gates.rule import Rule
from benchgate.gates.suites.cell import CELL_RULES
from benchgate.gates.suites.launch import LAUNCH_RULES
from benchgate.gates.suites.needle import NEEDLE_RULES
from benchgate.gates.tables import CELL_COLUMNS, LAUNCH_COLUMNS, NEEDLE_COLUMNS


@dataclass(frozen=True)
class Suite:
    """The rules of one table."""

    name: Literal["launch", "needle_check", "cell"]
    key: str  # column that names the subject
    columns: Mapping[str, str]
    rules: tuple[Rule, ...]


LAUNCH = Suite("launch", "launch", LAUNCH_COLUMNS, LAUNCH_RULES)
NEEDLE_CHECK = Suite("needle_check", "launch", NEEDLE_COLUMNS, NEEDLE_RULES)
CELL = Suite("cell", "cell", CELL_COLUMNS, CELL_RULES)
SUITES = (LAUNCH, NEEDLE_CHECK, CELL)
