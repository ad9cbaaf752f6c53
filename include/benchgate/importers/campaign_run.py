"""Imported cells as a campaign run: ledger, launches, cells and request files, written like those of any run.

Nothing of an imported run is published: its cells are in the same tables, with the reason that no launch was proven.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from benchgate import __version__
from benchgate.artifacts import RunStore
from benchgate.client.requests_file import write_requests
from benchgate.importers.model import ImportedCell, ImportedRun, ResultError
from benchgate.names import launch_key, run_key
from benchgate.plan import planned_cell
from benchgate.records import (
    CellOutcome,
    CellRecord,
    EndState,
    GateResult,
    LaunchRecord,
    Ledger,
    PlannedCell,
    PlannedLaunch,
    RunRecord,
    Verdict,
)
from benchgate.request_record import ClientFacts

RULE = "imported"


@dataclass(frozen=True)
class Target:
    """Where imported cells belong; what a file does not say and a person may know."""

    campaign: str
    workload: str
    host: str = "elsewhere"
    placement: str = "unknown"
    engine: str = "unknown"
    model: str | None = None
    users: int | None = None
    request_rate: float | None = None
    client_version: str | None = None
    simulated: bool = False
    run_id: str | None = None  # None: named after the time of the measurement and the files' content


@dataclass(frozen=True)
class Source:
    """One result file and the arm that it measured."""

    arm: str
    run: ImportedRun


@dataclass(frozen=True)
class _Placed:
    planned: PlannedCell
    cell: ImportedCell
    source: Source


def write_run(sources: Sequence[Source], target: Target, store_root: str | None = None) -> tuple[RunStore, GateResult]:
    """Write the run's artifacts; ``warehouse.load`` takes them from there. The same files make the same run.

    Raises:
        ResultError: a cell whose load is not known.
    """
    placed = _place(sources, target)
    started = min((p.cell.summary.started_at for p in placed if p.cell.summary.started_at), default=None)
    dated = started or _file_time(sources)
    run = run_key(target.campaign, target.run_id or f"import-{dated[:10]}-{_digest(sources)}")
    store = RunStore(run, store_root)
    _refuse_measured(store)
    record = RunRecord(
        run=run,
        campaign=target.campaign,
        airflow_run_id=f"{RULE}:{run}",
        started_at=dated,
        ended_at=dated,
        state="success",
        trigger={
            "imported": {source.run.path: source.arm for source in sources},
            "dated_by": "the files" if started else "the time of the newest file, as the files do not say",
        },
        benchgate_version=__version__,
    )
    launches = {p.planned.launch: _launch(p, target) for p in reversed(placed)}
    ledger = Ledger(
        campaign=target.campaign,
        run=run,
        created_at=dated,
        launches=[
            PlannedLaunch(launch=one.launch, arm=one.arm, host=one.host, placement=one.placement)
            for one in reversed(launches.values())
        ],
        cells=[p.planned for p in placed],
    )
    gates = GateResult(
        verdicts=[_verdict(p) for p in placed],
        quarantine=[],
        outcomes=[
            CellOutcome(cell=p.planned.cell, state=EndState.UNPUBLISHABLE, reason=_reason(p.source)) for p in placed
        ],
    )
    store.write(store.path("run.json"), record)
    store.write(store.path("ledger.json"), ledger)
    store.write(store.path("gates.json"), gates)
    for launch in launches.values():
        store.write(store.launch_path(launch.launch, "launch.json"), launch)
    for one in placed:
        _write_cell(store, one, target)
    return store, gates


def _refuse_measured(store: RunStore) -> None:
    """Imported results never take the place of what was measured here."""
    existing = store.read(store.path("run.json"), RunRecord)
    if existing is not None and not existing.airflow_run_id.startswith(f"{RULE}:"):
        raise ResultError(
            f"run {existing.run} was measured here and is not replaced by imported results",
            remedy="give another --run or --campaign",
        )


def _place(sources: Sequence[Source], target: Target) -> list[_Placed]:
    """A planned cell for each imported one; the same arm, workload and load again are repeats."""
    seen: Counter[tuple[str, int | None, float | None]] = Counter()
    placed = []
    for source in sources:
        launch = PlannedLaunch(
            launch=launch_key(source.arm, target.host, target.placement),
            arm=source.arm,
            host=target.host,
            placement=target.placement,
        )
        for cell in source.run.cells:
            users, rate = cell.summary.users, cell.summary.request_rate
            if users is None and rate is None:
                users, rate = target.users, target.request_rate
            if users is None and rate is None:
                raise ResultError(
                    f"{source.run.path}: does not say how many users or requests per second there were",
                    remedy="give --users or --request-rate",
                )
            seen[source.arm, users, rate] += 1
            planned = planned_cell(launch, target.workload, users, rate, seen[source.arm, users, rate])
            placed.append(_Placed(planned, cell, source))
    return placed


def _launch(placed: _Placed, target: Target) -> LaunchRecord:
    """The launch that must have been there. No proof, no fingerprint: nobody saw its log."""
    planned = placed.planned
    return LaunchRecord(
        launch=planned.launch,
        arm=planned.arm,
        host=planned.host,
        placement=planned.placement,
        engine=target.engine,
        model_id=target.model or placed.cell.model or "unknown",
        simulated=target.simulated,
        end_state="ready",
    )


def _reason(source: Source) -> str:
    return f"imported from {Path(source.run.path).name}: no launch of it was proven, so it is shown and not published"


def _verdict(placed: _Placed) -> Verdict:
    return Verdict(
        subject=placed.planned.cell,
        subject_kind="cell",
        rule=RULE,
        passed=False,
        observed=placed.cell.summary.client_name,
        limit="measured and proven by Benchgate",
        reason=_reason(placed.source),
    )


def _write_cell(store: RunStore, placed: _Placed, target: Target) -> None:
    planned, cell = placed.planned, placed.cell
    version = cell.summary.client_version or target.client_version
    summary = cell.summary.model_copy(
        update={"client_version": version, "users": planned.users, "request_rate": planned.request_rate}
    )
    record = CellRecord(**planned.model_dump(), state="measured", summary=summary, dataset=cell.dataset)
    store.write(store.cell_path(planned.cell, "cell.json"), record)
    if cell.requests:
        facts = ClientFacts(summary.client_name, version or "unknown", model=cell.model, endpoint=cell.endpoint)
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder) / "requests.parquet"
            write_requests(local, cell.requests, facts)
            store.put(store.cell_path(planned.cell, "requests.parquet"), local)


def _digest(sources: Sequence[Source]) -> str:
    """Short hash of what is imported: importing it again meets the same run, other files make another."""
    hashed = hashlib.sha256()
    for source in sources:
        hashed.update(source.arm.encode() + b"\x1f" + Path(source.run.path).read_bytes())
    return hashed.hexdigest()[:8]


def _file_time(sources: Sequence[Source]) -> str:
    newest = max(Path(source.run.path).stat().st_mtime for source in sources)
    return datetime.fromtimestamp(newest, timezone.utc).isoformat(timespec="seconds")
