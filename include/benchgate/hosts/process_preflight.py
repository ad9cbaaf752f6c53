"""What is looked at before a server starts on this machine. It only looks: nothing here removes anything."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from benchgate.hosts import gpu
from benchgate.hosts import gpu_memory as gpu_memory_of
from benchgate.hosts.base import PreflightFinding, ServerSpec
from benchgate.hosts.process_facts import GIB, list_gpus, nvidia_smi
from benchgate.hosts.process_table import LEASE_MARK, command_line, environment
from benchgate.records import FailureKind
from benchgate.secrets import mask

SHM = Path("/dev/shm")  # noqa: S108 - the kernel's own folder; it is only read
_LISTEN = "0A"  # TCP_LISTEN in /proc/net/tcp
MIN_FREE_DISK_GIB = 1.0  # logs and per-request records of a run


def check(host: str, spec: ServerSpec) -> list[PreflightFinding]:
    """Every finding about ``spec`` on this machine, which is called ``host``; the good ones too."""
    return [*gpu_memory(host, spec), shm(), host_memory(spec), disk(), port(spec), *seeds(spec)]


def gpu_memory(host: str, spec: ServerSpec) -> list[PreflightFinding]:
    """Memory on the placement's GPUs that somebody already uses."""
    if not spec.gpus:
        return []
    users = gpu.parse_processes(nvidia_smi(gpu.query(gpu.APP_FIELDS, what="compute-apps")))
    named = [replace(user, name=(user.pid and command_line(user.pid)) or user.name) for user in users]
    return gpu_memory_of.findings(list_gpus(), named, spec.gpus, host)


def shm() -> PreflightFinding:
    """Segments in /dev/shm that nobody maps any more. They are reported, not refused: they only cost memory."""
    if not SHM.is_dir():
        return PreflightFinding("shm", ok=True, message="there is no /dev/shm here")
    mapped = _mapped_segments()
    stale = [path for path in SHM.iterdir() if path.is_file() and str(path) not in mapped]
    size = sum(path.stat().st_size for path in stale)
    free = shutil.disk_usage(SHM).free / GIB
    message = f"shared memory: {free:.2f} GiB free in {SHM}"
    if not stale:
        return PreflightFinding("shm", ok=True, message=message)
    named = ", ".join(path.name for path in sorted(stale, key=lambda path: -path.stat().st_size)[:5])
    return PreflightFinding(
        "shm",
        ok=True,
        message=f"{message}; {len(stale)} segments of {size / GIB:.2f} GiB are mapped by nobody: {named}",
        remedy="remove them if you know whose they are",
    )


def _mapped_segments() -> set[str]:
    found: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            text = maps.read_text()
        except OSError:
            continue
        found.update(line.split(None, 5)[5] for line in text.splitlines() if f" {SHM}/" in line)
    return found


def host_memory(spec: ServerSpec) -> PreflightFinding:
    """Free host memory against what the arm will pin (a CPU KV buffer counts once a replica)."""
    import psutil

    free = psutil.virtual_memory().available / GIB
    wanted = spec.pinned_host_memory_gib
    ok = free >= wanted
    return PreflightFinding(
        "host_memory",
        ok=ok,
        message=f"{free:.2f} GiB of host memory free, the arm pins {wanted:g} GiB",
        remedy=None if ok else "give the arm a smaller CPU KV buffer or fewer replicas, or free memory",
    )


def disk() -> PreflightFinding:
    """Space for logs and records."""
    from benchgate import settings

    folder = settings.home()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / GIB
    ok = free >= MIN_FREE_DISK_GIB
    return PreflightFinding(
        "disk",
        ok=ok,
        message=f"{free:.2f} GiB free at {folder}",
        remedy=None if ok else f"free at least {MIN_FREE_DISK_GIB:g} GiB there",
    )


def port(spec: ServerSpec) -> PreflightFinding:
    """The port the server will bind."""
    if spec.port == 0:
        return PreflightFinding("port", ok=True, message="any free port will do")
    if not port_in_use(spec.port):
        return PreflightFinding("port", ok=True, message=f"port {spec.port} is free")
    return PreflightFinding(
        "port",
        ok=False,
        message=f"port {spec.port} is taken by {port_holder(spec.port) or 'a process that is not visible here'}",
        remedy="end it, or give the placement another port in hosts.yaml",
        kind=FailureKind.PORT_IN_USE,
    )


def seeds(spec: ServerSpec) -> list[PreflightFinding]:
    """What the server will read must be there."""
    return [
        PreflightFinding(
            "seeds",
            ok=Path(mount.source).exists(),
            message=f"{mount.source} {'is there' if Path(mount.source).exists() else 'is missing'}",
            remedy=None if Path(mount.source).exists() else "run the seed step again",
        )
        for mount in spec.mounts
    ]


def port_in_use(number: int) -> bool:
    """Does somebody listen on this port? Connections that are winding down, or go out from it, do not count."""
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            rows = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            _, local, _, state = row.split()[:4]
            if state == _LISTEN and int(local.rpartition(":")[2], 16) == number:
                return True
    return False


def port_holder(number: int) -> str | None:
    """Who listens on a port: pid and command line; and that it is a Benchgate server, if it is one."""
    import psutil

    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        local = getattr(connection.laddr, "port", None)
        if connection.status == psutil.CONN_LISTEN and local == number and connection.pid:
            lease = environment(connection.pid).get(LEASE_MARK)
            ours = f", a Benchgate server under {lease}" if lease else ""
            return f"pid {connection.pid} ({mask(command_line(connection.pid))}){ours}"
    return None
