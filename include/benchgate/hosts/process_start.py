"""Start a server on this machine: take the lease, hand both to a supervisor, and let go."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import benchgate
from benchgate import secrets
from benchgate.errors import HostError, LeaseHeld
from benchgate.hosts.base import ServerHandle, ServerSpec
from benchgate.hosts.process_end import sweep
from benchgate.hosts.process_state import SHORT_HOLD_S, LaunchState, PlacementFolder
from benchgate.hosts.process_table import LEASE_MARK, ProcessId, alive, identify

ADDRESS = "127.0.0.1"
START_ANSWER_S = 30.0  # a supervisor answers in 0.1 s; this is a machine that swaps
ENDING_S = 25.0  # a server whose owner is gone is being ended
# What a server inherits from this process. Everything else (a worker's connections, keys, proxies) stays out: it would
# be no part of the arm's fingerprint, and no business of the server.
_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "VIRTUAL_ENV", "XDG_CACHE_HOME"),
    *("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"),
)


def start(host: str, spec: ServerSpec, folder: PlacementFolder) -> ServerHandle:
    """Take the placement and start the server. What fails leaves nothing behind.

    With port 0 a free one is taken, and ``{port}`` in argv becomes it.

    Raises:
        LeaseHeld: somebody has the placement.
        HostError: the command, the owner or a CPU is not there, or the supervisor did not start.
    """
    where = f"{host}/{spec.placement}"
    for value in spec.secrets.values():
        secrets.register(value)
    owner = _owner(spec, where)
    cpus = cpu_list(spec.cpus, where)
    port = spec.port or _free_port()
    argv = [part.replace("{port}", str(port)) for part in spec.argv] if spec.port == 0 else list(spec.argv)
    env = _environment(spec, folder)
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
        sweep(folder)  # whoever still carries the mark of a lease that nobody held is left over
        facts = {
            "host": host,
            "placement": spec.placement,
            "lease": folder.path.name,
            "campaign": spec.campaign,
            "run": spec.run,
            "arm": spec.arm,
            "port": port,
            "argv": [secrets.mask(part) for part in argv],
        }
        request = {
            "lock_fd": lock,
            "state_dir": str(folder.root),
            "owner": str(owner) if owner else None,
            "cpus": cpus,
            "argv": argv,
            "env": env,
            "facts": facts,
        }
        answer = _spawn_supervisor(request, lock, folder, where)
    finally:
        os.close(lock)  # the supervisor's own copy keeps the lease
    return ServerHandle(
        host=host,
        placement=spec.placement,
        name=folder.path.name,
        id=answer["id"],
        base_url=f"http://{ADDRESS}:{port}",
        started_at=answer["started_at"],
    )


def _owner(spec: ServerSpec, where: str) -> ProcessId | None:
    if spec.owner_pid is None:
        return None
    owner = identify(spec.owner_pid)
    if owner is None:
        raise HostError(
            f"{where}: the owner of the server, process {spec.owner_pid}, is gone", remedy="start the run again"
        )
    return owner


def _environment(spec: ServerSpec, folder: PlacementFolder) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    inherited |= {name: value for name, value in os.environ.items() if name.startswith("LC_")}
    return (
        inherited
        | {"PYTHONUNBUFFERED": "1", "CUDA_VISIBLE_DEVICES": ",".join(spec.gpus)}
        | spec.env
        | spec.secrets
        | {LEASE_MARK: folder.mark}
    )


def _acquire(folder: PlacementFolder) -> int | None:
    """Take the lease. Who holds it for a moment only is waited for: housekeeping, a start, a server being ended."""
    begun = time.monotonic()
    while (lock := folder.acquire()) is None:
        holder = folder.holder()
        if holder is not None and not _is_ending(holder):
            return None
        if time.monotonic() - begun > (SHORT_HOLD_S if holder is None else ENDING_S):
            return None
        time.sleep(0.05)
    return lock


def _is_ending(holder: LaunchState) -> bool:
    """Its owner is gone, so its supervisor is about to end it."""
    return holder.owner is not None and not alive(holder.owner)


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
    with spawned:  # closes the pipe: a supervisor whose answer nobody reads ends its server
        try:
            output, _ = spawned.communicate(json.dumps(request).encode() + b"\n", timeout=START_ANSWER_S)
            answer: dict[str, str] = json.loads(output)
        except (subprocess.TimeoutExpired, ValueError):
            spawned.kill()
            said = errors.read_text(errors="replace").strip().splitlines()
            raise HostError(
                f"{where}: the supervisor did not start: {secrets.mask(said[-1]) if said else 'it said nothing'}",
                remedy=f"its output is in {errors}",
            ) from None
    if "error" in answer:
        raise HostError(f"{where}: the server could not be started: {secrets.mask(answer['error'])}")
    return answer


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return int(probe.getsockname()[1])


def cpu_list(cpus: str | None, where: str) -> str:
    """``0-2,5`` as ``0,1,2,5``; ``-`` when nothing was asked.

    Raises:
        HostError: not a CPU set, or CPUs that this process may not use.
    """
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
        shown = ", ".join(map(str, missing[:8])) + (", .." if len(missing) > 8 else "")
        raise HostError(
            f"{where}: CPUs {cpus} include {shown} that this process may not use",
            remedy="correct cpus of the placement in hosts.yaml",
        )
    return ",".join(map(str, sorted(set(wanted))))
