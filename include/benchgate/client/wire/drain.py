"""Parsing after reading, for connections whose stamps are our own: every ready socket is read and stamped first.

libuv polls all ready sockets, then runs what was scheduled with ``call_soon``. The drain runs there for a short time
only, so that a burst of parsing delays no stamp by more than that. The time grows with the queue: a client that cannot
keep up must not hoard unread answers (its lag then shows, and the cell is ``client_bound``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic

from benchgate.client.wire.exchange import Exchange

BUDGET_S = 0.0002  # well below the 1 ms that is promised for TTFT at 1024 streams
QUIET_S = 30e-6  # no read for so long: the loop was waiting, so hardly anybody else waits for it now
QUEUE_A_BUDGET = 64  # exchanges in the queue that add another budget


class Drain:
    """Queue of exchanges with unparsed reads; one a process."""

    __slots__ = ("_last_read_at", "_loop", "_queue", "_scheduled", "own_stamps")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: deque[Exchange] = deque()
        self._scheduled = False
        self._last_read_at = 0.0
        self.own_stamps = 0  # reads that came this way: their time is the one at which we were told of them

    def take(self, exchange: Exchange, now: float) -> None:
        """An exchange that is not in the queue has a new read: parse it at once when nothing else is going on."""
        quiet = now - self._last_read_at > QUIET_S
        self._last_read_at = now
        if quiet and not self._queue:
            exchange.work()
            return
        exchange.queued = True
        self._queue.append(exchange)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._run)

    def finish(self, exchange: Exchange) -> None:
        """Parse everything that one exchange still has (its connection has ended)."""
        while exchange.reads:
            exchange.work()

    def _run(self) -> None:
        queue = self._queue
        limit = monotonic() + BUDGET_S * (1 + len(queue) / QUEUE_A_BUDGET)
        while queue:
            exchange = queue.popleft()
            exchange.queued = False
            reads = exchange.reads
            while reads:
                exchange.work()
                if monotonic() > limit:
                    if reads:
                        exchange.queued = True
                        queue.append(exchange)
                    if queue:
                        self._loop.call_soon(self._run)
                        return
                    break
        self._scheduled = False
