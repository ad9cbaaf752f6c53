"""Open loop: requests arrive on a schedule that does not wait for answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from time import monotonic

from benchgate.client.loads.stop import Stop
from benchgate.request_record import RequestRecord

BURST = 8  # requests that arrive together in ``burst``; bursts come at rate / BURST, so the mean rate is kept
TIMER_S = 0.001  # libuv timers tick in ms: sleep until one tick before, then yield until the arrival is due

SendOne = Callable[[int, RequestRecord], Awaitable[None]]


def arrivals(shape: str, rate: float, *, seed: int, ramp_seconds: float = 0.0) -> Iterator[float]:
    """Endless arrival times in seconds after the start; the same for the same seed in every process.

    ``poisson``: independent exponential gaps with mean ``1/rate``. ``constant``: every ``1/rate`` s. ``burst``: groups
    of :data:`BURST` at one moment, every ``BURST/rate`` s. With a ramp the rate grows linearly from 0 to ``rate``: an
    arrival at ``t`` in unit-rate time u is moved to ``sqrt(2 u ramp / rate)`` while that is inside the ramp.
    """
    rng = random.Random(seed)
    expected = 0.0  # arrivals that a process of rate 1 would have had: a time in units of 1/rate
    ramp_arrivals = rate * ramp_seconds / 2
    index = 0
    while True:
        if shape == "poisson":
            expected += rng.expovariate(1.0)
        elif shape == "constant":
            expected = float(index)
        else:
            expected = float(index // BURST * BURST)
        index += 1
        if expected < ramp_arrivals:
            yield (2 * expected * ramp_seconds / rate) ** 0.5
        else:
            yield ramp_seconds + (expected - ramp_arrivals) / rate


async def open_loop(
    schedule: Iterator[tuple[int, float]], send_one: SendOne, stop: Stop, *, phase: str, started_at: float
) -> None:
    """Send each (index, offset) of ``schedule`` at ``started_at + offset``, and wait for the last answer."""
    running: set[asyncio.Task[None]] = set()
    for index, offset in schedule:
        due = started_at + offset
        await _until(due, stop)
        if stop.is_set:
            break
        record = RequestRecord(index, phase=phase, intended_at=due, queued_at=due)
        task = asyncio.ensure_future(send_one(index, record))
        running.add(task)
        task.add_done_callback(running.discard)
    while running:
        await asyncio.wait(running)


async def _until(due: float, stop: Stop) -> None:
    wait = due - monotonic() - TIMER_S
    if wait > 0:
        await stop.sleep(wait)
    while monotonic() < due and not stop.is_set:
        await asyncio.sleep(0)
