"""One campaign run as table rows, wherever it is: loaded into the warehouse, or still only in its artifacts.

A run that is going on has no rows in the warehouse. Its artifacts are turned into the very rows that a load would
write, so that everything behind this module knows one shape only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from upath import UPath

from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError, DamagedArtifact
from benchgate.names import run_key
from benchgate.pages.reading import Row, chunks, one, rows
from benchgate.records import CellOutcome, EndState, GateResult, Ledger, Record, RunRecord
from benchgate.warehouse import tables as t
from benchgate.warehouse.bundle import read_bundle
from benchgate.warehouse.rows import build_rows

R = TypeVar("R", bound=Record)
_LONGEST_KEY = 255  # no file system has a longer name, so no run has artifacts under one


@dataclass(frozen=True)
class RunRows:
    """All rows of a run that the pages show."""

    run: Row
    launches: Sequence[Row]
    cells: Sequence[Row]
    proofs: Sequence[Row] = ()
    needles: Sequence[Row] = ()
    hosts: Sequence[Row] = ()
    verdicts: Sequence[Row] = ()
    seeds: Sequence[Row] = ()
    approvals: Sequence[Row] = ()
    reversals: Sequence[Row] = ()
    regressions: Sequence[Row] = ()
    loaded: bool = True  # from the warehouse
    judged: bool = True  # the gates have decided
    measured: Mapping[str, str] = field(default_factory=dict)  # cell -> measured or failed, before the gates

    def launch(self, key: str) -> Row | None:
        """A launch by its key."""
        return next((launch for launch in self.launches if launch["launch"] == key), None)

    def cell(self, key: str) -> Row | None:
        """A cell by its key."""
        return next((cell for cell in self.cells if cell["cell"] == key), None)


def find_run(connection: Connection | None, campaign: str, run_id: str) -> RunRows | None:
    """The run of ``campaign`` that Airflow calls ``run_id``; None when nobody knows it.

    Two different runs can share a run key (dots in names), so the run that is found must say itself that it is of this
    campaign: whoever may read one campaign must not reach another's run by a cleverly chosen id.
    """
    key = run_key(campaign, run_id)
    if len(key) > _LONGEST_KEY:
        return None
    found = _loaded(connection, key) if connection is not None else None
    if found is None:
        found = _from_artifacts(RunStore(key))
    if found is None or found.run["campaign"] != campaign or found.run["airflow_run_id"] != run_id:
        return None
    return found


def _loaded(connection: Connection, key: str) -> RunRows | None:
    run = one(connection, sa.select(t.campaign_run).where(t.campaign_run.c.run == key))
    if run is None:
        return None

    def of_run(table: sa.Table, *more: Any) -> list[Row]:
        return rows(connection, sa.select(table).where(table.c.run_id == run["run_id"], *more))

    launches = of_run(t.launch)
    ids = [launch["launch_id"] for launch in launches]

    def of_launches(table: sa.Table, order: str) -> list[Row]:
        return [
            row
            for part in chunks(ids)
            for row in rows(connection, sa.select(table).where(table.c.launch_id.in_(part)).order_by(table.c[order]))
        ]

    return RunRows(
        run=run,
        launches=launches,
        cells=of_run(t.cell),
        proofs=of_launches(t.proof, "name"),
        needles=of_launches(t.needle_check, "needle"),
        hosts=of_launches(t.host_snapshot, "host"),
        verdicts=of_run(t.verdict, sa.not_(t.verdict.c.passed)),
        seeds=of_run(t.seed),
        approvals=of_run(t.approval),
        reversals=of_run(t.reversal_finding),
        regressions=of_run(t.regression_finding, t.regression_finding.c.new_tonight),
    )


def _from_artifacts(store: RunStore) -> RunRows | None:
    record = _read(store, store.path("run.json"), RunRecord)
    ledger = _read(store, store.path("ledger.json"), Ledger)
    if record is None or ledger is None:
        return None
    gates = _read(store, store.path("gates.json"), GateResult)
    judged = gates is not None
    if gates is None:
        pending = [*(cell.cell for cell in ledger.cells), *ledger.deselected]
        outcomes = [CellOutcome(cell=cell, state=EndState.NOT_RUN, reason=None) for cell in pending]
        gates = GateResult(verdicts=[], quarantine=[], outcomes=outcomes)
    try:
        bundle = read_bundle(store, gates)
    except DamagedArtifact as error:
        raise _unreadable(store, error.what) from None
    made = build_rows(bundle)
    return RunRows(
        run=made["campaign_run"][0],
        launches=made["launch"],
        cells=made["cell"],
        proofs=made["proof"],
        needles=made["needle_check"],
        hosts=made["host_snapshot"],
        verdicts=[verdict for verdict in made["verdict"] if not verdict["passed"]],
        seeds=made["seed"],
        approvals=made["approval"],
        loaded=False,
        judged=judged,
        measured={cell.cell: cell.state for cell in bundle.cells},
    )


def _read(store: RunStore, target: UPath, kind: type[R]) -> R | None:
    try:
        return store.read(target, kind)
    except DamagedArtifact:
        raise _unreadable(store, target.name) from None


def _unreadable(store: RunStore, what: str) -> BenchgateError:
    return BenchgateError(
        f"run {store.run}: {what} in its artifacts at {store.root} cannot be read",
        remedy="it is damaged or of another version of Benchgate; clear the task that writes it",
    )
