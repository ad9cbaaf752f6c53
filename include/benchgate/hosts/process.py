"""The process host: servers as processes of this machine, without Docker.

Starting is :mod:`benchgate.hosts.process_start`, ending :mod:`benchgate.hosts.process_end`; who holds a server while no
task runs is :mod:`benchgate.hosts.supervisor`; what is kept on disk, :mod:`benchgate.hosts.process_state`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import requests

from benchgate import secrets, settings
from benchgate.errors import HostError
from benchgate.hosts import gpu_memory, process_client, process_end, process_facts, process_preflight, process_start
from benchgate.hosts.base import Mount, PreflightFinding, ServerHandle, ServerSpec, ServerStatus, never
from benchgate.hosts.bounded import read_answer
from benchgate.hosts.process_state import LaunchState, PlacementFolder, placements
from benchgate.hosts.process_table import alive
from benchgate.names import lease_name
from benchgate.records import ExitInfo, FailureKind, GpuSample, HostFacts
from benchgate.spec.hosts import HostSpec

PORT_FREE_S = 5.0
_NOTE_S = 2.0  # a supervisor writes how its server ended within milliseconds
_LINE_LIMIT = 1 << 16  # a line without an end must not fill the memory
_TAIL_LIMIT = 1 << 17  # bytes from the end that hold the last lines


class ProcessHost:
    """This machine. Implements :class:`benchgate.hosts.base.Host`."""

    def __init__(self, name: str, spec: HostSpec | None = None, *, state_dir: Path | None = None) -> None:
        if sys.platform != "linux":
            raise HostError(f"host {name}: a process host needs Linux", remedy="use a docker host on this machine")
        self.name = name
        self.spec = spec
        self.state_dir = state_dir or settings.state_dir()

    def facts(self) -> HostFacts:
        """CPU, memory, kernel and GPUs of this machine."""
        return process_facts.host_facts(self.name)

    def preflight(
        self, spec: ServerSpec, *, run_is_over: Callable[[str], bool], launch_is_over: Callable[[str], bool] = never
    ) -> list[PreflightFinding]:
        """See :meth:`benchgate.hosts.base.Host.preflight`.

        A task that is tried again is the only one at work on its launch: what its killed predecessor left goes.
        """
        folder = self._folder(spec.placement)
        removed = process_end.remove_stale(
            self.name,
            folder,
            run_is_over,
            replaces=lambda run, arm: run == spec.run and (arm == spec.arm or launch_is_over(arm)),
        )
        holder = folder.holder()
        free = holder is None and not folder.held()
        where = f"{self.name}/{spec.placement}"
        by = holder.holder() if holder else "a launch that is just starting"
        held = PreflightFinding(
            "leftovers",
            ok=free,
            message=f"{where} is free" if free else f"{where} is held by {by}",
            remedy=None if free else "wait for that run, or stop it",
            removed=removed,
            kind=FailureKind.LEASE_HELD,
        )
        return [held, *process_preflight.check(self.name, spec)]

    def remove_earlier(self, spec: ServerSpec) -> list[str]:
        """See :meth:`benchgate.hosts.base.Host.remove_earlier`."""
        folder = self._folder(spec.placement)
        return process_end.remove_stale(
            self.name, folder, never, replaces=lambda run, arm: (run, arm) == (spec.run, spec.arm)
        )

    def start(self, spec: ServerSpec) -> ServerHandle:
        """See :meth:`benchgate.hosts.base.Host.start`. With port 0 a free one is taken; ``{port}`` in argv is it."""
        return process_start.start(self.name, spec, self._folder(spec.placement))

    def status(self, handle: ServerHandle) -> ServerStatus:
        """See :meth:`benchgate.hosts.base.Host.status`."""
        state = self._state(handle)
        if state.ended_at is None and alive(state.supervisor) and alive(state.server):
            return ServerStatus(running=True, exit=ExitInfo())
        deadline = time.monotonic() + _NOTE_S
        while state.ended_at is None and alive(state.supervisor) and time.monotonic() < deadline:
            time.sleep(0.02)
            state = self._state(handle)
        return ServerStatus(running=False, exit=process_end.exit_info(self._state(handle)))

    def log_lines(self, handle: ServerHandle) -> Iterator[bytes]:
        """See :meth:`benchgate.hosts.base.Host.log_lines`. It stays readable for some launches after the stop."""
        path = self._folder(handle.placement).log_file(handle.id)
        try:
            log = path.open("rb")
        except FileNotFoundError:
            raise HostError(
                f"{self.name}/{handle.placement}: the log of launch {handle.id} is gone",
                remedy="later launches replaced it; the run's artifacts have a copy",
            ) from None
        with log:
            while line := log.readline(_LINE_LIMIT):
                yield line

    def log_tail(self, handle: ServerHandle, lines: int) -> list[bytes]:
        """See :meth:`benchgate.hosts.base.Host.log_tail`."""
        path = self._folder(handle.placement).log_file(handle.id)
        try:
            with path.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(0, end - _TAIL_LIMIT))
                found = log.read(_TAIL_LIMIT).splitlines(keepends=True)
        except FileNotFoundError:
            return []
        return found[1:][-lines:] if end > _TAIL_LIMIT else found[-lines:]  # the first one lacks its beginning

    def http_get(self, handle: ServerHandle, path: str, *, timeout_s: float = 10.0) -> tuple[int, bytes]:
        """See :meth:`benchgate.hosts.base.Host.http_get`."""
        return self._http("GET", handle, path, None, timeout_s)

    def http_post(self, handle: ServerHandle, path: str, body: bytes, *, timeout_s: float = 60.0) -> tuple[int, bytes]:
        """See :meth:`benchgate.hosts.base.Host.http_post`."""
        return self._http("POST", handle, path, body, timeout_s)

    def gpu_samples(self, handle: ServerHandle) -> list[GpuSample]:
        """The GPUs of the server's placement now; empty where it has none."""
        place = self.spec.placements.get(handle.placement) if self.spec else None
        return process_facts.gpu_samples(place.gpus) if place and place.gpus else []

    def run_client(
        self,
        handle: ServerHandle,
        args: list[str],
        output: Path,
        *,
        on_line: Callable[[str], None],
        timeout_s: float,
        mounts: Sequence[Mount] = (),
    ) -> int:
        """See :meth:`benchgate.hosts.base.Host.run_client`. ``mounts`` need nothing here: ARGS name their sources."""
        del mounts
        return process_client.run_client(
            args, output, mark=self._folder(handle.placement).mark, on_line=on_line, timeout_s=timeout_s
        )

    def stop_client(self, handle: ServerHandle) -> None:
        """See :meth:`benchgate.hosts.base.Host.stop_client`."""
        process_client.stop_own(self._folder(handle.placement).mark)

    def stop(self, handle: ServerHandle, *, grace_s: float = 10.0) -> ExitInfo:
        """See :meth:`benchgate.hosts.base.Host.stop`. Returns when the port is free and the lease is released."""
        folder, state = self._folder(handle.placement), self._state(handle)
        process_end.end(folder, state, grace_s)
        deadline = time.monotonic() + PORT_FREE_S
        while process_preflight.port_in_use(state.port) and folder.holder() is None:  # the next launch may have both
            if time.monotonic() > deadline:
                raise HostError(
                    f"{self.name}/{handle.placement}: port {state.port} is still taken after the server was stopped",
                    remedy=f"look at {process_preflight.port_holder(state.port) or 'who listens there (ss -ltnp)'}",
                )
            time.sleep(0.05)
        return process_end.exit_info(self._state(handle))

    def gpu_memory_returned(self, gpus: Sequence[str], *, timeout_s: float = 60.0) -> bool | None:
        """See :meth:`benchgate.hosts.base.Host.gpu_memory_returned`."""
        return gpu_memory.returned(process_facts.list_gpus, gpus, timeout_s=timeout_s)

    def reap(self, *, run_is_over: Callable[[str], bool]) -> list[str]:
        """See :meth:`benchgate.hosts.base.Host.reap`."""
        removed: list[str] = []
        for folder in placements(self.state_dir):
            current = folder.current()
            if current is None or current.host == self.name:
                removed += process_end.remove_stale(self.name, folder, run_is_over)
        return removed

    def holders(self) -> list[LaunchState]:
        """The launches that hold placements of this host now."""
        found = [folder.holder() for folder in placements(self.state_dir)]
        return [holder for holder in found if holder is not None and holder.host == self.name]

    def _folder(self, placement: str) -> PlacementFolder:
        return PlacementFolder(self.state_dir, lease_name(self.name, placement))

    def _state(self, handle: ServerHandle) -> LaunchState:
        try:
            state = self._folder(handle.placement).read(handle.id)
        except ValueError:
            state = None
        if state is None:
            raise HostError(
                f"{self.name}/{handle.placement}: nothing is known of launch {handle.id}",
                remedy=f"its state was under {self.state_dir}; was BENCHGATE_HOME changed or cleaned?",
            )
        return state

    def _http(
        self, method: str, handle: ServerHandle, path: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, bytes]:
        url = f"{handle.base_url}{path}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            with requests.Session() as session:
                session.trust_env = False  # a proxy must not stand between us and this machine
                reply = session.request(method, url, data=body, headers=headers, timeout=timeout_s, stream=True)
                return reply.status_code, read_answer(reply, limit_s=timeout_s)
        except requests.Timeout:
            problem = f"no answer within {timeout_s:g} s"
        except requests.ConnectionError as error:
            problem = "connection refused" if "refused" in str(error) else "the connection broke"
        except requests.RequestException as error:
            problem = secrets.mask(str(error))
        raise HostError(
            f"{self.name}/{handle.placement}: {method} {url}: {problem}",
            remedy="is the server still running? its log says",
        )
