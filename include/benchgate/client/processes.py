"""Several client processes: one clock, one start, one stop, merged results.

``CLOCK_MONOTONIC`` is the machine's, so that times of all processes are on one line without any synchronisation.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from benchgate.client.channel import Begin, Channel, Done, Failed, Go, Ready, Report, StopNow
from benchgate.client.config import BenchConfig
from benchgate.client.loads.stop import MIN_FOR_RATE
from benchgate.client.prepare import Prepared
from benchgate.client.worker import Counts, Share, WorkerResult
from benchgate.errors import MeasureFailed

STREAMS_A_PROCESS = 1024  # one core carries 1024 streams of 50 tokens/s with a third of it to spare
START_LEAD_S = 0.05  # from the last "ready" to the common start: a message needs less
STDERR_KEPT = 4000


def process_count(config: BenchConfig) -> int:
    """``config.processes``, or as many as the streams need and the cores allow."""
    if config.processes is not None:
        most = config.users if config.users is not None else config.processes
        return max(1, min(config.processes, most))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, -(-config.streams // STREAMS_A_PROCESS)))


@dataclass
class _Child:
    number: int
    process: asyncio.subprocess.Process
    channel: Channel
    counts: Counts = field(default_factory=Counts)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    result: WorkerResult | None = None
    failure: str | None = None


class ProcessGroup:
    """Starts the processes, and runs the load in them. ``end`` may be called at any time."""

    def __init__(
        self, config: BenchConfig, prepared: Prepared, count: int, *, tls: bool, keep_text: bool = False
    ) -> None:
        self._config = config
        self._prepared = prepared
        self._count = count
        self._tls = tls
        self._keep_text = keep_text
        self._children: list[_Child] = []
        self._listeners: list[asyncio.Task[None]] = []
        self.reason: str | None = None

    async def warm_up(self) -> None:
        """Start all processes and wait until each has warmed up its share."""
        for number in range(self._count):
            child = await self._start(number)
            self._children.append(child)
            self._listeners.append(asyncio.ensure_future(self._listen(child)))
        await asyncio.gather(*(child.ready.wait() for child in self._children))
        self._check()

    async def measure(self) -> list[WorkerResult]:
        """Start the window everywhere at one moment; the results of all processes."""
        start_at = monotonic() + START_LEAD_S
        await self._tell(Go(start_at))
        await asyncio.gather(*self._listeners)
        self._check()
        return [child.result for child in self._children if child.result is not None]

    def end(self, reason: str) -> None:
        """End the run everywhere, and keep what was measured."""
        if self.reason is None:
            self.reason = reason
            asyncio.ensure_future(self._tell(StopNow(reason)))  # noqa: RUF006 - a message; nothing waits for it

    def counts(self) -> Counts:
        """How far all of them are together."""
        parts = [child.counts for child in self._children]
        return Counts(sum(p.done for p in parts), sum(p.errors for p in parts), sum(p.tokens for p in parts))

    async def close(self) -> None:
        """Leave no process behind."""
        for listener in self._listeners:
            listener.cancel()
        for child in self._children:
            child.channel.close()
        for child in self._children:
            if child.process.returncode is None:
                try:
                    await asyncio.wait_for(child.process.wait(), 2.0)  # it ends when its channel closes
                except asyncio.TimeoutError:
                    with contextlib.suppress(ProcessLookupError):
                        child.process.kill()
                    await child.process.wait()

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _start(self, number: int) -> _Child:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "benchgate.client.process_main",
                str(theirs.fileno()),
                *(["tls"] if self._tls else []),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for us: a process that hears it while Python starts would die of it
            )
        finally:
            theirs.close()
        channel = await Channel.over(ours)
        # the error-rate limit holds for all processes together, so it is watched here
        config = replace(self._config, stop_on_error_rate=None)
        share = Share(number, self._count)
        await channel.send(Begin(config, self._prepared.model, self._prepared.source, share, self._keep_text))
        if self.reason is not None:  # this one did not exist when the others were told
            await channel.send(StopNow(self.reason))
        return _Child(number, process, channel)

    async def _listen(self, child: _Child) -> None:
        while child.result is None and child.failure is None:
            message = await child.channel.receive()
            if isinstance(message, Ready):
                child.ready.set()
            elif isinstance(message, Report):
                child.counts = message.counts
                self._watch_errors()
            elif isinstance(message, Done):
                child.result = message.result
            elif isinstance(message, Failed):
                child.failure = message.message
            elif message is None:
                child.failure = await self._why_it_died(child)
        if child.failure is not None:
            child.ready.set()
            self.end("failed")

    async def _why_it_died(self, child: _Child) -> str:
        assert child.process.stderr is not None
        said = (await child.process.stderr.read()).decode(errors="replace")[-STDERR_KEPT:].strip()
        code = await child.process.wait()
        last = said.splitlines()[-1] if said else "no message"
        return f"client process {child.number} ended with code {code}: {last}"

    def _watch_errors(self) -> None:
        now, limit = self.counts(), self._config.stop_on_error_rate
        if limit is not None and now.done >= MIN_FOR_RATE and now.errors / now.done > limit:
            self.end("error_rate")

    def _check(self) -> None:
        failures = [child.failure for child in self._children if child.failure is not None]
        if failures:
            raise MeasureFailed(failures[0], remedy="run with --processes 1 to see whether it happens there as well")

    async def _tell(self, message: Go | StopNow) -> None:
        await asyncio.gather(*(child.channel.send(message) for child in self._children))
