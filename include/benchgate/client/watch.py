"""The client watches itself: how late its event loop wakes up, and how much of its core it uses."""

from __future__ import annotations

import asyncio
import time
from array import array
from time import monotonic

TICK_S = 0.02


class LoopWatch:
    """Samples loop lag every :data:`TICK_S` and CPU use between ``start`` and ``stop``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lags = array("f")
        self._due = 0.0
        self._handle: asyncio.TimerHandle | None = None
        self._wall = self._cpu = 0.0
        self.cpu_share: float | None = None

    def start(self) -> None:
        """Begin a window."""
        self._lags = array("f")
        self._wall, self._cpu = monotonic(), time.process_time()
        self._due = monotonic() + TICK_S
        self._handle = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        now = monotonic()
        self._lags.append(max(0.0, now - self._due))
        self._due = now + TICK_S
        self._handle = self._loop.call_later(TICK_S, self._tick)

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
