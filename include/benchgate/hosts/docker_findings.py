"""What a look at a Docker host means for a launch. Pure: facts in, findings out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchgate.hosts.base import PreflightFinding, ServerSpec
from benchgate.hosts.docker_facts import GIB, HostLook
from benchgate.records import FailureKind

MIN_DISK_GIB = 2.0  # for logs and what a server writes into its container
MIN_SHM_GIB = 0.06  # what Docker gives a container without the host's IPC; less starts no multi-process engine
MIN_STALE_BYTES = 1 << 20  # less than this, left by no matter whom, is not worth a word
HEADROOM_GIB = 1.0  # beyond what an arm pins
SHOWN = 5


def touches(container: dict[str, Any], lease: str, gpus: Sequence[str]) -> bool:
    """Whether a container has the name of the lease (or stands beside it), or was given one of the GPUs."""
    name = str(container["Name"]).lstrip("/")
    if name == lease or name in (f"{lease}-client", f"{lease}-probe"):
        return True
    return bool(gpus) and shares_gpus(gpus_of(container), gpus)


def gpus_of(container: dict[str, Any]) -> list[str]:
    """The GPUs that a container was given: by a device request, or the older way with NVIDIA_VISIBLE_DEVICES."""
    host_config = container.get("HostConfig") or {}
    found: list[str] = []
    for request in host_config.get("DeviceRequests") or []:
        wanted = {word for group in request.get("Capabilities") or [] for word in group}
        if "gpu" not in wanted and request.get("Driver") != "nvidia":
            continue
        found += request.get("DeviceIDs") or (["all"] if request.get("Count") else [])
    if host_config.get("Runtime") == "nvidia":
        for entry in (container.get("Config") or {}).get("Env") or []:
            name, _, value = entry.partition("=")
            if name == "NVIDIA_VISIBLE_DEVICES" and value not in ("", "none", "void"):
                found += value.split(",")
    return found


def shares_gpus(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sets of GPUs overlap. An index and a UUID cannot be compared; GPU memory in use tells that case."""
    if not one or not other:
        return False
    return "all" in one or "all" in other or bool(set(one) & set(other))


def shm(seen: HostLook, spec: ServerSpec) -> PreflightFinding:
    """Shared memory: refuse a full one when the server will use it; name what nobody holds any more."""
    free = seen.shm_free / GIB
    stale = sorted((item for item in seen.segments if not item.holders), key=lambda item: -item.bytes)
    message = f"{free:.2f} of {seen.shm_total / GIB:.2f} GiB free in /dev/shm"
    remedy = None
    if sum(item.bytes for item in stale) >= MIN_STALE_BYTES:
        named = ", ".join(f"{item.name} ({item.bytes / 2**20:.0f} MiB)" for item in stale[:SHOWN])
        more = f" and {len(stale) - SHOWN} more" if len(stale) > SHOWN else ""
        total = sum(item.bytes for item in stale) / GIB
        message += f"; {len(stale)} segments of {total:.2f} GiB that no process holds: {named}{more}"
        message += f" ({seen.blind} processes could not be looked into)" if seen.blind else ""
        remedy = "remove them from /dev/shm if you know whose they are; it is not proven that they are ours"
    if spec.shm_size_gib is not None:
        return PreflightFinding(
            "shm", True, f"the server gets its own {spec.shm_size_gib:g} GiB; host: {message}", remedy
        )
    if free < MIN_SHM_GIB:
        remedy = remedy or "enlarge /dev/shm, or end what fills it"
        return PreflightFinding("shm", False, message, remedy, kind=FailureKind.SHM_TOO_SMALL)
    return PreflightFinding("shm", True, message, remedy)


def host_memory(seen: HostLook, spec: ServerSpec, *, unified: bool) -> PreflightFinding:
    """Free memory against what the arm will pin (a CPU KV buffer counts once a replica)."""
    if seen.memory_available is None:
        return PreflightFinding("host_memory", True, "the host does not say how much memory is free")
    free = seen.memory_available / GIB
    wanted = spec.pinned_host_memory_gib
    ok = wanted == 0 or free >= wanted + HEADROOM_GIB
    shared = " (shared by CPU and GPU)" if unified else ""
    return PreflightFinding(
        "host_memory",
        ok,
        f"{free:.2f} GiB of host memory free{shared}, the arm pins {wanted:g} GiB",
        remedy=None if ok else "give the arm a smaller CPU KV buffer or fewer replicas, or free memory on the host",
    )


def disk(seen: HostLook) -> PreflightFinding:
    """Space where the engine keeps containers."""
    free = seen.disk_free / GIB
    ok = free >= MIN_DISK_GIB
    return PreflightFinding(
        "disk",
        ok,
        f"{free:.2f} GiB free where Docker keeps its data",
        remedy=None if ok else f"free at least {MIN_DISK_GIB:g} GiB: `docker system df` shows what takes it",
    )
