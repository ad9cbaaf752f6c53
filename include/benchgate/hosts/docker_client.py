"""The load generator as a container beside the server: started, watched, its progress read, its results fetched.

Everything goes over the Docker API in short calls: progress by reading the log again from the last line, results as
a tar stream. Nothing is shared with the worker's disk, and nothing that a container wrote is unpickled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchgate import names, secrets
from benchgate.errors import HostError, LeaseHeld, MeasureFailed
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import OUTAGE_S, Mount, ServerHandle
from benchgate.hosts.docker_archive import extract
from benchgate.hosts.docker_create import CLIENT_OUTPUT, client_body
from benchgate.hosts.docker_engine import DockerEngine

POLL_S = 1.0
STOP_GRACE_S = 15  # for the load generator to write what it measured

_running: dict[str, str] = {}  # name of a container -> id of the client that this process runs under it


def client_container_name(lease: str) -> str:
    """Name of the load generator's container beside the server that holds ``lease``."""
    return f"{lease}-client"


class LogFollower:
    """New lines of a container's log, by asking again: survives an engine restart and never blocks."""

    def __init__(self, engine: DockerEngine, container: str) -> None:
        self._engine = engine
        self._container = container
        self._last = ""  # time stamp of the last line seen, as the engine wrote it; its format sorts as text

    def new_lines(self) -> list[str]:
        """Lines since the last call, stdout and stderr in the order of their time stamps."""
        since = int(time_of(self._last)) if self._last else 0
        with self._engine.doing("cannot read the log of the load generator"):
            raw = self._engine.api.logs(
                self._container, stdout=True, stderr=True, timestamps=True, since=since or None, follow=False
            )
        lines, self._last = split_stamped(bytes(raw), self._last)
        return lines


def time_of(stamp: str) -> float:
    """Seconds since the epoch of the engine's RFC 3339 time stamp with nanoseconds."""
    from datetime import datetime, timezone

    whole, _, _ = stamp.partition(".")
    return datetime.strptime(whole.rstrip("Z"), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()


def split_stamped(raw: bytes, last: str) -> tuple[list[str], str]:
    """The lines of a time-stamped log that are newer than ``last``, and the newest stamp.

    Carriage returns of a progress bar count as line ends; of several states in one line only the last is kept.
    """
    lines: list[str] = []
    newest = last
    for line in raw.decode(errors="replace").split("\n"):
        stamp, _, text = line.partition(" ")
        if not stamp.endswith("Z") or stamp <= last:
            continue
        newest = max(newest, stamp)
        shown = text.rstrip("\r").rpartition("\r")[2]
        lines.append(secrets.mask(shown))
    return lines, newest


def run_client(
    engine: DockerEngine,
    image: str,
    handle: ServerHandle,
    args: Sequence[str],
    output: Path,
    *,
    on_line: Callable[[str], None],
    timeout_s: float,
    mounts: Sequence[Mount] = (),
) -> int:
    """Run the load generator in the server's network namespace and bring its files to ``output``.

    Returns its exit code. At the time limit it is asked to stop, and what it measured is fetched all the same. The
    container is gone when this returns or raises; an interrupted caller kills it at once.

    Raises:
        MeasureFailed: the server is gone, the client ran past ``timeout_s``, or its files cannot be accepted.
        HostError: the engine did not answer for longer than a restart takes.
    """
    server = containers.inspect(engine, handle.id)
    if server is None or not server["State"]["Running"]:
        raise MeasureFailed(f"host {engine.host}: container {handle.name} does not run any more: nothing to measure")
    labels = {**server["Config"]["Labels"], names.LABEL_ROLE: "client", names.LABEL_CREATED: containers.now_utc()}
    body = client_body(image, args, server_id=handle.id, labels=labels, mounts=mounts)
    name = client_container_name(handle.name)
    container = _running[name] = _create(engine, name, body, labels[names.LABEL_RUN])
    try:
        containers.start(engine, name, container)
        code, in_time = _watch(engine, container, on_line, timeout_s)
        fetch_output(engine, container, output)
    finally:
        containers.remove(engine, container)
        _running.pop(name, None)
    if not in_time:
        raise MeasureFailed(
            f"host {engine.host}: the load generator ran longer than {timeout_s:g} s and was stopped",
            remedy="its own time cap (max_seconds) should end it earlier; is the host overloaded?",
        )
    return code


def stop_own(engine: DockerEngine, lease: str) -> None:
    """Ask the client that this process runs beside the server that holds ``lease`` to finish; nobody else's."""
    container = _running.get(client_container_name(lease))
    if container is not None:
        _ask_to_stop(engine, container)


def kill_own(engine: DockerEngine, lease: str) -> None:
    """Kill the client that this process runs beside the server that holds ``lease``, at once; nobody else's."""
    container = _running.get(client_container_name(lease))
    if container is not None:
        containers.remove(engine, container)


def _create(engine: DockerEngine, name: str, body: dict[str, object], run: str) -> str:
    """Create the client; one that a killed worker of the same run left behind is replaced."""
    try:
        return containers.create(engine, name, body)
    except LeaseHeld:
        left = containers.inspect(engine, name)
        left_labels = ((left or {}).get("Config") or {}).get("Labels") or {}
        if left is not None and not (
            left_labels.get(names.LABEL_OWNER) == names.OWNER and left_labels.get(names.LABEL_RUN) == run
        ):
            raise
        containers.remove(engine, name)
        return containers.create(engine, name, body)


def _watch(engine: DockerEngine, container: str, on_line: Callable[[str], None], timeout_s: float) -> tuple[int, bool]:
    """Pass progress on until the client ends: its exit code, and whether it ended by itself before the limit."""
    follower = LogFollower(engine, container)
    deadline = time.monotonic() + timeout_s
    heard_at = time.monotonic()
    asked_to_stop = False
    while True:
        try:
            state = containers.inspect(engine, container)
            for line in follower.new_lines() if state is not None else ():
                on_line(line)
            heard_at = time.monotonic()
        except HostError as error:
            if time.monotonic() - heard_at > OUTAGE_S:
                raise
            on_line(f"waiting for the Docker Engine: {error.message}")
            time.sleep(POLL_S * 3)
            continue
        if state is None:
            raise MeasureFailed(f"host {engine.host}: the load generator's container was removed from outside")
        if not state["State"]["Running"] and state["State"]["Status"] != "created":
            if state["State"].get("OOMKilled"):
                on_line("the load generator ran out of memory and was killed by the kernel")
            return int(state["State"]["ExitCode"]), not asked_to_stop
        if not asked_to_stop and time.monotonic() > deadline:
            on_line(f"time limit of {timeout_s:g} s: asking the load generator to stop")
            asked_to_stop = True
            _ask_to_stop(engine, container)
            continue
        time.sleep(POLL_S)


def _ask_to_stop(engine: DockerEngine, container: str) -> None:
    api = engine.api_with_timeout(STOP_GRACE_S + 30)
    try:
        with engine.doing("cannot stop the load generator"):
            api.stop(container, timeout=STOP_GRACE_S)
    finally:
        api.close()


def fetch_output(engine: DockerEngine, container: str, output: Path) -> list[Path]:
    """Copy the result files out of the (stopped) client container."""
    output.mkdir(parents=True, exist_ok=True)
    with engine.doing("cannot fetch the results of the load generator"):
        chunks, _ = engine.api.get_archive(container, CLIENT_OUTPUT)
        try:
            return extract(chunks, output)
        except ValueError as error:
            raise MeasureFailed(f"host {engine.host}: results of the load generator refused: {error}") from error
