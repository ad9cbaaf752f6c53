"""Shared memory that a server with the host's IPC namespace would leave behind: known as its own, then removed.

A segment in /dev/shm carries no label. It is proven to be a server's own while that server still has it mapped and
nobody else does; only such segments are removed after the server is gone. Everything else is only reported.
"""

from __future__ import annotations

import json

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.docker_facts import look, look_body


def own_segments(engine: DockerEngine, image: str, container: str) -> list[str]:
    """Names of the segments that only this (running) container holds; empty when it does not use the host's IPC."""
    found = containers.inspect(engine, container)
    if found is None or not found["State"]["Running"] or found["HostConfig"].get("IpcMode") != "host":
        return []
    try:
        seen = look(engine, image)
    except HostError:
        return []  # without a look nothing is proven, so nothing will be removed
    return [segment.name for segment in seen.segments if segment.holders == (container,)]


def remove_segments(engine: DockerEngine, image: str, names: list[str]) -> list[str]:
    """Remove those of the named segments that nobody holds now; returns what went."""
    if not names:
        return []
    result = containers.run_helper(engine, look_body(image, names))
    answer = json.loads(containers.checked(result, engine, "removing shared memory segments"))
    return list(answer["removed"])
