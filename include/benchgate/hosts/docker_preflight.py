"""Looks at a Docker host before a launch: what is in the way, what is missing, and what to do about it.

What is ours and stale is removed; what is not ours is named and never touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchgate import names
from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts import docker_findings as findings
from benchgate.hosts import docker_gpu, reaper
from benchgate.hosts import gpu_memory as gpu_memory_of
from benchgate.hosts.base import PreflightFinding, ServerSpec, never
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.docker_facts import look
from benchgate.hosts.docker_seeds import seeds_finding
from benchgate.records import FailureKind
from benchgate.spec.hosts import HostSpec


def preflight(
    engine: DockerEngine,
    host: HostSpec,
    spec: ServerSpec,
    *,
    run_is_over: Callable[[str], bool],
    launch_is_over: Callable[[str], bool],
) -> list[PreflightFinding]:
    """Every finding, the good ones too. What needs the client image is left out while that is missing."""
    found = [
        leftovers(engine, spec, run_is_over, launch_is_over),
        *images(engine, host, spec),
        port(engine, host, spec),
    ]
    if not all(finding.ok for finding in found if finding.check == "image"):
        return found
    seen = look(engine, host.client_image)
    return [
        *found,
        *gpu_memory(engine, host, spec),
        findings.shm(seen, spec),
        findings.host_memory(seen, spec, unified=host.unified_memory),
        findings.disk(seen),
        seeds_finding(engine, host.client_image, spec),
    ]


def leftovers(
    engine: DockerEngine,
    spec: ServerSpec,
    run_is_over: Callable[[str], bool],
    launch_is_over: Callable[[str], bool],
) -> PreflightFinding:
    """Containers that hold the placement or its GPUs. Stale ones of ours go; so does an earlier attempt of this launch.

    A task that is tried again is the only one that works on its launch: what its killed predecessor left is its own.
    And launches of one placement follow each other: what one of this run left whose tasks have ended is nobody's.
    """
    lease = names.lease_name(engine.host, spec.placement)
    removed: list[str] = []
    in_the_way: list[str] = []
    held = False  # by another launch; what else is in the way has no part in leases
    stale = {item["Id"] for item in reaper.stale_containers(engine, run_is_over=run_is_over)}
    for container in _candidates(engine):
        if not findings.touches(container, lease, spec.gpus):
            continue
        labels = container["Config"].get("Labels") or {}
        name = str(container["Name"]).lstrip("/")
        if container["Id"] in stale or _is_earlier(labels, spec, engine.host, launch_is_over):
            if containers.remove(engine, container["Id"]):
                removed.append(containers.describe_holder(name, container))
        elif container["State"]["Running"] or name == lease:
            in_the_way.append(containers.describe_holder(name, container))
            held = held or name == lease
    if not in_the_way:
        message = f"{engine.host}/{spec.placement} is free"
        return PreflightFinding("leftovers", True, message, removed=removed)
    return PreflightFinding(
        "leftovers",
        False,
        f"{engine.host}/{spec.placement} is taken: {'; '.join(in_the_way)}",
        remedy="wait until that is over, or stop it; Benchgate removes only what is its own and stale",
        removed=removed,
        kind=FailureKind.LEASE_HELD if held else FailureKind.PREFLIGHT,
    )


def remove_earlier(engine: DockerEngine, spec: ServerSpec) -> list[str]:
    """Remove the containers of an earlier try of this launch; says what they were."""
    lease = names.lease_name(engine.host, spec.placement)
    removed = []
    for name in (f"{lease}-client", f"{lease}-probe", lease):  # what joined a namespace goes before it
        found = containers.inspect(engine, name)
        if found is None or not _is_earlier(found["Config"].get("Labels") or {}, spec, engine.host):
            continue
        if containers.remove(engine, found["Id"]):
            removed.append(containers.describe_holder(name, found))
    return removed


def _is_earlier(
    labels: Mapping[str, str], spec: ServerSpec, host: str, launch_is_over: Callable[[str], bool] = never
) -> bool:
    """Whether a container is ours, of this run and placement, and of this arm or of one whose launch is over."""
    wanted = (names.OWNER, spec.run, f"{host}/{spec.placement}")
    keys = (names.LABEL_OWNER, names.LABEL_RUN, names.LABEL_PLACEMENT)
    arm = labels.get(names.LABEL_ARM, "")
    return tuple(labels.get(key) for key in keys) == wanted and (arm == spec.arm or launch_is_over(arm))


def _candidates(engine: DockerEngine) -> list[dict[str, Any]]:
    """Every container of the host in detail; those that vanish while we look do not matter."""
    with engine.doing("cannot list containers"):
        listed = engine.api.containers(all=True)
    found = (containers.inspect(engine, item["Id"]) for item in listed)
    return [container for container in found if container is not None]


def images(engine: DockerEngine, host: HostSpec, spec: ServerSpec) -> list[PreflightFinding]:
    """The server's image and the client image, on the host already: nothing is pulled while a lease is held."""
    return [
        _image(engine, spec.image, "pull it first: the seed step does that"),
        _image(
            engine, host.client_image, "build it there: python include/images/build.py client --host " + engine.host
        ),
    ]


def _image(engine: DockerEngine, name: str | None, remedy: str) -> PreflightFinding:
    if name is not None and engine.image(name) is not None:
        return PreflightFinding("image", True, f"image {name} is there")
    what = "no image of the server is" if name is None else f"image {name} is not"
    message = f"{what} on host {engine.host}"
    return PreflightFinding("image", False, message, remedy=remedy, kind=FailureKind.IMAGE_MISSING)


def port(engine: DockerEngine, host: HostSpec, spec: ServerSpec) -> PreflightFinding:
    """A published port must be free; a server on the internal network has all ports to itself."""
    if host.address is None or spec.internal_network:
        return PreflightFinding("port", True, f"port {spec.port or 'any'} in the server's own network namespace")
    with engine.doing("cannot list containers"):
        listed = engine.api.containers()
    for item in listed:
        if any(published.get("PublicPort") == spec.port for published in item.get("Ports") or []):
            name = item["Names"][0].lstrip("/")
            return PreflightFinding(
                "port",
                False,
                f"port {spec.port} of host {engine.host} is published by container {name}",
                remedy="stop it, or give the placement another port",
                kind=FailureKind.PORT_IN_USE,
            )
    return PreflightFinding("port", True, f"no container publishes port {spec.port}")


def gpu_memory(engine: DockerEngine, host: HostSpec, spec: ServerSpec) -> list[PreflightFinding]:
    """Memory on the placement's GPUs that somebody already holds."""
    if not spec.gpus:
        return []
    try:
        gpus = docker_gpu.list_gpus(engine, host.client_image)
        users = docker_gpu.list_users(engine, host.client_image)
    except HostError as error:
        return [PreflightFinding("gpu_memory", False, error.message, remedy=error.remedy or "try nvidia-smi there")]
    return gpu_memory_of.findings(gpus, users, spec.gpus, engine.host)
