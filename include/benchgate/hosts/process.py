"""The process host: servers as processes of this machine, without Docker.

Owns leases, starting, watching and ending. What it keeps on disk: :mod:`benchgate.hosts.process_state`. Who holds a
server while no task runs: :mod:`benchgate.hosts.supervisor`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import requests

import benchgate
from benchgate import secrets, settings
from benchgate.errors import HostError, LeaseHeld
from benchgate.hosts import process_client, process_facts, process_preflight
from benchgate.hosts.base import Mount, PreflightFinding, ServerHandle, ServerSpec, ServerStatus
from benchgate.hosts.process_state import LaunchState, PlacementFolder, placements
from benchgate.hosts.process_table import (
    LEASE_MARK,
    ProcessId,
    alive,
    command_line,
    end_all,
    family,
    identify,
    signal_all,
)
from benchgate.names import lease_name
from benchgate.records import ExitInfo, GpuSample, HostFacts
from benchgate.spec.hosts import HostSpec

ADDRESS = "127.0.0.1"
START_ANSWER_S = 30.0  # a supervisor answers in 0.1 s; this is a machine that swaps
PORT_FREE_S = 5.0
SHORT_HOLD_S = 3.0
# What a server inherits from this process. Everything else (a worker's connections, keys, proxies) stays out: it would
# be no part of the arm's fingerprint, and no business of the server.
_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "VIRTUAL_ENV", "XDG_CACHE_HOME"),
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)


class ProcessHost:
    """This machine. Implements :class:`benchgate.hosts.base.Host`."""

    def __init__(self, name: str, spec: HostSpec | None = None, *, state_dir: Path | None = None) -> None:
        self.name = name
        self.spec = spec
        self.state_dir = state_dir or settings.state_dir()

    def facts(self) -> HostFacts:
        """CPU, memory, kernel and GPUs of this machine."""
        return process_facts.host_facts(self.name)

    def preflight(self, spec: ServerSpec, *, run_is_over: Callable[[str], bool]) -> list[PreflightFinding]:
        """See :meth:`benchgate.hosts.base.Host.preflight`."""
        folder = self._folder(spec.placement)
        removed = self._remove_stale(folder, run_is_over)
        holder = folder.holder()
        held = PreflightFinding(
            "leftovers",
            ok=holder is None,
            message=(
                f"{self.name}/{spec.placement} is free"
                if holder is None
                else f"{self.name}/{spec.placement} is held by {holder.holder()}"
            ),
            remedy=None if holder is None else "wait for that run, or stop it",
            removed=removed,
        )
        return [held, *process_preflight.check(spec)]

    def start(self, spec: ServerSpec) -> ServerHandle:
        """See :meth:`benchgate.hosts.base.Host.start`.

        With port 0 a free one is taken, and ``{port}`` in argv becomes it.
        """
        where = f"{self.name}/{spec.placement}"
        for value in spec.secrets.values():
            secrets.register(value)
        folder = self._folder(spec.placement)
        owner = self._owner(spec, where)
        cpus = _cpu_list(spec.cpus, where)
        port = spec.port or _free_port()
        argv = [part.replace("{port}", str(port)) for part in spec.argv] if spec.port == 0 else list(spec.argv)
        env = self._environment(spec, folder)
        if not argv or shutil.which(argv[0], path=env.get("PATH")) is None:
            raise HostError(
                f"{where}: the server's command {argv[0] if argv else '(empty)'!r} is not on this machine",
                remedy="install the engine, or correct the arm's engine or PATH",
            )
        lock = _acquire(folder)
        if lock is None:
            holder = folder.holder()
            raise LeaseHeld(
                f"{where} is held by {holder.holder() if holder else 'a launch that is just starting'}",
                remedy="wait until it is torn down, or use another placement",
            )
        try:
            self._sweep(folder)  # whoever still carries the mark of a lease that nobody held is left over
            request = {
                "lock_fd": lock,
                "state_dir": str(self.state_dir),
                "lease": folder.path.name,
                "owner": str(owner) if owner else None,
                "cpus": cpus,
                "argv": argv,
                "env": env,
                "facts": {
                    "host": self.name,
                    "placement": spec.placement,
                    "lease": folder.path.name,
                    "campaign": spec.campaign,
                    "run": spec.run,
                    "arm": spec.arm,
                    "port": port,
                    "argv": [secrets.mask(part) for part in argv],
                },
            }
            answer = _spawn_supervisor(request, lock, folder, where)
        finally:
            os.close(lock)  # the supervisor's own copy keeps the lease
        return ServerHandle(
            host=self.name,
            placement=spec.placement,
            name=folder.path.name,
            id=answer["id"],
            base_url=f"http://{ADDRESS}:{port}",
            started_at=answer["started_at"],
        )

    def status(self, handle: ServerHandle) -> ServerStatus:
        """See :meth:`benchgate.hosts.base.Host.status`."""
        state = self._state(handle)
        running = state.ended_at is None and alive(state.supervisor) and alive(state.server)
        if not running and state.ended_at is None:
            time.sleep(0.3)  # it has just ended: its supervisor is about to write how
            state = self._state(handle)
        return ServerStatus(running=running, exit=ExitInfo() if running else _exit_info(state))

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
            while line := log.readline(1 << 16):  # a line without an end must not fill the memory
                yield line

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

    def stop(self, handle: ServerHandle, *, grace_s: float = 10.0) -> ExitInfo:
        """See :meth:`benchgate.hosts.base.Host.stop`. Returns when the port is free and the lease is released."""
        folder = self._folder(handle.placement)
        state = self._state(handle)
        self._end(folder, state, grace_s)
        deadline = time.monotonic() + PORT_FREE_S
        while (busy := process_preflight.port_in_use(state.port)) and time.monotonic() < deadline:
            if folder.holder() is not None:  # the next launch has it already
                break
            time.sleep(0.05)
        if busy and folder.holder() is None:
            raise HostError(
                f"{self.name}/{handle.placement}: port {state.port} is still taken after the server was stopped",
                remedy=f"look at {process_preflight.port_holder(state.port) or 'who listens there (ss -ltnp)'}",
            )
        return _exit_info(self._state(handle))

    def reap(self, *, run_is_over: Callable[[str], bool]) -> list[str]:
        """See :meth:`benchgate.hosts.base.Host.reap`."""
        removed: list[str] = []
        for folder in placements(self.state_dir):
            current = folder.current()
            if current is None or current.host == self.name:
                removed += self._remove_stale(folder, run_is_over)
        return removed

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

    def _owner(self, spec: ServerSpec, where: str) -> ProcessId | None:
        if spec.owner_pid is None:
            return None
        owner = identify(spec.owner_pid)
        if owner is None:
            raise HostError(
                f"{where}: the owner of the server, process {spec.owner_pid}, is gone", remedy="start the run again"
            )
        return owner

    def _environment(self, spec: ServerSpec, folder: PlacementFolder) -> dict[str, str]:
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        inherited |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
        return (
            inherited
            | {"PYTHONUNBUFFERED": "1", "CUDA_VISIBLE_DEVICES": ",".join(spec.gpus)}
            | spec.env
            | spec.secrets
            | {LEASE_MARK: folder.mark}
        )

    def _http(
        self, method: str, handle: ServerHandle, path: str, body: bytes | None, timeout_s: float
    ) -> tuple[int, bytes]:
        url = f"{handle.base_url}{path}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            with requests.Session() as session:
                session.trust_env = False  # a proxy must not stand between us and this machine
                reply = session.request(method, url, data=body, headers=headers, timeout=timeout_s)
                return reply.status_code, reply.content
        except requests.RequestException as error:
            raise HostError(
                f"{self.name}/{handle.placement}: {method} {url}: {secrets.mask(str(error))}",
                remedy="is the server still running? its log says",
            ) from None

    def _end(self, folder: PlacementFolder, state: LaunchState, grace_s: float) -> None:
        """End a launch: through its supervisor, or, when that is gone, by its marks. Other launches stay."""
        if alive(state.supervisor):
            (folder.launch_dir(str(state.supervisor)) / "grace").write_text(str(grace_s))
            signal_all([state.supervisor], signal.SIGTERM)
            deadline = time.monotonic() + grace_s + 15.0
            while alive(state.supervisor) and time.monotonic() < deadline:
                time.sleep(0.05)
            if alive(state.supervisor):
                signal_all([state.supervisor], signal.SIGKILL)
        lock = folder.acquire()
        if lock is not None:  # nobody holds the lease, so whoever carries its mark is left over
            try:
                self._sweep(folder, state)
            finally:
                os.close(lock)

    def _sweep(self, folder: PlacementFolder, state: LaunchState | None = None) -> list[str]:
        """End what a lease that nobody holds has left behind. Call it with the lock held."""
        state = state or folder.current()
        server = state.server if state else None
        left = family(folder.mark, server=server)
        words = [f"process {p.id.pid} ({command_line(p.id.pid, 80)}) of {folder.path.name}" for p in left]
        end_all(lambda: family(folder.mark, server=server), grace_s=2.0)
        return [secrets.mask(word) for word in words]

    def _remove_stale(self, folder: PlacementFolder, run_is_over: Callable[[str], bool]) -> list[str]:
        """End the launch of a placement when its run is over, and what earlier ones left; says what was ended."""
        removed = []
        holder = folder.holder()
        if holder is not None and run_is_over(holder.run):
            self._end(folder, holder, 10.0)
            removed.append(f"server of {holder.holder()}, on {self.name}/{holder.placement}")
        lock = folder.acquire()
        if lock is not None:
            try:
                removed += self._sweep(folder)
            finally:
                os.close(lock)
        return removed


def _acquire(folder: PlacementFolder) -> int | None:
    """Take the lease. A lock without a holder is a look by housekeeping, or a start: wait a moment for its outcome."""
    deadline = time.monotonic() + SHORT_HOLD_S
    while (lock := folder.acquire()) is None and folder.holder() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    return lock


def _spawn_supervisor(request: dict[str, object], lock: int, folder: PlacementFolder, where: str) -> dict[str, str]:
    errors = folder.path / "supervisor.log"
    env = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    env["PYTHONPATH"] = str(Path(benchgate.__file__).resolve().parents[1])
    with errors.open("wb") as log:
        spawned = subprocess.Popen(
            [sys.executable, "-m", "benchgate.hosts.supervisor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=env,
            pass_fds=(lock,),
            start_new_session=True,
        )
    try:
        output, _ = spawned.communicate(json.dumps(request).encode() + b"\n", timeout=START_ANSWER_S)
        answer: dict[str, str] = json.loads(output)
    except (subprocess.TimeoutExpired, ValueError):
        spawned.kill()
        spawned.wait()
        said = errors.read_text(errors="replace").strip().splitlines()
        raise HostError(
            f"{where}: the supervisor did not start: {secrets.mask(said[-1]) if said else 'it said nothing'}",
            remedy=f"its output is in {errors}",
        ) from None
    if "error" in answer:
        raise HostError(f"{where}: the server could not be started: {secrets.mask(answer['error'])}")
    return answer


def _exit_info(state: LaunchState) -> ExitInfo:
    if state.ended_at is None:  # the supervisor is gone without a word, and the kernel killed the server with it
        return ExitInfo(signal="SIGKILL")
    return ExitInfo(exit_code=state.exit_code, signal=state.signal, oom_killed=state.oom_killed)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def _cpu_list(cpus: str | None, where: str) -> str:
    """``0-2,5`` as ``0,1,2,5``; ``-`` when nothing was asked."""
    if cpus is None:
        return "-"
    wanted: list[int] = []
    try:
        for part in cpus.split(","):
            first, dash, last = part.partition("-")
            cpu_range = range(int(first), int(last if dash else first) + 1)
            if not cpu_range:
                raise ValueError(part)
            wanted.extend(cpu_range)
    except ValueError:
        raise HostError(f"{where}: {cpus!r} is no CPU set", remedy="write it like 0-7 or 0,2,4-6") from None
    missing = sorted(set(wanted) - os.sched_getaffinity(0))
    if missing:
        raise HostError(
            f"{where}: CPUs {cpus} include {', '.join(map(str, missing))} that this process may not use",
            remedy="correct cpus of the placement in hosts.yaml",
        )
    return ",".join(map(str, sorted(set(wanted))))
