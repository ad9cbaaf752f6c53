"""Are the seeds of a server on its host: every volume filled and whole, every folder there?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docker.errors import NotFound

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount, PreflightFinding, ServerSpec
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine

_SCRIPT = Path(__file__).with_name("docker_agent_seeds.py")
_REMEDY = "run the seed step for this host; it sends only what is missing"


def seeds_finding(engine: DockerEngine, image: str, spec: ServerSpec) -> PreflightFinding:
    """Refuse when a mounted seed is missing, empty, or not whole any more."""
    if not spec.mounts:
        return PreflightFinding("seeds", True, "the server mounts no seeds")
    missing = [mount.source for mount in spec.mounts if not mount.source.startswith("/") and not _exists(engine, mount)]
    if missing:  # mounting a volume that does not exist would make an empty one
        message = f"host {engine.host} has no volume {', '.join(missing)}"
        return PreflightFinding("seeds", False, message, remedy=_REMEDY)
    mounts = [Mount(mount.source, f"/seeds/{number}") for number, mount in enumerate(spec.mounts)]
    body = helper_body(image, _SCRIPT.read_text(), labels=containers.helper_labels("helper"), mounts=mounts)
    try:
        result = containers.run_helper(engine, body, timeout_s=300)
    except HostError as error:
        return PreflightFinding("seeds", False, error.message, remedy=error.remedy or _REMEDY)
    return judge(spec.mounts, json.loads(containers.checked(result, engine, "looking at the seeds")), engine.host)


def judge(mounts: list[Mount], answers: list[dict[str, Any]], host: str) -> PreflightFinding:
    """What the helper's answers mean, one for each mount."""
    problems = []
    for mount, answer in zip(mounts, answers, strict=True):
        if answer["wrong"]:
            problems.append(f"{mount.source}: {len(answer['wrong'])} files gone or cut, first {answer['wrong'][0]}")
        elif not answer["files"]:
            problems.append(f"{mount.source} is empty")
    if problems:
        return PreflightFinding("seeds", False, f"host {host}: {'; '.join(problems)}", remedy=_REMEDY)
    listed = ", ".join(
        f"{mount.source} ({answer['files']} files)" for mount, answer in zip(mounts, answers, strict=True)
    )
    return PreflightFinding("seeds", True, f"seeds are there: {listed}")


def _exists(engine: DockerEngine, mount: Mount) -> bool:
    with engine.doing(f"cannot look at volume {mount.source}"):
        try:
            engine.api.inspect_volume(mount.source)
        except NotFound:
            return False
    return True
