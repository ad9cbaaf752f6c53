"""The needle check of a launch."""

from __future__ import annotations

from benchgate.records.base import Record


class NeedleResult(Record):
    """One planted fact, asked back."""

    depth: float
    context_tokens: int | None  # as the server counted them
    asked: str
    expected: str
    answered: str  # cut to a readable length
    found: bool
    error_kind: str | None = None
    error_message: str | None = None
    duration_s: float | None = None


class NeedleCheck(Record):
    """All needles of one launch. It passes only when every one was found."""

    requested_context_tokens: int
    results: list[NeedleResult]

    @property
    def found(self) -> int:
        """How many needles came back."""
        return sum(result.found for result in self.results)

    @property
    def passed(self) -> bool:
        """All of n, and at least one was asked."""
        return bool(self.results) and self.found == len(self.results)
