"""How every planned cell ended: the one place that decides between published, unpublishable, failed and not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchgate.gates.tables import was_up
from benchgate.records import CellOutcome, CellRecord, EndState, Evidence, LaunchRecord, Ledger, PlannedCell, Verdict
from benchgate.spec.campaign import CampaignSpec

_EXPECTED_STATE = {
    "published": EndState.PUBLISHED,
    "unpublishable": EndState.UNPUBLISHABLE,
    "did_not_run": EndState.NOT_RUN,
}
NOT_ASKED = "nobody asked for this cell in this run"


def decide_outcomes(
    ledger: Ledger,
    launches: Mapping[str, LaunchRecord],
    cells: Mapping[str, CellRecord],
    verdicts: Iterable[Verdict],
    *,
    not_started: str | None = None,
) -> list[CellOutcome]:
    """One outcome for every cell of the ledger, and for every cell that nobody asked for.

    Args:
        ledger: what was planned.
        launches: launch key -> record; absent when nothing was tried.
        cells: cell key -> record; absent when nothing was measured.
        verdicts: what the gates answered about launches, needle checks and cells.
        not_started: why launches without a record were never tried, when the whole run knows (nothing new to measure).
    """
    refusals = _refusals(verdicts)
    outcomes = [
        _outcome(cell, launches.get(cell.launch), cells.get(cell.cell), refusals, not_started) for cell in ledger.cells
    ]
    outcomes += [CellOutcome(cell=cell, state=EndState.NOT_RUN, reason=NOT_ASKED) for cell in ledger.deselected]
    return outcomes


def _outcome(
    planned: PlannedCell,
    launch: LaunchRecord | None,
    record: CellRecord | None,
    refusals: Mapping[str, list[str]],
    not_started: str | None,
) -> CellOutcome:
    def ended(state: EndState, reason: str | None) -> CellOutcome:
        return CellOutcome(cell=planned.cell, state=state, reason=reason)

    if launch is None or not was_up(launch):
        known = not_started or (record.reason if record is not None else None)
        return ended(EndState.NOT_RUN, _no_server(planned, launch, known))
    launch_refused, cell_refused = refusals.get(planned.launch, []), refusals.get(planned.cell, [])
    state = record.state if record is not None else "planned"
    if state == "measured":
        refused = [*launch_refused, *cell_refused]
        if refused:
            return ended(EndState.UNPUBLISHABLE, "; ".join(refused))
        return ended(EndState.PUBLISHED, None)
    if state == "failed":
        reason = record.reason if record is not None else None
        return ended(EndState.FAILED, reason or "the measurement broke and left no reason")
    if record is not None and record.broken_off:
        return ended(EndState.NOT_RUN, record.reason)  # what its launch lacks, the run had no time for
    if launch_refused:
        return ended(EndState.UNPUBLISHABLE, f"{'; '.join(launch_refused)} (not measured)")
    if state == "not_run":
        reason = record.reason if record is not None else None
        return ended(EndState.NOT_RUN, reason or NOT_ASKED)
    if launch.failure is not None:
        died = f"the server died before this cell was measured: {_failure_words(launch)}"
        return ended(EndState.FAILED, died)
    return ended(EndState.FAILED, "the server was ready and let through, and no result of this cell was kept")


def _refusals(verdicts: Iterable[Verdict]) -> dict[str, list[str]]:
    """Subject -> reasons of the critical rules that refused it, each said once."""
    refusals: dict[str, list[str]] = {}
    for verdict in verdicts:
        if not verdict.passed and verdict.severity == "critical":
            reasons = refusals.setdefault(verdict.subject, [])
            if verdict.reason not in reasons:
                reasons.append(verdict.reason)
    return refusals


def _no_server(planned: PlannedCell, launch: LaunchRecord | None, known: str | None) -> str:
    if launch is None:
        return known or f"launch {planned.launch} was never tried"
    if launch.failure is not None:
        return _failure_words(launch)
    if launch.end_state == "not_run":
        return known or f"launch {planned.launch} was not tried"
    return known or f"launch {planned.launch} was begun and never became ready, and left no reason"


def _failure_words(launch: LaunchRecord) -> str:
    """Failure kind, reason and the line it was read from."""
    failure = launch.failure
    assert failure is not None
    return f"{failure.kind.value}: {failure.reason}" + _line(failure.evidence)


def _line(evidence: Evidence | None) -> str:
    if evidence is None:
        return ""
    where = f"line {evidence.line}" if evidence.line is not None else evidence.source
    return f" ({where}: {evidence.text.strip()[:300]})"


def expected_outcome(campaign: CampaignSpec, ledger: Ledger, outcomes: Sequence[CellOutcome]) -> tuple[bool, list[str]]:
    """Whether every arm ended as its ``expect`` says, and in words what surprised.

    An arm that is meant to fail does not fail the run; one that surprises does, also when it is better than expected.
    Cells that nobody asked for count for nothing.
    """
    states = {outcome.cell: outcome for outcome in outcomes}
    surprises = []
    for arm in dict.fromkeys(cell.arm for cell in ledger.cells):
        spec = campaign.arms.get(arm)
        expect = spec.expect if spec is not None else "published"
        ended = [states[cell.cell] for cell in ledger.cells if cell.arm == arm]
        wrong = [outcome for outcome in ended if outcome.state is not _EXPECTED_STATE[expect]]
        if wrong:
            counts = Counter(outcome.state.value for outcome in wrong)
            first = next((outcome.reason for outcome in wrong if outcome.reason), None)
            surprises.append(
                f"arm {arm}: {expect} was expected of its {len(ended)} cells; "
                + ", ".join(f"{count} {state}" for state, count in counts.items())
                + (f" ({first})" if first else "")
            )
    return not surprises, surprises
