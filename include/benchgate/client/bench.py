"""``run_bench``: a checked configuration in, records and the client's own facts out. Needs nothing but the server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from time import monotonic

from benchgate import CLIENT_NAME, __version__
from benchgate.client.config import BenchConfig
from benchgate.client.missing_counts import fill_missing
from benchgate.client.prepare import Prepared, prepare
from benchgate.client.probe import harmony_notes
from benchgate.client.processes import ProcessGroup, process_count
from benchgate.client.progress import ProgressNow, Rate, estimate
from benchgate.client.runtime import allow_files, event_loop, interrupts, no_garbage_collection
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
    """Everything that was measured. ``metrics.summary.summarise`` makes a ``CellSummary`` of it."""

    records: list[RequestRecord]  # warm-up and probes included, told apart by ``phase``
    facts: ClientFacts


def run_bench(config: BenchConfig, *, on_progress: OnProgress | None = None) -> BenchResult:
    """Measure one cell.

    SIGINT and SIGTERM end the run and keep what was measured (``stopped_by: interrupt``).

    Raises:
        OptionError: a configuration that cannot work.
        MeasureFailed: the server cannot be reached at all, or a client process died.
        KeyboardInterrupt: interrupted before anything was measured.
    """
    config.check()
    register(config.api_key)
    target = parse_target(config.base_url, ca_file=config.ca_file)
    allow_files(config.users)
    with event_loop(tls=target.tls is not None) as loop:
        return loop.run_until_complete(_run(config, target, on_progress))


async def _run(config: BenchConfig, target: Target, on_progress: OnProgress | None) -> BenchResult:
    loop = asyncio.get_running_loop()
    drain = Drain(loop)
    pool = Pool(target, drain, loop)
    this_task = asyncio.current_task()
    assert this_task is not None
    try:
        with interrupts(loop, lambda _: this_task.cancel()):
            prepared = await prepare(config, pool, drain)
            await pool.close()  # the load opens its own connections; idle ones would hold a server's threads
        started_at, parts = await _load(config, target, prepared, on_progress)
        records = [record for part in parts for record in part.records]
        texts = {key: text for part in parts for key, text in part.texts.items()}
        prepared.notes += await _until_interrupt(fill_missing(records, texts, prepared.counter))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    finally:
        await pool.close()
    return _result(config, prepared, started_at, parts)


async def _until_interrupt(counting: Coroutine[None, None, list[str]]) -> list[str]:
    """An interrupt while tokens are counted after the window ends the counting, and keeps what was measured."""
    task = asyncio.ensure_future(counting)
    with interrupts(asyncio.get_running_loop(), lambda _: task.cancel()):
        try:
            return await task
        except asyncio.CancelledError:
            return ["an interrupt came before the tokens of all answers without usage were counted"]


async def _load(
    config: BenchConfig, target: Target, prepared: Prepared, on_progress: OnProgress | None
) -> tuple[str, list[WorkerResult]]:
    """Warm up and measure, in this process or in several."""
    count = process_count(config)
    keep_text = prepared.counter.source != "approximation"
    load: Worker | ProcessGroup
    if count == 1:
        load = Worker(config, target, prepared.model, prepared.source, keep_text=keep_text)
    else:
        load = ProcessGroup(config, prepared, count, tls=target.tls is not None, keep_text=keep_text)
    with interrupts(asyncio.get_running_loop(), load.end):
        try:
            await load.warm_up()
            started_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
            with _progress(config, load.counts, on_progress), no_garbage_collection():
                measured = await load.measure()
        finally:
            await load.close()
    return started_at, measured if isinstance(measured, list) else [measured]


def _result(config: BenchConfig, prepared: Prepared, started_at: str, parts: list[WorkerResult]) -> BenchResult:
    order = {"measured": 0, "warmup": 1, "probe": 2}
    records = [*prepared.records, *(record for part in parts for record in part.records)]
    records.sort(key=lambda record: (order[record.phase], record.request_id))
    notes = [*prepared.notes, *(note for part in parts for note in part.notes)]
    own, kernel = sum(part.own_stamps for part in parts), sum(part.kernel_stamps for part in parts)
    if own and kernel:
        notes.append(
            f"{own} of {own + kernel} reads have the client's own time: the kernel's was missing or not credible"
        )
    notes += harmony_notes(records, ignore_eos=config.ignore_eos)
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
        stopped_by=_stopped_by(config, parts, records),
        processes=len(parts),
        cpu_share=max((p.cpu_share for p in parts if p.cpu_share is not None), default=None),
        loop_lag_p99_ms=max((p.loop_lag_p99_ms for p in parts if p.loop_lag_p99_ms is not None), default=None),
        stamp_source=_stamp_source(parts),
        reads=sum(part.reads for part in parts),
        events=sum(part.events for part in parts),
        tokenize_refused=prepared.tokenize_refused,
        notes=list(dict.fromkeys(notes)),
    )
    return BenchResult(records, facts)


def _stamp_source(parts: list[WorkerResult]) -> str | None:
    """``kernel``: the kernel timed every read of an answer; ``user``: the client did; ``mixed``: some and some."""
    kernel, own = sum(part.kernel_stamps for part in parts), sum(part.own_stamps for part in parts)
    if not kernel and not own:
        return None
    return "mixed" if kernel and own else "kernel" if kernel else "user"


def _stopped_by(config: BenchConfig, parts: list[WorkerResult], records: list[RequestRecord]) -> str:
    reasons = [part.stopped_by for part in parts if part.stopped_by != "requests"]
    if not reasons:
        return "requests"
    done = sum(record.phase == "measured" and record.status != CUT_OFF for record in records)
    # a stop that came when every request had ended stopped nothing
    return "requests" if done == config.num_prompts else reasons[0]


@contextlib.contextmanager
def _progress(config: BenchConfig, counts: Callable[[], Counts], on_progress: OnProgress | None) -> Iterator[None]:
    """Call ``on_progress`` when the window begins, once a second, and once at the end."""
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
    tick()  # the first line says that the window begins: whoever reads along notes the server's log from here
    try:
        yield
    finally:
        if handle is not None:
            handle.cancel()
        show()
