"""The server that we ask the engine for is the one that the printed ``docker run`` line makes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from benchgate import names
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_command import Supervision, docker_run
from benchgate.hosts.docker_create import server_body
from benchgate.hosts.docker_network import ensure_internal_network

pytestmark = pytest.mark.docker
_HOST_CONFIG = (
    *("NetworkMode", "PortBindings", "RestartPolicy", "AutoRemove", "CapAdd", "CapDrop", "IpcMode", "ShmSize"),
    *("SecurityOpt", "Privileged", "ReadonlyRootfs", "CpusetCpus", "DeviceRequests", "Init", "PidMode", "Memory"),
    *("Runtime", "LogConfig", "Ulimits", "UsernsMode"),
)
_CONFIG = ("Image", "User", "WorkingDir", "Tty", "ExposedPorts", "Labels")


def effect(found: dict[str, Any]) -> dict[str, Any]:
    """What a created container will do, however it was written down."""
    host = found["HostConfig"]
    return {
        **{name: host.get(name) or None for name in _HOST_CONFIG},
        **{name: found["Config"].get(name) or None for name in _CONFIG},
        "command": [found["Path"], *found["Args"]],
        "environment": sorted(found["Config"]["Env"]),
        "mounts": sorted((m["Type"], m.get("Name") or m["Source"], m["Destination"], m["RW"]) for m in found["Mounts"]),
    }


VARIANTS: list[dict[str, Any]] = [
    {},
    {"shm_size_gib": None},
    {"gpus": ["0", "1", "2", "3"], "cpus": "0-1"},
    {"gpus": ["all"]},
    {"entrypoint": ["python3", "-m", "vllm.entrypoints.openai.api_server"], "argv": ["--port", "8000"]},
    {"mounts": [Mount("benchgate-test-hub", "/root/.cache/huggingface"), Mount("/tmp", "/vocab")]},
    {"env": {"HF_HUB_OFFLINE": "1", "QUOTED": 'a "b" c=d'}},
]


@pytest.mark.parametrize("fields", VARIANTS, ids=lambda fields: ",".join(fields) or "plain")
@pytest.mark.parametrize("publish", [False, True], ids=["internal", "published"])
def test_both_ways_create_the_same_container(
    host: DockerHost, server: Callable[..., ServerSpec], campaign: str, fields: dict[str, Any], publish: bool
) -> None:
    spec: ServerSpec = server(**fields)
    labels = names.labels(
        campaign=campaign, run=spec.run, arm=spec.arm, placement="x/a", role="server", created="2026-01-01"
    )
    ensure_internal_network(host.engine)
    network = "bridge" if publish else "benchgate-internal"
    typed = docker_run(spec, supervision=Supervision(f"{campaign}-typed", labels, network), publish=publish).argv
    assert typed[:3] == ["docker", "run", "-d"]

    made = subprocess.run(["docker", "create", *typed[3:]], capture_output=True, text=True, check=False)
    asked = containers.create(
        host.engine, f"{campaign}-asked", server_body(spec, labels=labels, network=network, publish=publish)
    )

    assert made.returncode == 0, made.stderr
    found = [containers.inspect(host.engine, container) for container in (made.stdout.strip(), asked)]
    assert found[0] is not None
    assert found[1] is not None
    assert effect(found[0]) == effect(found[1])


def test_secrets_are_in_the_container_and_not_in_the_printed_line(
    host: DockerHost, server: Callable[..., ServerSpec]
) -> None:
    spec = replace(server(), secrets={"HF_TOKEN": "hf_averysecretvalue123"})

    line = docker_run(spec).shell()
    body = server_body(spec, labels={}, network="bridge")

    assert "--env HF_TOKEN \\\n" in line
    assert "hf_averysecretvalue123" not in line
    assert "HF_TOKEN=hf_averysecretvalue123" in body["Env"]
