"""The server's own metrics around and during a cell, and its GPUs where there are any."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchgate.errors import BenchgateError
from benchgate.meanwhile import meanwhile
from benchgate.records import GpuSample, ServerMetrics, ServerMetricsSnapshot
from benchgate.steps.context import now

Fetch = Callable[[], tuple[int, bytes]]
Parse = Callable[[str, str], ServerMetricsSnapshot]
# An aborted request may hold the server for one more step of its prompt; a server that is still busy after this is
# measured as it is, and its counters will tell.
_SETTLE_S = 60.0
_MAX_SAMPLES = 2000  # an hour at the usual pace; a longer cell keeps its first hour


class MetricsWatch:
    """A snapshot before, one after, samples between. A server without metrics gives none, quietly."""

    def __init__(
        self,
        fetch: Fetch,
        parse: Parse,
        *,
        every_s: float = 2.0,
        gpu: Callable[[], list[GpuSample]] | None = None,
    ) -> None:
        self._fetch, self._parse, self._every_s, self._gpu = fetch, parse, every_s, gpu
        self._before: ServerMetricsSnapshot | None = None
        self._after: ServerMetricsSnapshot | None = None
        self._samples: list[ServerMetricsSnapshot] = []
        self.gpu: list[GpuSample] = []

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for as long as the ``with`` block lasts; one that is broken off has no snapshot after it."""
        self._before = self._idle_snapshot()
        with meanwhile(self._sample, every_s=self._every_s, name="server-metrics", patience_s=30):
            yield
        self._after = self._idle_snapshot()

    @property
    def result(self) -> ServerMetrics | None:
        """What was seen; None when the server has no metrics page."""
        if self._before is None and self._after is None and not self._samples:
            return None
        return ServerMetrics(before=self._before, after=self._after, samples=self._samples)

    def _sample(self) -> None:
        snapshot = self._snapshot()
        if snapshot is not None and len(self._samples) < _MAX_SAMPLES:
            self._samples.append(snapshot)
        if self._gpu is not None and len(self.gpu) < _MAX_SAMPLES:
            try:
                self.gpu += self._gpu()
            except (BenchgateError, OSError):
                self._gpu = None  # it will not answer the next time either

    def _idle_snapshot(self) -> ServerMetricsSnapshot | None:
        """A snapshot of a server that has nothing left to do: what was cut off before belongs to what came before."""
        deadline = time.monotonic() + _SETTLE_S
        while True:
            snapshot = self._snapshot()
            if snapshot is None or not (snapshot.running or snapshot.waiting) or time.monotonic() > deadline:
                return snapshot
            time.sleep(0.2)

    def _snapshot(self) -> ServerMetricsSnapshot | None:
        try:
            status, body = self._fetch()
        except (BenchgateError, OSError):
            return None
        return self._parse(body.decode("utf-8", "replace"), now()) if status == 200 else None
