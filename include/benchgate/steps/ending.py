"""The end of runs that did not come to it by themselves: interrupted, or killed together with their process.

Every planned cell gets its end state, and the run goes into the warehouse like any other, as ``failed`` with the
reason: a run that nobody finished would be missing from the ledger for ever. Doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchgate.artifacts import RunStore, all_runs
from benchgate.errors import BenchgateError
from benchgate.records import CellRecord, Failure, FailureKind, LaunchRecord, RunRecord
from benchgate.steps import publishing
from benchgate.steps.context import CampaignRun, now, owner_is_gone
from benchgate.steps.measuring import why_not_measured
from benchgate.steps.proving import unproven_claims

Say = Callable[[str], None]


@dataclass(frozen=True)
class Finished:
    """What became of one run that had no end."""

    run: str
    text: str  # a line for people
    loaded: bool = False  # its rows are in the warehouse now
    failed: bool = False  # it could not be finished


def why_over(
    record: RunRecord, *, named: bool = False, ask: Callable[[RunRecord], str | None] | None = None
) -> str | None:
    """Why a run whose record still says ``running`` is over all the same, in words; None when it may be going on.

    Args:
        record: of the run.
        named: a person says that it is over.
        ask: who else knows why (Airflow); asked only about runs that no process owns.
    """
    if owner_is_gone(record):
        return "the process that ran it was killed"
    if named:
        return "it was broken off, and a person said that it is over"
    return ask(record) if record.owner is None and ask is not None else None


def close_cells(run: CampaignRun, why: str) -> int:
    """Give each planned cell without a record its end, and each launch that nobody ended; returns how many cells.

    A cell that was being measured is ``failed``, one that never began is ``not_run``. Cells whose launch failed by
    itself keep that as their reason, and those that a gate had kept from being measured are the gate's.
    """
    closed = 0
    for planned in run.ledger.launches:
        launch = run.launch_record(planned.launch)
        if launch is not None and launch.end_state == "failed":
            continue
        refused = launch is not None and _refused(run, launch)
        open_cells = [cell for cell in run.cells_of(planned.launch) if run.cell_record(cell.cell) is None]
        for cell in open_cells:
            begun = run.store.exists(run.store.cell_path(cell.cell, "progress.json"))
            record = CellRecord(
                **cell.model_dump(),
                state="failed" if begun else "not_run",
                reason=f"{why} while this cell was measured" if begun else why,
                broken_off=not begun and not refused,
            )
            run.save_cell(record)
        closed += len(open_cells)
        if launch is not None and launch.end_state != "not_run":
            _close_launch(run, launch, why if open_cells else None)
    return closed


def _refused(run: CampaignRun, launch: LaunchRecord) -> bool:
    """Whether a gate's answer keeps the cells of a launch from being measured. One that was never asked has none."""
    if launch.needle is not None:
        return why_not_measured(run, launch.launch) is not None
    proofs = {proof.name: proof for proof in launch.proofs}
    return bool(proofs and unproven_claims(run.campaign.arms[launch.arm].prove, proofs))


def _close_launch(run: CampaignRun, launch: LaunchRecord, why: str | None) -> None:
    """End a launch that was starting or served when its run ended. ``why`` is None when all its cells had their end."""
    if launch.stopped_at is not None and launch.end_state != "starting":
        return
    changes: dict[str, object] = {"stopped_at": launch.stopped_at or now()}
    if why is not None:
        # a server that had died before was not killed
        failure = launch.failure or Failure(kind=FailureKind.KILLED, reason=why)
        changes |= {"end_state": "failed", "failure": failure}
    run.update_launch(launch.launch, **changes)


def break_off(run: CampaignRun, why: str) -> int:
    """Record that a run ended before it was done, and how each of its cells did; returns how many were open.

    A run that had all its results broke off nothing: it is what it measured.
    """
    open_cells = close_cells(run, why)
    reason = run.record.broken_off or (why if open_cells else None)
    run.update_record(broken_off=reason, state="failed", ended_at=run.record.ended_at or now(), load_pending=True)
    return open_cells


def finish_killed_runs(
    why: Callable[[RunRecord], str | None],
    *,
    url: str | None = None,
    dry: bool = False,
) -> list[Finished]:
    """Bring every run to its end that has none: its cells, its gates, its rows in the warehouse. Tells of each.

    A run that cannot be finished says why and stops no other. One that its person publishes by hand is left alone.

    Args:
        why: why a run that is recorded as running is over, or None; see :func:`why_over`.
        url: the warehouse.
        dry: only say what would be done.
    """
    found = []
    for store in all_runs():
        try:
            one = _finish(store, why, url, dry)
        except BenchgateError as error:
            one = Finished(store.run, f"run {store.run} cannot be finished: {error}", failed=True)
        if one is not None:
            found.append(one)
    return found


def _finish(store: RunStore, why: Callable[[RunRecord], str | None], url: str | None, dry: bool) -> Finished | None:
    record = store.read(store.path("run.json"), RunRecord)
    if record is None or record.publish_later:
        return None
    run = CampaignRun(record.run)
    reason = why(record) if record.state == "running" else None
    if reason is None and not record.load_pending:
        return None
    if dry:
        text = f"run {record.run} would be finished and loaded: {reason or 'it ended without being loaded'}"
        return Finished(record.run, text)
    open_cells = break_off(run, reason) if reason is not None else 0
    publishing.validate(run, say=_silent)
    counts = publishing.load(run, url=url, say=_silent)
    states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    what = reason or "it had ended without being loaded"
    text = f"run {record.run} finished and loaded: {what}; {open_cells} cells were open; {states}"
    return Finished(record.run, text, loaded=True)


def _silent(_text: str) -> None:
    """Housekeeping says one line a run; the gates' own words are in the run's artifacts."""
