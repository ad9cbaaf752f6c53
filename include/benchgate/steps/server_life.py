"""A server that ends while a cell is measured: its load generator ends soon after it, and the cell says how it ended.

Only the host knows. A server that does not answer may be busy, and a Docker Engine that does not answer is restarting:
neither is taken for the end of a server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from benchgate import secrets
from benchgate.engines import get_engine
from benchgate.engines.failures import exit_in_words, failure_with_exit
from benchgate.errors import BenchgateError, HostError, MeasureFailed
from benchgate.hosts.base import OUTAGE_S, Host, ServerHandle
from benchgate.meanwhile import meanwhile
from benchgate.records import ExitInfo
from benchgate.steps.context import CampaignRun
from benchgate.steps.launching import launch_record

_LOOK_EVERY_S = 3.0
_ASK_AGAIN_S = 1.0
_LONGEST_LINE = 300  # characters of the log's line of the cause


@contextmanager
def outlived_by_server(
    run: CampaignRun,
    launch: str,
    host: Host,
    handle: ServerHandle,
    *,
    keep: Callable[[], None],
) -> Iterator[None]:
    """Run the load generator inside the ``with`` block: it is asked to finish once the server has ended.

    Args:
        run: the campaign run.
        launch: key of the server's launch, whose record says from then on how the server ended.
        host: of the server.
        handle: of the server.
        keep: called before the error, for what was measured until then.

    Raises:
        MeasureFailed: the server ended before the block did; it says how, and what the log says of the cause.
        HostError: the host does not say whether the server still runs, for longer than a restart takes.
    """
    try:
        with meanwhile(lambda: _end_client_of_ended(host, handle), every_s=_LOOK_EVERY_S, name="server-life"):
            yield
    except (MeasureFailed, HostError) as error:  # often only what follows from the end of the server
        ended = None
        with suppress(HostError):
            ended = end_of(host, handle, patience_s=0)
        if ended is None:
            raise
        keep()
        raise _server_ended(run, launch, host, handle, ended) from error
    ended = end_of(host, handle)
    if ended is not None:
        keep()
        raise _server_ended(run, launch, host, handle, ended)


def end_of(host: Host, handle: ServerHandle, *, patience_s: float = OUTAGE_S) -> ExitInfo | None:
    """How a server ended; None while it runs.

    Raises:
        HostError: the host has not answered for ``patience_s`` seconds.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            status = host.status(handle)
        except HostError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_ASK_AGAIN_S)
        else:
            return None if status.running else status.exit


def record_end(run: CampaignRun, launch: str, host: Host, handle: ServerHandle, ended: ExitInfo) -> str:
    """Put how a server that was ready ended into its launch's record.

    Returns:
        Kind, cause, exit and log line: ``host_oom: the host ran out of .. (exit code 137, OOMKilled)``.
    """
    record = launch_record(run, launch)
    if record.stopped_at is not None:
        return "it was stopped, because its run was ended"
    engine = get_engine(record.engine)
    try:
        failure = engine.failure(engine.parse_log(host.log_lines(handle)), ended)
    except HostError:  # removed by somebody, and its log with it
        failure = failure_with_exit(None, ended)
    run.update_launch(launch, exit=ended, failure=failure)
    how, said = exit_in_words(ended), failure.evidence
    words = f"{failure.kind.value}: {failure.reason}" + (f" ({how})" if how not in failure.reason else "")
    if said is not None and said.line is not None:
        words += f"; log line {said.line}: {said.text[:_LONGEST_LINE]}"
    return secrets.mask(words)


def _server_ended(run: CampaignRun, launch: str, host: Host, handle: ServerHandle, ended: ExitInfo) -> MeasureFailed:
    return MeasureFailed(f"the server ended while it was measured: {record_end(run, launch, host, handle, ended)}")


def _end_client_of_ended(host: Host, handle: ServerHandle) -> None:
    try:
        if not host.status(handle).running:
            host.stop_client(handle)
    except (BenchgateError, OSError):
        return  # that says nothing about the server; the next look may
