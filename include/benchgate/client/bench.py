"""``run_bench``: a checked configuration in, records and the client's own facts out. Needs nothing but the server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from time import monotonic

from benchgate import CLIENT_NAME, __version__
from benchgate.client.config import BenchConfig
from benchgate.client.prepare import Prepared, prepare
from benchgate.client.progress import ProgressNow, Rate, estimate
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.pool import Pool
from benchgate.client.wire.target import Target, parse_target
from benchgate.client.worker import Counts, Worker, WorkerResult
from benchgate.request_record import CUT_OFF, ClientFacts, RequestRecord
from benchgate.secrets import register

OnProgress = Callable[[ProgressNow], None]
PROGRESS_EVERY_S = 1.0


@dataclass(slots=True)
class BenchResult:
    """Everything that was measured. ``metrics.summarise`` makes a ``CellSummary`` of it."""

    records: list[RequestRecord]  # warm-up and probes included, told apart by ``phase``
    facts: ClientFacts
    notes: list[str] = field(default_factory=list)


def run_bench(config: BenchConfig, *, on_progress: OnProgress | None = None) -> BenchResult:
    """Measure one cell.

    SIGINT and SIGTERM end the run and keep what was measured (``stopped_by: interrupt``).

    Raises:
        OptionError: a configuration that cannot work.
        MeasureFailed: the server cannot be reached at all.
        KeyboardInterrupt: interrupted before anything was measured.
    """
    config.check()
    register(config.api_key)
    target = parse_target(config.base_url, ca_file=config.ca_file)
    _allow_files(config.streams)
    with _event_loop() as loop:
        return loop.run_until_complete(_run(config, target, on_progress))


async def _run(config: BenchConfig, target: Target, on_progress: OnProgress | None) -> BenchResult:
    loop = asyncio.get_running_loop()
    prepared = await _prepare(config, target, loop)
    worker = Worker(config, target, prepared.model, prepared.source)
    with _interrupts(loop, worker.stop.set):
        try:
            await worker.warm_up()
            started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            with _progress(config, worker.counts, on_progress), _no_garbage_collection():
                result = await worker.measure()
        finally:
            await worker.close()
    return _result(config, prepared, started_at, [result])


async def _prepare(config: BenchConfig, target: Target, loop: asyncio.AbstractEventLoop) -> Prepared:
    pool = Pool(target, Drain(loop), loop)
    this_task = asyncio.current_task()
    assert this_task is not None
    with _interrupts(loop, lambda _: this_task.cancel()):
        try:
            return await prepare(config, pool)
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            await pool.close()


def _result(config: BenchConfig, prepared: Prepared, started_at: str, parts: list[WorkerResult]) -> BenchResult:
    records = sorted(
        (record for part in parts for record in part.records), key=lambda r: (r.phase != "measured", r.request_id)
    )
    reasons = [part.stopped_by for part in parts if part.stopped_by != "requests"]
    stopped_by = reasons[0] if reasons else "requests"
    if stopped_by == "time_cap" and config.num_prompts is not None:
        # the cap fell while nothing was left to do: the run ended by itself
        done = sum(record.phase == "measured" and record.status != CUT_OFF for record in records)
        stopped_by = "requests" if done == config.num_prompts else stopped_by
    facts = ClientFacts(
        client_name=CLIENT_NAME,
        client_version=__version__,
        started_at=started_at,
        model=prepared.model,
        endpoint=config.endpoint,
        users=config.users,
        request_rate=config.request_rate,
        max_tokens=config.max_tokens,
        planned=config.num_prompts,
        stopped_by=stopped_by,
        processes=len(parts),
        cpu_share=max((p.cpu_share for p in parts if p.cpu_share is not None), default=None),
        loop_lag_p99_ms=max((p.loop_lag_p99_ms for p in parts if p.loop_lag_p99_ms is not None), default=None),
        reads=sum(part.reads for part in parts),
        events=sum(part.events for part in parts),
        notes=list(dict.fromkeys([*prepared.notes, *(note for part in parts for note in part.notes)])),
    )
    return BenchResult(records, facts)


@contextlib.contextmanager
def _progress(config: BenchConfig, counts: Callable[[], Counts], on_progress: OnProgress | None) -> Iterator[None]:
    """Call ``on_progress`` when the window begins, then once a second, and once at the end."""
    if on_progress is None:
        yield
        return
    loop, begun, rate = asyncio.get_running_loop(), monotonic(), Rate()
    handle: asyncio.TimerHandle | None = None

    def show() -> None:
        now, elapsed = counts(), monotonic() - begun
        left = estimate(done=now.done, planned=config.num_prompts, elapsed_s=elapsed, max_seconds=config.max_seconds)
        on_progress(ProgressNow(now.done, config.num_prompts, rate.add(now.tokens), now.errors, elapsed, left))

    def tick() -> None:
        nonlocal handle
        show()
        handle = loop.call_later(PROGRESS_EVERY_S, tick)

    rate.add(0)
    handle = loop.call_later(0, tick)  # the first line tells a caller that warm-up is over and the window begins
    try:
        yield
    finally:
        handle.cancel()
        show()


@contextlib.contextmanager
def _interrupts(loop: asyncio.AbstractEventLoop, stop: Callable[[str], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``stop("interrupt")``; only where signals can be caught, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    for one in signals:
        loop.add_signal_handler(one, stop, "interrupt")
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A full collection stops the clock reader for tens of ms; the hot path makes no reference cycles."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    try:
        import uvloop

        loop = uvloop.new_event_loop()
    except ImportError:  # Windows
        loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _allow_files(streams: int) -> None:
    """Raise the soft limit of open files where many streams need it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * streams + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
