"""Runs one client on one core and watches what it costs: CPU over time, memory, and who else used the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
CPU_EVERY_S, MEMORY_EVERY_S = 0.25, 2.0


@dataclass
class Run:
    """One client's run. Moments are of CLOCK_MONOTONIC."""

    started_at: float
    code: int | None = None  # None: it was ended after its time
    ended_at: float = 0.0
    cpu: list[tuple[float, float]] = field(default_factory=list)  # (moment, CPU seconds of the whole process tree)
    machine: list[tuple[float, float]] = field(default_factory=list)  # (moment, CPU seconds of the whole machine)
    peak_mib: float = 0.0  # proportional set size, so that shared pages count once

    def cpu_between(self, start: float, end: float) -> float:
        """CPU seconds of the client between two moments."""
        return _at(self.cpu, end) - _at(self.cpu, start)

    def machine_between(self, start: float, end: float) -> float:
        """CPU seconds of everything on the machine between two moments."""
        return _at(self.machine, end) - _at(self.machine, start)


def _at(samples: list[tuple[float, float]], moment: float) -> float:
    """Linear between samples."""
    i = bisect_right(samples, (moment, float("inf")))
    if i == 0 or not samples:
        return samples[0][1] if samples else 0.0
    if i == len(samples):
        return samples[-1][1]
    (t0, c0), (t1, c1) = samples[i - 1], samples[i]
    return c0 + (c1 - c0) * (moment - t0) / (t1 - t0) if t1 > t0 else c1


def _tree(pid: int) -> Iterator[int]:
    """A process and its descendants, without reading all of /proc."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (task / "children").read_text().split():
                    yield from _tree(int(child))


def cpu_s(pid: int) -> float:
    """CPU seconds of a process tree, children that have ended included."""
    total = 0
    for one in _tree(pid):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(value) for value in fields[11:15])  # own and reaped children's, user and system
    return total * TICK_S


def memory_mib(pid: int) -> float:
    """Proportional set size of a process tree."""
    total = 0
    for one in _tree(pid):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += int(next(line for line in lines if line.startswith("Pss:")).split()[1])
    return total / 1024


def machine_cpu_s() -> float:
    """CPU seconds that the whole machine has used."""
    fields = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) * TICK_S  # without idle and iowait


def run(
    command: list[str],
    env: dict[str, str],
    *,
    core: int,
    timeout_s: float,
    log: Path,
    cwd: Path,
    stuck: Callable[[], bool] = lambda: False,
) -> Run:
    """Run a client on one core until it ends, its time is over or it is stuck; its process group ends with it."""
    with log.open("wb") as output:
        result = Run(time.monotonic())
        process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            env=env,
            cwd=cwd,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        next_memory = 0.0
        try:
            while process.poll() is None:
                now = time.monotonic()
                result.cpu.append((now, cpu_s(process.pid)))
                result.machine.append((now, machine_cpu_s()))
                if now >= next_memory:
                    result.peak_mib = max(result.peak_mib, memory_mib(process.pid))
                    next_memory = now + MEMORY_EVERY_S
                if now - result.started_at > timeout_s or stuck():
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(CPU_EVERY_S)
            result.code = process.poll()
        finally:
            _end(process)
        result.ended_at = time.monotonic()
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the process group: politely, then not."""
    for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
