"""GPUs of a Docker host before and after a server, as ``nvidia-smi`` in a helper container tells them.

During a cell the server's own container is asked (``docker_telemetry.py``).
"""

from __future__ import annotations

from benchgate.hosts import docker_containers as containers
from benchgate.hosts import gpu
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.gpu import GpuFact, GpuProcess


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
