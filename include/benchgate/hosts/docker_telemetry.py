"""GPU telemetry of a server in a container: nvidia-smi, which the NVIDIA runtime puts beside the server's GPUs."""

from __future__ import annotations

from docker.errors import APIError

from benchgate.hosts import docker_containers as containers
from benchgate.hosts import gpu
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.records import GpuSample


def samples(engine: DockerEngine, container: str) -> list[GpuSample]:
    """The GPUs that a container holds, now. Empty: it holds none, is gone, or its image hides nvidia-smi.

    The command only reads; it runs for some 50 ms beside the server and not in its process.

    Raises:
        HostError: the engine does not answer.
    """
    with engine.connecting():
        found = containers.inspect(engine, container)
        if found is None or not found["HostConfig"].get("DeviceRequests"):
            return []
        for fields, command in gpu.sample_queries():
            try:
                exec_id = engine.api.exec_create(container, command, stdout=True, stderr=True)["Id"]
                output = engine.api.exec_start(exec_id)
                code = engine.api.exec_inspect(exec_id)["ExitCode"]
            except APIError:  # it ended between two calls, or has no such command
                return []
            rows = gpu.parse_samples(output.decode("utf-8", "replace"), containers.now_utc(), fields)
            if code == 0 and rows:
                return rows
            if code in (126, 127):
                return []
    return []
