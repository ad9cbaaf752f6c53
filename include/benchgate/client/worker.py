"""One client process: its event loop, its share of the load, warm-up and measured window."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from benchgate.client.config import BenchConfig
from benchgate.client.datasets import PromptSource
from benchgate.client.datasets.synthetic import SyntheticSource
from benchgate.client.loads.closed_loop import closed_loop
from benchgate.client.loads.open_loop import arrivals, open_loop
from benchgate.client.loads.stop import ErrorRateLimit, Stop
from benchgate.client.sender import Sender
from benchgate.client.template import Prompt, body_template
from benchgate.client.watch import SELDOM_S, TICK_S, LagHistogram, LoopWatch
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.pool import Pool
from benchgate.client.wire.target import Target
from benchgate.request_record import CUT_OFF, OK, RequestRecord


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of the load a process sends: every ``of``-th user and request, from ``number`` on."""

    number: int = 0
    of: int = 1

    def take(self, count: int) -> range:
        """Its part of ``range(count)``."""
        return range(self.number, count, self.of)


@dataclass(slots=True)
class Counts:
    """How far a process is; cheap to send every second."""

    done: int = 0
    errors: int = 0
    tokens: int = 0  # completion tokens of finished requests, and token events of running ones


@dataclass(slots=True)
class WorkerResult:
    """What a process hands back."""

    records: list[RequestRecord] = field(default_factory=list)
    texts: dict[tuple[str, int], str] = field(default_factory=dict)
    stopped_by: str = "requests"
    cpu_share: float | None = None
    loop_lag_p99_ms: float | None = None
    kernel_stamps: int = 0
    own_stamps: int = 0
    reads: int = 0
    events: int = 0
    notes: list[str] = field(default_factory=list)


class Worker:
    """Sends one share of the load. ``warm_up`` first, then ``measure``; ``stop`` may be set from outside."""

    def __init__(
        self,
        config: BenchConfig,
        target: Target,
        model: str,
        source: PromptSource,
        *,
        share: Share | None = None,
        keep_text: bool = False,
        on_record: Callable[[RequestRecord], None] | None = None,
    ) -> None:
        self.config = config
        self.share = share or Share()
        self.source = source
        self.stop = Stop()
        self._warm_stop = Stop()
        self.result = WorkerResult()
        self._on_record = on_record
        self._counts = Counts()
        self._loop = asyncio.get_running_loop()
        self._drain = Drain(self._loop)
        self.pool = Pool(target, self._drain, self._loop)
        path = "/chat/completions" if config.endpoint == "chat" else "/completions"
        self.sender = Sender(
            self._loop,
            self.pool,
            self._drain,
            body_template(config, model),
            path=target.api_path + path,
            api_key=config.api_key,
            timeout_s=config.timeout_s,
            idle_timeout_s=config.idle_timeout_s,
            keep_text=keep_text,
        )
        self._breaker = ErrorRateLimit(config.stop_on_error_rate)
        self._cutter: asyncio.Task[None] | None = None

    @property
    def users(self) -> list[int]:
        """Numbers of its users; empty in an open loop."""
        return list(self.share.take(self.config.users or 0))

    def counts(self) -> Counts:
        """How far it is."""
        now = self._counts
        return Counts(now.done, now.errors, now.tokens + self.sender.running_events())

    def end(self, reason: str) -> None:
        """End the run, and keep what was measured."""
        self.stop.set(reason)

    async def warm_up(self) -> None:
        """Requests of the cell's own shape and concurrency, outside the window; corrects prompt lengths by them."""
        numbers = self.share.take(self.config.warmup_requests)
        self._start_cutter()
        await self.pool.open_ahead(min(len(self.users) or self.config.streams, max(len(numbers), len(self.users), 1)))
        if not numbers or self.stop.is_set:
            return
        observed: list[int] = []
        answered = 0

        async def send_one(index: int, record: RequestRecord) -> None:
            nonlocal answered
            await self._send(self.source.warmup_prompt(index), record)
            answered += record.status == OK
            if record.status == OK and record.prompt_tokens is not None:
                observed.append(record.prompt_tokens)

        deadline = None
        if self.config.max_seconds is not None:
            deadline = self._loop.call_later(self.config.max_seconds, self._end_warm_up)
        if self.config.users is not None:
            await closed_loop(self.users, iter(numbers), send_one, self._warm_stop, phase="warmup")
        else:
            schedule = zip(numbers, arrivals("constant", self.config.request_rate or 1.0, seed=0), strict=False)
            await open_loop(schedule, send_one, self._warm_stop, phase="warmup", started_at=monotonic())
        if deadline is not None:
            deadline.cancel()
        self.pool.halted = self.stop.is_set
        if answered and len(observed) == answered:
            self.sender.keep_text = False  # usage comes with every answer: nothing will have to be counted
        if isinstance(self.source, SyntheticSource):
            self.source.correct(observed)

    async def measure(self, start_at: float | None = None) -> WorkerResult:
        """The measured window: returns when all requests have ended, or soon after somebody set ``stop``."""
        config, stop = self.config, self.stop
        self._start_cutter()
        self._counts = Counts()
        await self.pool.open_ahead(len(self.users) or min(config.streams, 8))
        started = monotonic() if start_at is None else start_at
        await stop.sleep(started - monotonic())
        deadline = None
        if config.max_seconds is not None:
            deadline = self._loop.call_later(
                max(0.0, started + config.max_seconds - monotonic()), self.stop.set, "time_cap"
            )
        receiver = self.pool.receiver
        watch = LoopWatch(self._loop, every_s=TICK_S if receiver is None else SELDOM_S)
        watch.start()
        reads, events = self.sender.reads, self.sender.events
        own, kernel = self._stamps()
        if receiver is not None:
            receiver.lag = LagHistogram()
        if config.users is not None:
            indexes: Iterator[int] = (
                iter(self.share.take(config.num_prompts))
                if config.num_prompts is not None
                else itertools.count(self.share.number, self.share.of)
            )
            await closed_loop(
                self.users,
                indexes,
                self._measured,
                stop,
                phase="measured",
                ramp_seconds=config.ramp_seconds,
                total_users=config.users,
            )
        else:
            await open_loop(self._schedule(), self._measured, stop, phase="measured", started_at=started)
        watch.stop()
        if deadline is not None:
            deadline.cancel()
        result = self.result
        result.cpu_share, result.loop_lag_p99_ms = watch.cpu_share, self._lag_p99_ms(watch)
        result.own_stamps, result.kernel_stamps = (
            now - then for now, then in zip(self._stamps(), (own, kernel), strict=True)
        )
        result.reads, result.events = self.sender.reads - reads, self.sender.events - events
        result.stopped_by = stop.reason or "requests"
        result.texts = self.sender.texts
        return result

    async def close(self) -> None:
        """Close connections and timers."""
        if self._cutter is not None:
            self._cutter.cancel()
        self.sender.close()
        await self.pool.close()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _stamps(self) -> tuple[int, int]:
        """Reads so far with a time of our own, and with the kernel's."""
        receiver = self.pool.receiver
        if receiver is None:
            return self._drain.own_stamps, 0
        return self._drain.own_stamps + receiver.own_stamps, receiver.kernel_stamps

    def _lag_p99_ms(self, watch: LoopWatch) -> float | None:
        """How late the loop woke up: by its own timer and, where the kernel says when bytes came, at every read."""
        lags = [watch.lag_p99_ms]
        if self.pool.receiver is not None and (waited := self.pool.receiver.lag.quantile_s(0.99)) is not None:
            lags.append(waited * 1000)
        return max((lag for lag in lags if lag is not None), default=None)

    def _schedule(self) -> Iterator[tuple[int, float]]:
        config = self.config
        assert config.request_rate is not None
        for index, offset in enumerate(self._times(config.seed, config.request_rate, config.ramp_seconds)):
            if config.num_prompts is not None and index >= config.num_prompts:
                return
            if config.max_seconds is not None and offset > config.max_seconds:
                # nothing arrives after the cap; the cap itself is what ends the run
                yield index, config.max_seconds + 3600.0
                return
            if index % self.share.of == self.share.number:
                yield index, offset

    def _times(self, seed: int, rate: float, ramp_seconds: float = 0.0) -> Iterator[float]:
        return arrivals(self.config.arrivals, rate, seed=seed, ramp_seconds=ramp_seconds)

    async def _measured(self, index: int, record: RequestRecord) -> None:
        await self._send(self.source.prompt(index), record)
        counts = self._counts
        counts.tokens += record.completion_tokens if record.completion_tokens is not None else record.events
        if record.status == CUT_OFF:
            return
        counts.done += 1
        counts.errors += record.is_error
        if self._breaker.note(is_error=record.is_error):
            self.stop.set("error_rate")

    async def _send(self, prompt: Prompt, record: RequestRecord) -> None:
        record.max_tokens = self.config.max_tokens
        record.process = self.share.number
        record.requested_prompt_tokens = prompt.tokens
        await self.sender.send(prompt, record)
        self.result.records.append(record)
        if self._on_record is not None:
            self._on_record(record)

    def _end_warm_up(self) -> None:
        """It took as long as the whole window may: measure with what is warm by now."""
        self.result.notes.append("the warm-up was ended by the time cap")
        self._warm_stop.set("time_cap")
        self.sender.cut_off()

    def _start_cutter(self) -> None:
        if self._cutter is None:
            self._cutter = asyncio.ensure_future(self._cut_when_stopped())

    async def _cut_when_stopped(self) -> None:
        await self.stop.wait()
        self._warm_stop.set(self.stop.reason or "stopped")
        self.sender.cut_off()
