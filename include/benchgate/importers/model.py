"""What an imported file says, in our words."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchgate.errors import BenchgateError
from benchgate.records import CellSummary
from benchgate.request_record import RequestRecord


class ResultError(BenchgateError):
    """A file that is no result of the client it should be from, or whose values cannot be. Names file and key."""


@dataclass(frozen=True)
class ImportedCell:
    """One measurement. ``requests`` is None where the file keeps no request rows."""

    summary: CellSummary
    model: str | None = None
    requests: list[RequestRecord] | None = None
    endpoint: str | None = None  # chat | completions
    dataset: str | None = None
    planned_requests: int | None = None
    label: str | None = None  # what the file's author called it


@dataclass(frozen=True)
class ImportedRun:
    """All measurements of one file."""

    path: str
    format: str
    cells: list[ImportedCell] = field(default_factory=list)
