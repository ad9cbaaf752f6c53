"""What ends a run before its last request: time cap, error rate, interrupt."""

from __future__ import annotations

import asyncio
import contextlib

MIN_FOR_RATE = 10  # finished requests before an error rate means anything


class Stop:
    """Set once, with a reason. Whoever waits, waits here, so that a stop wakes everybody."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reason: str | None = None

    def set(self, reason: str) -> None:
        """Stop for ``reason``; the first one counts."""
        if self.reason is None:
            self.reason = reason
            self._event.set()

    @property
    def is_set(self) -> bool:
        """Has somebody stopped the run?"""
        return self.reason is not None

    async def sleep(self, seconds: float) -> None:
        """Sleep, or return at once when the run is stopped."""
        if seconds > 0 and not self.is_set:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._event.wait(), seconds)

    async def wait(self) -> None:
        """Until somebody stops the run."""
        await self._event.wait()


class ErrorRateLimit:
    """Circuit breaker: fires when the share of errors among finished requests goes above ``limit``."""

    def __init__(self, limit: float | None) -> None:
        self._limit = limit
        self.finished = 0
        self.errors = 0

    def note(self, *, is_error: bool) -> bool:
        """Count one finished request; True when the limit is broken."""
        self.finished += 1
        self.errors += is_error
        return self._limit is not None and self.finished >= MIN_FOR_RATE and self.errors / self.finished > self._limit
