"""The last lines of a running server's log, kept among the run's artifacts for whoever watches the run.

The log itself lies on the host, which the Airflow UI may not reach; the whole of it is kept when the server stops. The
task that works with the server therefore writes the end of its log now and then: few lines, asked for from the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchgate import secrets
from benchgate.errors import BenchgateError
from benchgate.hosts.base import Host, ServerHandle
from benchgate.meanwhile import meanwhile
from benchgate.steps.context import CampaignRun, now

FILE = "server.log.tail.json"
LINES = 100
LONGEST_LINE = 1_000  # characters; a progress bar that rewrites itself is one long line
_EVERY_S = 5.0


@contextmanager
def keeping_log_tail(
    run: CampaignRun, launch: str, host: Host, handle: ServerHandle, *, every_s: float = _EVERY_S
) -> Iterator[None]:
    """Keep the end of a server's log while something else goes on, and once more at the end.

    Watching must not fail what is watched: a host that does not answer is asked again later.
    """
    kept: list[str] | None = None

    def look() -> None:
        nonlocal kept
        try:
            lines = [shown(line) for line in host.log_tail(handle, LINES)]
            if lines != kept:
                run.store.write_json(run.store.launch_path(launch, FILE), {"at": now(), "lines": lines})
                kept = lines
        except (BenchgateError, OSError):
            return

    with meanwhile(look, every_s=every_s, name="server-log-tail", at_the_end=True):
        yield


def shown(line: bytes) -> str:
    """One line as it is kept: masked, what a progress bar last wrote into it, at most :data:`LONGEST_LINE` long."""
    text = secrets.mask(line.decode("utf-8", "replace").rstrip("\r\n"))
    last = text.rsplit("\r", 1)[-1]
    return last if len(last) <= LONGEST_LINE else f"{last[:LONGEST_LINE]} …"
