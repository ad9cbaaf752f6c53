"""The page *Hosts*: placements, what occupies them now, and what the last preflight on each of them found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate import settings
from benchgate.artifacts import RunStore
from benchgate.errors import DamagedArtifact, SpecError
from benchgate.names import run_key
from benchgate.pages.head import DagRunState
from benchgate.pages.nights import newest_runs
from benchgate.pages.preflight import Finding, preflight_of
from benchgate.pages.reading import Row, rows
from benchgate.pages.words import iso
from benchgate.records import LaunchRecord, Ledger, RunRecord
from benchgate.secrets import mask
from benchgate.spec.hosts import Inventory, PlacementSpec
from benchgate.spec.load import load_inventory
from benchgate.warehouse import tables as t

LOOK_BACK = 10  # newest runs of each campaign in which a placement's last launch is looked for


@dataclass(frozen=True)
class Occupant:
    """Who holds a placement now. Everything is None when the reader may not see that campaign."""

    campaign: str | None = None
    run_id: str | None = None
    launch: str | None = None
    arm: str | None = None
    state: str | None = None  # starting or ready
    since: str | None = None


@dataclass(frozen=True)
class LastLaunch:
    """The newest launch on a placement that the reader may see."""

    campaign: str
    run_id: str
    launch: str
    arm: str
    state: str
    started_at: str | None
    failure_kind: str | None
    preflight: tuple[Finding, ...]


@dataclass(frozen=True)
class Placement:
    """One placement of a host."""

    name: str
    gpus: tuple[str, ...]
    cpus: str | None
    port: int
    numa: str | None
    note: str | None
    shares_with: tuple[str, ...]  # placements that use one of its GPUs
    held: Occupant | None
    last: LastLaunch | None


@dataclass(frozen=True)
class HostLine:
    """One host of the inventory."""

    name: str
    kind: str
    address: str | None
    labels: Mapping[str, str]
    facts: Mapping[str, Any]  # what it said about itself last; unknown facts left out
    facts_from: str | None  # night of that launch
    placements: tuple[Placement, ...]


@dataclass(frozen=True)
class HostsView:
    """The page *Hosts*."""

    hosts: tuple[HostLine, ...]
    problem: str | None = None  # why there is no inventory to show


def hosts_view(
    connection: Connection | None, allowed: Collection[str], *, living: Sequence[DagRunState] = ()
) -> HostsView:
    """The inventory with what is going on on it. ``living`` are the DAG runs of all campaigns that are not over."""
    if not allowed:
        return HostsView((), "You may read no campaign, so there are no hosts to show.")
    try:
        inventory = load_inventory(settings.hosts_file())
    except SpecError as error:
        return HostsView((), f"The inventory cannot be used: {error}")
    held = _held(living, allowed)
    last = _last(connection, allowed)
    facts = _facts(connection, last)
    return HostsView(
        tuple(
            HostLine(
                name=name,
                kind=host.kind,
                address=mask(host.docker_url) if host.docker_url else host.docker_conn_id,
                labels=host.labels,
                facts=facts.get(name, ({}, None))[0],
                facts_from=facts.get(name, ({}, None))[1],
                placements=tuple(
                    _placement(inventory, name, place, spec, held, last) for place, spec in host.placements.items()
                ),
            )
            for name, host in inventory.hosts.items()
        )
    )


def _placement(
    inventory: Inventory,
    host: str,
    name: str,
    spec: PlacementSpec,
    held: Mapping[str, Occupant],
    last: Mapping[str, tuple[Row, Row]],
) -> Placement:
    ref = f"{host}/{name}"
    return Placement(
        name=name,
        gpus=tuple(spec.gpus),
        cpus=spec.cpus,
        port=spec.port,
        numa=spec.numa,
        note=spec.note,
        shares_with=tuple(other for other in inventory.refs if other != ref and inventory.overlaps(ref, other)),
        held=held.get(ref),
        last=_last_launch(*last[ref]) if ref in last else None,
    )


def _held(living: Sequence[DagRunState], allowed: Collection[str]) -> dict[str, Occupant]:
    """``host/placement`` -> who is on it, from the records of the launches of runs that go on."""
    held: dict[str, Occupant] = {}
    for run in living:
        for launch in _launches_of(run):
            if launch.started_at is None or launch.stopped_at is not None:
                continue
            ref = f"{launch.host}/{launch.placement}"
            held[ref] = (
                Occupant(run.campaign, run.run_id, launch.launch, launch.arm, launch.end_state, iso(launch.started_at))
                if run.campaign in allowed
                else Occupant()
            )
    return held


def _launches_of(run: DagRunState) -> list[LaunchRecord]:
    """What is known of a run's launches. A run whose records are damaged says so on its own page, not here."""
    store = RunStore(run_key(run.campaign, run.run_id))
    try:
        record = store.read(store.path("run.json"), RunRecord)
        ledger = store.read(store.path("ledger.json"), Ledger)
        if record is None or ledger is None or record.campaign != run.campaign:
            return []
        files = [store.launch_path(planned.launch, "launch.json") for planned in ledger.launches]
        return [launch for file in files if (launch := store.read(file, LaunchRecord)) is not None]
    except DamagedArtifact:
        return []


def _last(connection: Connection | None, allowed: Collection[str]) -> dict[str, tuple[Row, Row]]:
    """``host/placement`` -> (run, launch) of its newest launch in the newest runs of each campaign."""
    if connection is None:
        return {}
    runs = {row["run_id"]: row for name in sorted(allowed) for row in newest_runs(connection, name, LOOK_BACK)}
    launch = t.launch
    query = sa.select(*(launch.c[name] for name in _LAUNCH)).where(launch.c.run_id.in_(list(runs)))
    newest: dict[str, tuple[Row, Row]] = {}
    for row in rows(connection, query) if runs else []:
        if row["started_at"] is None and row["failure_kind"] is None:
            continue  # planned, and never attempted
        ref = f"{row['host']}/{row['placement']}"
        run = runs[row["run_id"]]
        if ref not in newest or _when(run, row) > _when(*newest[ref]):
            newest[ref] = (run, row)
    return newest


_LAUNCH = ["launch_id", "run_id", "launch", "arm", "host", "placement", "end_state", "started_at", "failure_kind"]


def _when(run: Row, launch: Row) -> tuple[str, str]:
    return str(iso(run["started_at"])), str(iso(launch["started_at"]) or "")


def _last_launch(run: Row, launch: Row) -> LastLaunch:
    return LastLaunch(
        campaign=run["campaign"],
        run_id=run["airflow_run_id"],
        launch=launch["launch"],
        arm=launch["arm"],
        state=launch["end_state"],
        started_at=iso(launch["started_at"] or run["started_at"]),
        failure_kind=launch["failure_kind"],
        preflight=preflight_of(RunStore(run["run"]), launch["launch"]),
    )


def _facts(
    connection: Connection | None, last: Mapping[str, tuple[Row, Row]]
) -> dict[str, tuple[dict[str, Any], str | None]]:
    """Host -> what it said about itself at its newest launch, and when that was."""
    if connection is None or not last:
        return {}
    started = {launch["launch_id"]: (_when(run, launch), run) for run, launch in last.values()}
    table = t.host_snapshot
    found: dict[str, tuple[tuple[str, str], dict[str, Any], str | None]] = {}
    for row in rows(connection, sa.select(table).where(table.c.launch_id.in_(list(started)))):
        when, run = started[row["launch_id"]]
        if row["host"] not in found or when > found[row["host"]][0]:
            known = {name: value for name, value in row.items() if value is not None and name not in _NOT_FACTS}
            found[row["host"]] = (when, known, iso(run["started_at"]))
    return {host: (facts, night) for host, (_, facts, night) in found.items()}


_NOT_FACTS = ("launch_id", "host", "kind")
