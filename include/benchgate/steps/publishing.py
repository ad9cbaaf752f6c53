"""Steps ``validate``, ``load`` and ``verdict``: gates first, then one transaction, then what it means for the run."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from benchgate.errors import BenchgateError
from benchgate.records import CellOutcome, CellRecord, EndState, GateResult, RunRecord
from benchgate.steps.approving import bring_approvals
from benchgate.steps.context import CampaignRun, now
from benchgate.steps.launching import Say
from benchgate.steps.measuring import why_not_measured


def validate(run: CampaignRun, *, say: Say = print) -> GateResult:
    """Great Expectations on the run's result tables; its whole report and the readable Data Docs become artifacts."""
    from benchgate.gates import run_gates

    launches = [run.launch_record(launch.launch) for launch in run.ledger.launches]
    cells = [run.cell_record(cell.cell) or _left_out(run, cell.cell) for cell in run.ledger.cells]
    with tempfile.TemporaryDirectory(prefix="benchgate-gates-") as folder:
        result = run_gates(
            run.campaign,
            run.ledger,
            [launch for launch in launches if launch is not None],
            [cell for cell in cells if cell is not None],
            report_dir=Path(folder),
        )
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                run.store.put(run.store.root.joinpath("validation", *file.relative_to(folder).parts), file)
    run.store.write(run.store.path("gates.json"), result)
    say(_verdicts_in_words(result))
    for verdict in result.verdicts:
        if not verdict.passed:
            say(f"{verdict.severity}: {verdict.subject}: {verdict.rule}: {verdict.reason}")
    return result


def _verdicts_in_words(result: GateResult) -> str:
    """How many rules refused something, and how many only warned."""
    failed = Counter(verdict.severity for verdict in result.verdicts if not verdict.passed)
    warned = f", {failed['warning']} warned" if failed["warning"] else ""
    return f"{failed['critical']} of {len(result.verdicts)} rules refused something{warned}"


def load(run: CampaignRun, *, url: str | None = None, say: Say = print) -> dict[str, int]:
    """Put the run into the warehouse: all of it or nothing. Gives the number of cells in each end state."""
    from benchgate.warehouse.bundle import read_bundle
    from benchgate.warehouse.load import load_run
    from benchgate.warehouse.migrate import migrate

    result = _gates(run)
    ok, reasons = _as_expected(run, result)
    finish_run(run, "nothing_new" if run.record.state == "nothing_new" else "success" if ok else "failed")
    migrate(url)
    report = load_run(read_bundle(run.store, result, expectation=(ok, reasons)), url)
    bring_approvals(run, url)
    run.update_record(load_pending=False)
    counts = Counter(outcome.state.value for outcome in result.outcomes)
    say(
        f"loaded {report.cells} cells and {report.requests} requests of {run.run}"
        if report.changed
        else f"{run.run} was in the warehouse already, unchanged"
    )
    say(", ".join(f"{counts.get(state.value, 0)} {state.value}" for state in EndState))
    return dict(counts)


def verdict(run: CampaignRun, *, say: Say = print) -> None:
    """The run's end: did every arm end as its campaign expects? A run with nothing new to measure ends well.

    Raises:
        BenchgateError: something that was planned could not be published, or something was that should not have been;
            or the run was ended before its results were published.
    """
    if run.record.state == "running" or run.record.load_pending:
        raise BenchgateError(
            f"run {run.run} was ended before its results were in the warehouse: it was marked in Airflow, or a task "
            "before this one failed",
            remedy="nothing to do where it was marked: housekeeping loads what it has; else see that task's log",
        )
    result = _gates(run)
    ok, reasons = _as_expected(run, result)
    for line in summary_lines(result.outcomes):
        say(line)
    if run.record.state == "nothing_new":
        return
    if not ok:
        raise BenchgateError("; ".join(reasons), remedy="see the views did_not_run and unpublishable for the reasons")


def finish_run(run: CampaignRun, state: str) -> RunRecord:
    """Write how the run ended. Its lifetime is over with this: what is left of it on a host may be removed."""
    return run.update_record(state=state, ended_at=run.record.ended_at or now(), load_pending=True, publish_later=False)


def _as_expected(run: CampaignRun, result: GateResult) -> tuple[bool, list[str]]:
    """Whether every arm ended as its campaign expects. A run that was broken off did not, whatever it had done."""
    from benchgate.gates import expected_outcome

    ok, reasons = expected_outcome(run.campaign, run.ledger, result.outcomes)
    if run.record.broken_off is not None:
        return False, [run.record.broken_off, *reasons]
    return ok, reasons


def summary_lines(outcomes: list[CellOutcome]) -> list[str]:
    """One line for every arm-level reason: how many cells ended so."""
    groups = Counter((outcome.state.value, outcome.reason or "") for outcome in outcomes)
    return [
        f"{count:4d} {state}" + (f": {reason}" if reason else "")
        for (state, reason), count in sorted(groups.items(), key=lambda item: (-item[1], item[0]))
    ]


def _left_out(run: CampaignRun, cell_key: str) -> CellRecord | None:
    """A cell whose measurement left no record: why, as far as its launch tells."""
    cell = next(planned for planned in run.ledger.cells if planned.cell == cell_key)
    reason = run.record.nothing_new_reason or why_not_measured(run, cell.launch)
    if reason is None:
        return CellRecord(**cell.model_dump(), state="failed", reason="its measurement ended without leaving a result")
    return CellRecord(**cell.model_dump(), state="not_run", reason=reason)


def _gates(run: CampaignRun) -> GateResult:
    result = run.store.read(run.store.path("gates.json"), GateResult)
    if result is None:
        raise BenchgateError(f"run {run.run} was not validated", remedy="run the validate step first")
    return result
