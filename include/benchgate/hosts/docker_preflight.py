"""Looks at a Docker host before a launch. (filled next)"""

from __future__ import annotations

from collections.abc import Callable

from benchgate.hosts.base import PreflightFinding, ServerSpec
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.spec.hosts import HostSpec


def preflight(
    engine: DockerEngine, host: HostSpec, spec: ServerSpec, *, run_is_over: Callable[[str], bool]
) -> list[PreflightFinding]:
    """Look before a launch."""
    return []
