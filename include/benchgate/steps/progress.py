"""How far a campaign run is, read from its artifacts: the same for the terminal, the task log and the pages."""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.errors import DamagedArtifact
from benchgate.records import CellRecord, LaunchRecord
from benchgate.steps.context import CampaignRun
from benchgate.steps.watching import in_words


@dataclass(frozen=True)
class RunProgress:
    """A look at a run. ``done`` counts cells that will not change any more."""

    done: int
    planned: int
    now: str  # what is going on, in words
    measured: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.done / self.planned if self.planned else 1.0


def look(run: CampaignRun) -> RunProgress:
    """Read the run's artifacts and say how far it is."""
    done = measured = 0
    now = "seeding what the servers need"
    for launch in run.ledger.launches:
        record = run.launch_record(launch.launch)
        cells = run.cells_of(launch.launch)
        results = [run.cell_record(cell.cell) for cell in cells]
        measured += sum(result is not None for result in results)
        if record is None:
            continue
        if record.end_state == "failed" or record.stopped_at:
            done += len(cells)
            now = f"{launch.arm}: ended"
        else:
            done += sum(result is not None for result in results)
            now = f"{launch.arm}: {_doing(run, record, results)}"
    if done == len(run.ledger.cells):
        now = "validating and loading"
    return RunProgress(done=done, planned=len(run.ledger.cells), now=now, measured=measured)


def _doing(run: CampaignRun, record: LaunchRecord, results: list[CellRecord | None]) -> str:
    if record.end_state == "starting":
        return "starting the server"
    if not record.proofs:
        return "reading the server's log"
    if record.needle is None and run.campaign.gates_of(record.arm).needle:
        return "needle check"
    for cell, result in zip(run.cells_of(record.launch), results, strict=True):
        if result is None:
            load = f"{cell.users} users" if cell.users is not None else f"{cell.request_rate:g} requests/s"
            return f"{cell.workload}, {load}, repeat {cell.repeat}{_inside(run, cell.cell)}"
    return "stopping the server"


def _inside(run: CampaignRun, cell: str) -> str:
    try:
        progress = run.store.read_json(run.store.cell_path(cell, "progress.json"))
    except DamagedArtifact:
        return ""
    return f": {in_words(progress)}" if isinstance(progress, dict) and progress.get("cell") == cell else ""
