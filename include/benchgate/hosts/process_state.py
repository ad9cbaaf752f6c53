"""What the process host keeps on disk about a placement: the lease, who holds it, and the last launches.

``state/placements/LEASE/lock``
    Locked (flock) by the supervisor of the server that occupies the placement. The kernel frees it, whatever happens.
``state/placements/LEASE/current``
    The id of the launch that holds the lease, or held it last.
``state/placements/LEASE/ID/state.json`` and ``server.log``
    One launch: the facts below, and the server's output as it came. No secret is ever written here.

Standard library only, as the supervisor imports it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchgate.hosts.process_table import ProcessId, alive
from benchgate.whole_file import write_whole

SHORT_HOLD_S = 3.0  # a look by housekeeping, or a start that has not yet said who it is
KEEP_LAUNCHES = 4  # folders of earlier launches that stay on a placement; their logs are artifacts of their runs


@dataclass(frozen=True)
class LaunchState:
    """One launch on a placement, as its supervisor knows it. Times are UTC, ISO 8601."""

    host: str
    placement: str
    lease: str
    campaign: str
    run: str
    arm: str
    port: int
    argv: list[str]  # secrets masked
    started_at: str
    supervisor: ProcessId
    server: ProcessId | None = None
    owner: ProcessId | None = None
    ended_at: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    oom_killed: bool | None = None
    end: str | None = None  # itself | stop | owner_gone | state_gone: what ended the server

    def holder(self) -> str:
        """Who holds the lease, in words."""
        return (
            f"arm {self.arm} of run {self.run} (campaign {self.campaign}), started {self.started_at}, "
            f"supervisor pid {self.supervisor.pid}"
        )


class PlacementFolder:
    """The files of one placement."""

    def __init__(self, root: Path, lease: str) -> None:
        self.root = root
        self.path = root / "placements" / lease
        self.lock = self.path / "lock"

    @property
    def mark(self) -> str:
        """Value of the mark that everything under this lease carries in its environment."""
        return str(self.lock)

    def acquire(self) -> int | None:
        """Take the lease: an open, locked file descriptor, or None while somebody holds it. Closing it frees it."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def launch_dir(self, launch_id: str) -> Path:
        """Folder of one launch. ``launch_id`` is ``PID-TICKS`` of its supervisor."""
        return self.path / str(ProcessId.parse(launch_id))

    def log_file(self, launch_id: str) -> Path:
        """The server's output of one launch."""
        return self.launch_dir(launch_id) / "server.log"

    def write(self, state: LaunchState) -> None:
        """Write the state of a launch aside and rename it."""
        folder = self.launch_dir(str(state.supervisor))
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # a server may print what it was given
        write_whole(folder / "state.json", json.dumps(_to_json(state), indent=1))

    def set_current(self, launch_id: str) -> None:
        """Say which launch holds the lease."""
        write_whole(self.path / "current", launch_id)

    def read(self, launch_id: str) -> LaunchState | None:
        """The state of a launch; None when there is none (or it is not ours to understand)."""
        try:
            return _from_json(json.loads((self.launch_dir(launch_id) / "state.json").read_text()))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def current(self) -> LaunchState | None:
        """The launch that holds the lease, or held it last; :func:`alive` tells which."""
        try:
            return self.read((self.path / "current").read_text().strip())
        except (OSError, ValueError):
            return None

    def holder(self) -> LaunchState | None:
        """The launch that holds the lease now; None when its supervisor is gone."""
        state = self.current()
        return state if state is not None and alive(state.supervisor) else None

    def held(self) -> bool:
        """Is the lease taken at this moment?"""
        lock = self.acquire()
        if lock is not None:
            os.close(lock)
        return lock is None

    def settled_holder(self) -> LaunchState | None:
        """Like :meth:`holder`, but a launch that is just starting is waited for: it is about to tell who it is."""
        deadline = time.monotonic() + SHORT_HOLD_S
        while (holder := self.holder()) is None and self.held() and time.monotonic() < deadline:
            time.sleep(0.05)
        return holder

    def prune(self) -> None:
        """Remove the folders of all but the newest launches. Call it with the lease held."""
        folders = [path for path in self.path.iterdir() if path.is_dir()]
        folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for folder in folders[KEEP_LAUNCHES - 1 :]:
            shutil.rmtree(folder, ignore_errors=True)


def placements(root: Path) -> list[PlacementFolder]:
    """Every placement that ever had a launch under ``root``."""
    folder = root / "placements"
    return [PlacementFolder(root, path.name) for path in sorted(folder.iterdir())] if folder.is_dir() else []


def _to_json(state: LaunchState) -> dict[str, Any]:
    processes = {
        name: None if (process := getattr(state, name)) is None else str(process)
        for name in ("supervisor", "server", "owner")
    }
    return asdict(state) | processes


def _from_json(values: dict[str, Any]) -> LaunchState:
    processes = {
        name: None if values[name] is None else ProcessId.parse(values[name])
        for name in ("supervisor", "server", "owner")
    }
    return LaunchState(**(values | processes))
