"""One campaign run as every step sees it: what was planned, and where its artifacts are.

The campaign and the inventory are copied into the run's artifacts when it is planned, so that a file that is edited
while the run goes on changes nothing of it.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from benchgate.artifact_errors import is_local
from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError
from benchgate.hosts import get_host
from benchgate.hosts.base import Host
from benchgate.hosts.process_table import ProcessId, alive, identify
from benchgate.records import CellRecord, HostSeeds, LaunchRecord, Ledger, PlannedCell, PlannedLaunch, RunRecord
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import HostSpec, Inventory, PlacementSpec
from benchgate.spec.load import load_campaign, load_inventory

T = TypeVar("T")


def now() -> str:
    """The time, UTC, ISO 8601 with milliseconds."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def owner_of_this_run() -> str | None:
    """The process that runs started from here live and die with (``BENCHGATE_OWNER_PID``), as a run records it."""
    pid = os.environ.get("BENCHGATE_OWNER_PID")
    owner = identify(int(pid)) if pid else None
    return f"{socket.gethostname()} {owner}" if owner else None


def owner_is_gone(record: RunRecord) -> bool:
    """Whether the process that a run lives and dies with has ended. False for runs without one, or of elsewhere."""
    machine, _, owner = (record.owner or "").partition(" ")
    return bool(owner) and machine == socket.gethostname() and not alive(ProcessId.parse(owner))


@dataclass(frozen=True)
class CampaignRun:
    """A planned run, loaded from its artifacts."""

    run: str

    @cached_property
    def store(self) -> RunStore:
        """The run's artifacts."""
        return RunStore(self.run)

    @cached_property
    def record(self) -> RunRecord:
        """What was planned when, and by which trigger."""
        return self._needed(self.store.read(self.store.path("run.json"), RunRecord), "run.json")

    @cached_property
    def ledger(self) -> Ledger:
        """Every launch and cell of the run."""
        return self._needed(self.store.read(self.store.path("ledger.json"), Ledger), "ledger.json")

    @cached_property
    def inventory(self) -> Inventory:
        """The hosts as they were written when the run was planned."""
        with self._local_copy("hosts.yaml") as file:
            return load_inventory(file)

    @cached_property
    def campaign(self) -> CampaignSpec:
        """The campaign as it was written when the run was planned."""
        with self._local_copy("campaign.yaml") as file:
            return load_campaign(file, self.inventory)

    def update_record(self, **changes: object) -> RunRecord:
        """Change fields of the run's own record, in the artifacts and as this object sees it."""
        record = RunRecord.model_validate({**dict(self.record), **changes})
        self.store.write(self.store.path("run.json"), record)
        self.__dict__["record"] = record  # where cached_property keeps it
        return record

    def end_nothing_new(self, reason: str) -> RunRecord:
        """Nothing of the run is measured, and every cell says why."""
        return self.update_record(state="nothing_new", nothing_new_reason=reason)

    def image_of(self, launch: PlannedLaunch) -> str | None:
        """The image that a launch runs, as the campaign writes it; None on a process host."""
        host, _ = self.places(launch)
        return self.campaign.image_of(launch.arm) if host.kind == "docker" else None

    def host(self, name: str) -> Host:
        """The driver of a host."""
        return get_host(name, self.inventory)

    def launch(self, key: str) -> PlannedLaunch:
        """A planned launch by its key."""
        for launch in self.ledger.launches:
            if launch.launch == key:
                return launch
        raise BenchgateError(f"run {self.run} has no launch {key}", remedy="plan the run again")

    def cells_of(self, launch: str) -> list[PlannedCell]:
        """The planned cells of a launch, in ledger order."""
        return [cell for cell in self.ledger.cells if cell.launch == launch]

    def places(self, launch: PlannedLaunch) -> tuple[HostSpec, PlacementSpec]:
        """Host and placement of a launch, as the inventory describes them."""
        found = self.inventory.placement(f"{launch.host}/{launch.placement}")
        if found is None:
            raise BenchgateError(f"{launch.host}/{launch.placement} is not in the inventory of run {self.run}")
        return found

    def seeds(self, host: str) -> HostSeeds:
        """What was seeded on a host; empty when nothing was."""
        return self.store.read(self.store.path("seeds", f"{host}.json"), HostSeeds) or HostSeeds(host=host)

    def save_seeds(self, seeds: HostSeeds) -> None:
        """Keep what was seeded on a host."""
        self.store.write(self.store.path("seeds", f"{seeds.host}.json"), seeds)

    def launch_record(self, key: str) -> LaunchRecord | None:
        """What is known of a launch so far; None when it was never attempted."""
        return self.store.read(self.store.launch_path(key, "launch.json"), LaunchRecord)

    def save_launch(self, record: LaunchRecord) -> LaunchRecord:
        """Keep what is known of a launch. One task at a time works on a launch, so there is one writer."""
        self.store.write(self.store.launch_path(record.launch, "launch.json"), record)
        return record

    def update_launch(self, key: str, **changes: object) -> LaunchRecord:
        """Change fields of a launch's record."""
        record = self._needed(self.launch_record(key), f"launches/{key}/launch.json")
        return self.save_launch(LaunchRecord.model_validate({**dict(record), **changes}))

    def cell_record(self, key: str) -> CellRecord | None:
        """What was measured of a cell; None when its measurement left nothing."""
        return self.store.read(self.store.cell_path(key, "cell.json"), CellRecord)

    def save_cell(self, record: CellRecord) -> CellRecord:
        """Keep what was measured of a cell."""
        self.store.write(self.store.cell_path(record.cell, "cell.json"), record)
        return record

    def forget_cell(self, key: str) -> None:
        """Remove what was measured of a cell: it is measured anew, and nothing of before may be taken for that."""
        for name in ("cell.json", "progress.json", "summary.json", "requests.parquet"):
            self.store.remove(self.store.cell_path(key, name))

    def forget_attempt(self, key: str) -> None:
        """Remove what an earlier attempt of a launch left, and what was measured of its cells."""
        for name in ("handle.json", "server.log.gz", "server.log.tail.json"):
            self.store.remove(self.store.launch_path(key, name))
        for cell in self.cells_of(key):
            self.forget_cell(cell.cell)

    @contextmanager
    def _local_copy(self, name: str) -> Iterator[Path]:
        """A file of the run as one of this machine, for as long as it is read: the loaders name it in their errors."""
        target = self.store.path(name)
        if is_local(target):
            yield Path(target.path)
            return
        text = self._needed(self.store.read_text(target), name)
        with tempfile.TemporaryDirectory(prefix="benchgate-") as folder:
            local = Path(folder) / name
            local.write_text(text)
            yield local

    def _needed(self, value: T | None, name: str) -> T:
        if value is None:
            raise BenchgateError(
                f"run {self.run}: {name} is not in the artifact store at {self.store.root}",
                remedy="was the run planned, and is BENCHGATE_ARTIFACTS the same for every worker?",
            )
        return value
