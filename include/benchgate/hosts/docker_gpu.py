"""GPUs of a Docker host before and after a server, as ``nvidia-smi`` in a helper container tells them.

During a cell the server's own container is asked (``docker_telemetry.py``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts import gpu
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.gpu import GpuFact, GpuProcess

IDLE_GIB = 1.0  # a driver and a display hold less than this; an engine holds more
_POLL_S = 2.0


def chosen(gpus: Sequence[GpuFact], wanted: Sequence[str]) -> tuple[list[GpuFact], list[str]]:
    """The GPUs of a placement, and the names in it that the host does not have."""
    if list(wanted) == ["all"]:
        return list(gpus), []
    found = [fact for fact in gpus if fact.index in wanted or fact.uuid in wanted]
    known = {name for fact in found for name in (fact.index, fact.uuid)}
    return found, [name for name in wanted if name not in known]


def _ask(engine: DockerEngine, image: str, command: list[str]) -> str:
    # All GPUs are asked for: inside a container that sees two of eight, they would be numbered 0 and 1.
    body = helper_body(
        image, "", labels=containers.helper_labels("helper"), gpus=["all"], host_pid=True, entrypoint=command
    )
    out = containers.checked(containers.run_helper(engine, body), engine, "nvidia-smi")
    return out.decode(errors="replace")


def list_gpus(engine: DockerEngine, image: str) -> list[GpuFact]:
    """All GPUs of the host.

    Raises:
        HostError: the engine cannot hand out GPUs (no NVIDIA runtime), or ``nvidia-smi`` failed.
    """
    return gpu.parse_facts(_ask(engine, image, gpu.query(gpu.FACT_FIELDS)))


def list_users(engine: DockerEngine, image: str) -> list[GpuProcess]:
    """The processes that hold GPU memory, of containers and of anybody else."""
    return gpu.parse_processes(_ask(engine, image, gpu.query(gpu.APP_FIELDS, what="compute-apps")))


def cuda(engine: DockerEngine, image: str) -> str | None:
    """The newest CUDA version that the host's driver can run, as ``nvidia-smi`` heads its page with it."""
    return gpu.cuda_version(_ask(engine, image, ["nvidia-smi"]))


def memory_returned(engine: DockerEngine, image: str, wanted: Sequence[str], *, timeout_s: float = 60.0) -> bool | None:
    """Whether the memory of a placement's GPUs is free again, waiting ``timeout_s`` for it.

    Engines are known to leave workers behind that hold a GPU after their container is gone. None where there is no GPU
    or the driver does not say.
    """
    if not wanted:
        return None
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            answer = all_idle(chosen(list_gpus(engine, image), wanted)[0])
        except HostError:
            return None
        if answer is not False or time.monotonic() > deadline:
            return answer
        time.sleep(_POLL_S)


def all_idle(gpus: Sequence[GpuFact]) -> bool | None:
    """Whether nobody holds memory on any of the GPUs; None when there are none, or one does not say."""
    used = [fact.memory_used_gib for fact in gpus]
    if not used or any(gib is None for gib in used):
        return None
    return all(gib is not None and gib <= IDLE_GIB for gib in used)
