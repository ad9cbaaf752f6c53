"""What a Docker host says about itself: the engine's own words, and a look through a helper container."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.docker_gpu import cuda, list_gpus
from benchgate.hosts.gpu import GpuFact
from benchgate.records import HostFacts
from benchgate.spec.hosts import HostSpec

GIB = 2**30

_LOOK_SCRIPT = Path(__file__).with_name("docker_agent_look.py")


@dataclass(frozen=True)
class ShmSegment:
    """A file in the host's /dev/shm."""

    name: str
    bytes: int
    uid: int
    holders: tuple[str, ...]  # container ids, or "pid N" outside of containers; empty: nobody has it mapped or open


@dataclass(frozen=True)
class HostLook:
    """The machine behind an engine, seen from a helper container. Sizes in bytes."""

    memory_total: int | None
    memory_available: int | None
    cpu_model: str | None
    shm_total: int
    shm_free: int
    disk_free: int  # of the file system that holds the engine's data
    segments: list[ShmSegment]
    blind: int  # processes that could not be looked into: what nobody seems to hold may be theirs


def look_body(image: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """The helper that looks, or that removes the named segments of /dev/shm if nobody uses them."""
    return helper_body(
        image,
        _LOOK_SCRIPT.read_text(),
        names,
        labels=containers.helper_labels("helper"),
        host_ipc=True,
        host_pid=True,
        capabilities=["SYS_PTRACE", "DAC_READ_SEARCH"],  # to read which process maps which segment
    )


def look(engine: DockerEngine, image: str) -> HostLook:
    """Look at memory, disk and shared memory of the host. Needs the client image there.

    Raises:
        HostError: the helper cannot run.
    """
    return parse_look(
        containers.checked(containers.run_helper(engine, look_body(image)), engine, "looking at the host")
    )


def parse_look(out: bytes) -> HostLook:
    """Read what the helper printed."""
    data: dict[str, Any] = json.loads(out)
    segments = [ShmSegment(s["name"], s["bytes"], s["uid"], tuple(s["holders"])) for s in data.pop("segments")]
    return HostLook(segments=segments, **data)


def host_facts(engine: DockerEngine, spec: HostSpec) -> HostFacts:
    """Facts for the launch record. The look needs the client image; without it those facts stay unknown."""
    with engine.doing("cannot ask the engine about itself"):
        info = engine.api.info()
    seen: HostLook | None
    try:
        seen = look(engine, spec.client_image)
    except HostError:
        seen = None
    gpus = host_gpus(engine, spec, info)
    first = gpus[0] if gpus else None
    total = info.get("MemTotal")
    return HostFacts(
        host=engine.host,
        kind="docker",
        engine_version=info.get("ServerVersion"),
        os=info.get("OperatingSystem"),
        kernel=info.get("KernelVersion"),
        cpu_model=seen.cpu_model if seen else None,
        cpu_count=info.get("NCPU"),
        memory_gib=round(total / GIB, 2) if total else spec.memory_gib,
        free_memory_gib=round(seen.memory_available / GIB, 2) if seen and seen.memory_available is not None else None,
        gpu_model=first.name if first else None,
        gpu_count=len(gpus) if gpus else None,
        gpu_memory_gib=first.memory_total_gib if first else None,
        driver=first.driver if first else None,
        cuda=cuda(engine, spec.client_image) if first else None,
    )


def host_gpus(engine: DockerEngine, spec: HostSpec, info: Mapping[str, Any]) -> list[GpuFact]:
    """The GPUs of the host; empty where there are none, or where nobody could say."""
    if "nvidia" not in (info.get("Runtimes") or {}) and not any(place.gpus for place in spec.placements.values()):
        return []
    try:
        return list_gpus(engine, spec.client_image)
    except HostError:
        return []
