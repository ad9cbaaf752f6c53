"""End servers of this machine, and what they or their crashes have left behind. Nobody else's are touched."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from benchgate import secrets
from benchgate.hosts.process_state import LaunchState, PlacementFolder
from benchgate.hosts.process_table import ProcessId, ProcessStat, alive, command_line, end_all, family, signal_all
from benchgate.records import ExitInfo

STALE_GRACE_S = 10.0
_SUPERVISOR_EXTRA_S = 25.0  # for SIGKILL to work through, on top of the grace


def end(folder: PlacementFolder, state: LaunchState, grace_s: float) -> None:
    """End one launch: through its supervisor, or, when that is gone, by its marks. Other launches stay."""
    if alive(state.supervisor):
        (folder.launch_dir(str(state.supervisor)) / "grace").write_text(str(grace_s))
        signal_all([state.supervisor], signal.SIGTERM)
        deadline = time.monotonic() + grace_s + _SUPERVISOR_EXTRA_S
        while alive(state.supervisor) and time.monotonic() < deadline:
            time.sleep(0.05)
        if alive(state.supervisor):
            signal_all([state.supervisor], signal.SIGKILL)
    _sweep_if_free(folder, state)


def sweep(folder: PlacementFolder, state: LaunchState | None = None) -> list[str]:
    """End what a lease that nobody holds has left behind; says what. Call it with the lock held."""
    state = state or folder.current()
    server = state.server if state else None
    commands: dict[ProcessId, str] = {}

    def members() -> list[ProcessStat]:
        found = family(folder.mark, server=server)
        for process in found:
            commands.setdefault(process.id, command_line(process.id.pid, 80))
        return found

    ended = end_all(members, grace_s=2.0)
    return [secrets.mask(f"process {it.pid} ({commands[it]}) of {folder.path.name}") for it in ended]


def remove_stale(
    host: str,
    folder: PlacementFolder,
    run_is_over: Callable[[str], bool],
    *,
    replaces: Callable[[str, str], bool] | None = None,
) -> list[str]:
    """End the launch of a placement when its run is over, and what earlier ones left; says what was ended.

    ``replaces`` tells of a run and arm whether the launch that is about to begin there may take its place: an earlier
    try of it, or one of its run that is over.
    """
    removed = []
    holder = folder.settled_holder()
    if holder is not None and ((replaces is not None and replaces(holder.run, holder.arm)) or run_is_over(holder.run)):
        end(folder, holder, STALE_GRACE_S)
        removed.append(f"server of {holder.holder()}, on {host}/{holder.placement}")
    return removed + _sweep_if_free(folder, None)


def exit_info(state: LaunchState) -> ExitInfo:
    """How the server of an ended launch ended."""
    if state.ended_at is None:  # the supervisor is gone without a word, and the kernel killed the server with it
        return ExitInfo(signal="SIGKILL")
    return ExitInfo(exit_code=state.exit_code, signal=state.signal, oom_killed=state.oom_killed)


def _sweep_if_free(folder: PlacementFolder, state: LaunchState | None) -> list[str]:
    lock = folder.acquire()
    if lock is None:
        return []
    try:
        return sweep(folder, state)
    finally:
        os.close(lock)
