"""Everything that is loaded of one campaign run, gathered from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from upath import UPath

from benchgate.artifacts import RunStore
from benchgate.errors import SpecError, WarehouseError
from benchgate.names import launch_key, parse_cell_key
from benchgate.records import (
    Approval,
    CellOutcome,
    CellRecord,
    GateResult,
    HostSeeds,
    LaunchRecord,
    Ledger,
    PlannedCell,
    PlannedLaunch,
    RunRecord,
)
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.load import campaign_of


@dataclass(frozen=True)
class RunBundle:
    """One campaign run after its gates. ``requests`` maps a cell key to its Parquet file of request records."""

    run: RunRecord
    ledger: Ledger
    launches: Sequence[LaunchRecord]
    cells: Sequence[CellRecord]
    gates: GateResult
    seeds: Sequence[HostSeeds] = ()  # what was put in place, host by host
    approvals: Sequence[Approval] = ()
    requests: Mapping[str, UPath] = field(default_factory=dict)
    # (whether every arm ended as its `expect` says, what surprised); None when nobody judged it
    expectation: tuple[bool, Sequence[str]] | None = None

    def campaign_spec(self) -> CampaignSpec | None:
        """The campaign as it was for this run; None for imported runs, which have no campaign file."""
        return _parsed(self.run.campaign_yaml)

    def outcomes(self) -> dict[str, CellOutcome]:
        """Cell key -> how it ended."""
        return {outcome.cell: outcome for outcome in self.gates.outcomes}

    def all_launches(self) -> list[PlannedLaunch]:
        """The ledger's launches, then those that exist only through cells that nobody asked for in this run."""
        planned = {launch.launch: launch for launch in self.ledger.launches}
        for cell in self.all_cells():
            planned.setdefault(
                cell.launch,
                PlannedLaunch(launch=cell.launch, arm=cell.arm, host=cell.host, placement=cell.placement),
            )
        return list(planned.values())

    def all_cells(self) -> list[PlannedCell]:
        """The ledger's cells, then those that the campaign plans and nobody asked for in this run."""
        return [*self.ledger.cells, *(deselected_cell(key) for key in self.ledger.deselected)]

    def check(self) -> None:
        """Refuse a bundle whose parts do not belong together.

        Raises:
            WarehouseError: records of another run, a planned cell without exactly one end state, an unplanned one
                with one, or two records of one launch or cell.
        """
        problems = list(self._problems())
        if problems:
            shown = "; ".join(problems[:5]) + (f"; and {len(problems) - 5} more" if len(problems) > 5 else "")
            raise WarehouseError(
                f"run {self.run.run} cannot be loaded: {shown}", remedy="nothing was written; run its gates again"
            )

    def _problems(self) -> Iterator[str]:
        if self.ledger.run != self.run.run or self.ledger.campaign != self.run.campaign:
            yield f"its ledger is of run {self.ledger.run} of campaign {self.ledger.campaign}"
        planned = Counter(cell.cell for cell in self.all_cells())
        ended = Counter(outcome.cell for outcome in self.gates.outcomes)
        yield from (f"cell {name} is planned {n} times" for name, n in planned.items() if n > 1)
        yield from (f"cell {name} has {ended[name]} end states" for name in planned if ended[name] != 1)
        yield from (f"cell {name} ended and was never planned" for name in ended if name not in planned)
        launches = {launch.launch for launch in self.ledger.launches}
        orphans = (cell for cell in self.ledger.cells if cell.launch not in launches)
        yield from (f"cell {cell.cell} belongs to unplanned launch {cell.launch}" for cell in orphans)
        attempts = Counter(launch.launch for launch in self.launches)
        yield from (f"launch {name} has {n} records" for name, n in attempts.items() if n > 1)


@lru_cache(maxsize=8)
def _parsed(text: str) -> CampaignSpec | None:
    try:
        return campaign_of(text)
    except SpecError:
        return None


def deselected_cell(key: str) -> PlannedCell:
    """A cell that the ledger knows by its key only."""
    try:
        arm, host, placement, workload, users, rate, repeat = parse_cell_key(key)
    except ValueError as error:
        raise WarehouseError(f"the ledger deselects {key!r}, which is no cell key") from error
    return PlannedCell(
        cell=key,
        launch=launch_key(arm, host, placement),
        arm=arm,
        host=host,
        placement=placement,
        workload=workload,
        users=users,
        request_rate=rate,
        repeat=repeat,
    )


def read_approvals(store: RunStore) -> list[Approval]:
    """Every answer that people gave about a run, oldest first."""
    kept = (store.read(file, Approval) for file in store.answers())
    return sorted((one for one in kept if one is not None), key=lambda one: (one.at, one.point, one.note or ""))


def read_bundle(
    store: RunStore,
    gates: GateResult,
    *,
    expectation: tuple[bool, Sequence[str]] | None = None,
) -> RunBundle:
    """Gather a run from its artifacts: run.json, ledger.json, launches, cells, seeds, answers and request files.

    Args:
        store: the run's artifact store.
        gates: what the gates decided about it.
        expectation: whether every arm ended as it should, and what surprised.

    Raises:
        WarehouseError: run.json or ledger.json is not in the store.
    """
    run = store.read(store.path("run.json"), RunRecord)
    ledger = store.read(store.path("ledger.json"), Ledger)
    if run is None or ledger is None:
        raise WarehouseError(
            f"{store.root} holds no {'run.json' if run is None else 'ledger.json'}",
            remedy="name a run of this artifact store, or set BENCHGATE_ARTIFACTS to the store it is in",
        )
    launches = [store.read(store.launch_path(p.launch, "launch.json"), LaunchRecord) for p in ledger.launches]
    cells = [store.read(store.cell_path(p.cell, "cell.json"), CellRecord) for p in ledger.cells]
    hosts = dict.fromkeys(launch.host for launch in ledger.launches)
    seeds = [store.read(store.path("seeds", f"{host}.json"), HostSeeds) for host in hosts]
    # a cell that failed may have left the requests that were measured until then: they are no result of it
    measured = [cell.cell for cell in cells if cell is not None and cell.state == "measured"]
    files = {cell: store.cell_path(cell, "requests.parquet") for cell in measured}
    return RunBundle(
        run=run,
        ledger=ledger,
        launches=[launch for launch in launches if launch is not None],
        cells=[cell for cell in cells if cell is not None],
        gates=gates,
        seeds=[host for host in seeds if host is not None],
        approvals=read_approvals(store),
        requests={cell: path for cell, path in files.items() if store.exists(path)},
        expectation=expectation,
    )
