"""What the gates decided."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from benchgate.records.base import Record


class EndState(str, Enum):
    """How a planned cell ended. Exactly one for every cell of the ledger."""

    PUBLISHED = "published"  # measured, and every gate let it through
    UNPUBLISHABLE = "unpublishable"  # the server was up, and a gate refused the launch or the cell
    FAILED = "failed"  # the measurement itself broke
    NOT_RUN = "not_run"  # there was no server to measure, or nobody asked for the cell


class Verdict(Record):
    """A gate's answer about one launch or cell."""

    subject: str  # launch or cell key
    subject_kind: Literal["launch", "needle_check", "cell"]
    rule: str
    passed: bool
    observed: str | None
    limit: str | None
    reason: str
    severity: Literal["critical", "warning"] = "critical"


class CellOutcome(Record):
    """How one planned cell ended, decided once, after all gates."""

    cell: str
    state: EndState
    reason: str | None  # why it is not published; None for published


class QuarantineRow(Record):
    """A row that a gate refused, kept whole beside the rules that refused it."""

    subject: str  # launch or cell key
    subject_kind: Literal["launch", "needle_check", "cell"]
    rules: list[str]
    reason: str  # all reasons, joined
    row: dict[str, object]  # what the gate saw, column by column


class GateResult(Record):
    """What the gates decided about a whole run."""

    verdicts: list[Verdict]
    quarantine: list[QuarantineRow]
    outcomes: list[CellOutcome]  # exactly one for every cell of the ledger
    gx_version: str | None = None
