"""Processes of this machine, read from ``/proc``: who they are, whom they belong to, and how to end them all.

Standard library only: the supervisor of a server imports this and nothing heavier.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
LEASE_MARK = "BENCHGATE_LEASE"  # in the environment of everything that runs under a lease; its value is the lock file


@dataclass(frozen=True)
class ProcessId:
    """A process that cannot be confused with a later one of the same number."""

    pid: int
    started: int  # clock ticks after boot, from /proc/PID/stat

    def __str__(self) -> str:
        return f"{self.pid}-{self.started}"

    @classmethod
    def parse(cls, text: str) -> ProcessId:
        """The inverse of ``str()``.

        Raises:
            ValueError: the text is not ``PID-TICKS``.
        """
        pid, _, started = text.partition("-")
        return cls(int(pid), int(started))


@dataclass(frozen=True)
class ProcessStat:
    """What ``/proc/PID/stat`` says about a process."""

    id: ProcessId
    parent: int
    group: int
    session: int
    zombie: bool  # all of it has ended; only its exit status is left


def stat(pid: int) -> ProcessStat | None:
    """Look at one process; None when there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (OSError, UnicodeDecodeError):
        return None
    fields = text.rpartition(")")[2].split()  # the name in parentheses may hold anything, also ")" and spaces
    # A process whose first thread has ended looks like a zombie while its other threads still run and hold memory.
    over = fields[0] in ("Z", "X") and int(fields[17]) <= 1
    return ProcessStat(ProcessId(pid, int(fields[19])), int(fields[1]), int(fields[2]), int(fields[3]), over)


def identify(pid: int) -> ProcessId | None:
    """The identity of a process that runs; None when it does not (a zombie does not)."""
    found = stat(pid)
    return None if found is None or found.zombie else found.id


def alive(process: ProcessId | None) -> bool:
    """Does exactly this process still run? A later one with the same number does not count."""
    return process is not None and identify(process.pid) == process


def every() -> Iterator[ProcessStat]:
    """All processes of this machine that run now."""
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (found := stat(int(entry.name))) is not None and not found.zombie:
            yield found


def environment(pid: int) -> dict[str, str]:
    """The environment a process was started with; empty when it may not be read."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition("=") for item in raw.decode(errors="replace").split("\0") if "=" in item)
    return {name: value for name, _, value in pairs}


def command_line(pid: int, limit: int = 160) -> str:
    """The command line of a process, cut to ``limit`` characters; empty when it may not be read."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.decode(errors="replace").replace("\0", " ").strip()[:limit]


def family(mark: str, *, server: ProcessId | None = None, supervisor: int | None = None) -> list[ProcessStat]:
    """Every process that runs under one lease, however far it has moved from its parent.

    Three signs, because each can be lost: the mark in its environment (lost when a process rewrites its title over it,
    as vLLM's workers do), the server's session (lost by ``setsid``), and descent from the supervisor, to which orphans
    return while it lives.
    """
    table = list(every())
    children: dict[int, list[ProcessStat]] = {}
    for process in table:
        children.setdefault(process.parent, []).append(process)
    found: dict[int, ProcessStat] = {}
    queue = list(children.get(supervisor, [])) if supervisor is not None else []
    while queue:
        process = queue.pop()
        if process.id.pid not in found:
            found[process.id.pid] = process
            queue.extend(children.get(process.id.pid, []))
    # A number that names a session is not given to a new process while the session has members. So a leader that is
    # there but is not our server means that our server's session is over.
    leader = stat(server.pid) if server is not None else None
    session = server.pid if server is not None and (leader is None or leader.id == server) else None
    for process in table:
        if process.session == session or environment(process.id.pid).get(LEASE_MARK) == mark:
            found.setdefault(process.id.pid, process)
    for pid in (os.getpid(), supervisor):
        if pid is not None:
            found.pop(pid, None)
    return list(found.values())


def end_all(members: Callable[[], list[ProcessStat]], *, grace_s: float) -> list[ProcessId]:
    """End all that ``members`` finds: SIGTERM, then after ``grace_s`` SIGKILL, until it finds nothing.

    ``members`` is asked again and again, because processes that are being ended still start others.

    Returns:
        Who was there at the start, whether it took SIGTERM or SIGKILL; not who had ended before it could be told.
    """
    first = signal_all([process.id for process in members()], signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while (left := members()) and time.monotonic() < deadline:
        time.sleep(0.05)
    deadline = time.monotonic() + 10.0  # SIGKILL is not refused, but a process in a device driver may take its time
    while left and time.monotonic() < deadline:
        signal_all([process.id for process in left], signal.SIGKILL)
        time.sleep(0.05)
        left = members()
    return first


def signal_all(processes: list[ProcessId], number: signal.Signals) -> list[ProcessId]:
    """Send a signal to those that still are who they were; returns who that was."""
    sent = []
    for process in processes:
        if alive(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)
                sent.append(process)
    return sent


def oom_kills() -> int | None:
    """How many processes the kernel has ended for want of memory since boot; None where it does not say."""
    try:
        lines = (PROC / "vmstat").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)
