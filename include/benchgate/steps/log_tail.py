"""The last lines of a running server's log, kept among the run's artifacts for whoever watches the run.

The log itself lies on the host, which the Airflow UI may not reach; the whole of it is kept when the server stops. The
task that works with the server therefore writes the end of its log now and then: few lines, asked for from the end.
"""

from __future__ import annotations

import threading
from types import TracebackType

from benchgate import secrets
from benchgate.errors import BenchgateError
from benchgate.hosts.base import Host, ServerHandle
from benchgate.steps.context import CampaignRun, now

FILE = "server.log.tail.json"
LINES = 100
LONGEST_LINE = 1_000  # characters; a progress bar that rewrites itself is one long line
_EVERY_S = 5.0


class LogTail:
    """Context manager: keeps the end of a server's log while something else goes on, and once more at the end.

    Watching must not fail what is watched: a host that does not answer is asked again later.
    """

    def __init__(
        self, run: CampaignRun, launch: str, host: Host, handle: ServerHandle, *, every_s: float = _EVERY_S
    ) -> None:
        self._run, self._launch, self._host, self._handle, self._every_s = run, launch, host, handle, every_s
        self._kept: list[str] | None = None
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="server-log-tail", daemon=True)

    def __enter__(self) -> LogTail:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join(timeout=10)

    def _watch(self) -> None:
        while True:
            over = self._done.is_set()
            self._look()
            if over:
                return
            self._done.wait(self._every_s)

    def _look(self) -> None:
        try:
            lines = [shown(line) for line in self._host.log_tail(self._handle, LINES)]
            if lines != self._kept:
                store = self._run.store
                store.write_json(store.launch_path(self._launch, FILE), {"at": now(), "lines": lines})
                self._kept = lines
        except (BenchgateError, OSError):
            return


def shown(line: bytes) -> str:
    """One line as it is kept: masked, what a progress bar last wrote into it, at most :data:`LONGEST_LINE` long."""
    text = secrets.mask(line.decode("utf-8", "replace").rstrip("\r\n"))
    last = text.rsplit("\r", 1)[-1]
    return last if len(last) <= LONGEST_LINE else f"{last[:LONGEST_LINE]} …"
