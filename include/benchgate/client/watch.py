"""The client watches itself: how late its event loop wakes up, and how much of its core it uses."""

from __future__ import annotations

import asyncio
import math
import time
from array import array
from time import monotonic

TICK_S = 0.02
SELDOM_S = 0.5  # where the lag is read off the kernel's stamps, ticks only show that the loop stood still in a silence
STEPS_AN_OCTAVE = 8  # of the histogram: 9 % wide
FINEST_S = 1e-6


class LagHistogram:
    """How late something was, as counts in steps of 9 %: a run of hours stays small."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def note(self, lag_s: float, count: int = 1) -> None:
        """``count`` times so late."""
        step = math.ceil(STEPS_AN_OCTAVE * math.log2(lag_s / FINEST_S)) if lag_s > FINEST_S else 0
        self.counts[step] = self.counts.get(step, 0) + count

    def quantile_s(self, share: float) -> float | None:
        """``share`` of all were at most so late; the upper end of its step. None without any."""
        left = share * sum(self.counts.values())
        for step in sorted(self.counts):
            left -= self.counts[step]
            if left <= 0:
                return float(FINEST_S * 2 ** (step / STEPS_AN_OCTAVE))
        return None


class LoopWatch:
    """Samples loop lag every ``every_s`` and CPU use between ``start`` and ``stop``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, *, every_s: float = TICK_S) -> None:
        self._loop = loop
        self._every_s = every_s
        self._lags = array("f")
        self._due = 0.0
        self._handle: asyncio.TimerHandle | None = None
        self._wall = self._cpu = 0.0
        self.cpu_share: float | None = None

    def start(self) -> None:
        """Begin a window."""
        self._lags = array("f")
        self._wall, self._cpu = monotonic(), time.process_time()
        self._due = monotonic() + self._every_s
        self._handle = self._loop.call_later(self._every_s, self._tick)

    def _tick(self) -> None:
        now = monotonic()
        self._lags.append(max(0.0, now - self._due))
        self._due = now + self._every_s
        self._handle = self._loop.call_later(self._every_s, self._tick)

    def stop(self) -> None:
        """End the window."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        wall = monotonic() - self._wall
        # a share of a few milliseconds says nothing
        self.cpu_share = (time.process_time() - self._cpu) / wall if wall > TICK_S else None

    @property
    def lag_p99_ms(self) -> float | None:
        """99 % of the wake-ups were at most this late; timers tick in ms, so 1 ms is the floor of what it can see."""
        if len(self._lags) < 10:
            return None
        ordered = sorted(self._lags)
        return 1000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
