"""What is asked of the Docker Engine when a container is created: plain request bodies, no calls.

``docker_command.py`` writes the same as a ``docker run`` line; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchgate.hosts.base import Mount, ServerSpec

# The log is what proofs rest on, from its first line: far more than any engine writes in a night, and an end to it.
SERVER_LOG = {"max-size": "1g", "max-file": "2"}
CLIENT_OUTPUT = "/out"  # a volume of the client container; read back over the Docker API
PROBE_SCRATCH = CLIENT_OUTPUT  # the client image has one folder that its user may write to
CLIENT_USER = "10001:10001"


def environment(env: Mapping[str, str]) -> list[str]:
    """``NAME=value`` entries in a stable order."""
    return [f"{name}={env[name]}" for name in sorted(env)]


def mount_body(mount: Mount) -> dict[str, Any]:
    """A volume when the source is a name, a bind of the host's folder when it is a path."""
    kind = "bind" if mount.source.startswith("/") else "volume"
    return {"Type": kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}


def gpu_requests(gpus: Sequence[str], capabilities: Sequence[str] = ("gpu",)) -> list[dict[str, Any]]:
    """Exactly the GPUs of the placement, by index or UUID, or ``all``; nothing when there are none."""
    if not gpus:
        return []
    if list(gpus) == ["all"]:
        return [{"Driver": "", "Count": -1, "DeviceIDs": None, "Capabilities": [list(capabilities)], "Options": {}}]
    return [{"Driver": "", "Count": 0, "DeviceIDs": list(gpus), "Capabilities": [list(capabilities)], "Options": {}}]


def server_body(spec: ServerSpec, *, labels: Mapping[str, str], network: str, publish: bool = False) -> dict[str, Any]:
    """The server under test. No ``AutoRemove``: log and exit code are collected before it goes.

    All capabilities are dropped and privileges cannot be gained; the GPU devices come from the NVIDIA runtime and
    need none. ``Init`` makes the signal of ``docker stop`` arrive although the engine is process 1.
    """
    if spec.image is None:
        raise ValueError("a server in a container needs an image")
    host_config: dict[str, Any] = {
        "NetworkMode": network,
        "DeviceRequests": gpu_requests(spec.gpus),
        "Mounts": [mount_body(mount) for mount in spec.mounts],
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Init": True,
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        # readable over the API whatever the engine's default is; a server that never stops talking fills no disk
        "LogConfig": {"Type": "json-file", "Config": dict(SERVER_LOG)},
    }
    if spec.shm_size_gib is None:
        host_config["IpcMode"] = "host"
    else:
        host_config["IpcMode"] = "private"
        host_config["ShmSize"] = int(spec.shm_size_gib * 2**30)
    if spec.cpus:
        host_config["CpusetCpus"] = spec.cpus
    body: dict[str, Any] = {
        "Image": spec.image,
        "Cmd": list(spec.argv),
        "Env": environment({**spec.env, **spec.secrets}),
        "Labels": dict(labels),
        "HostConfig": host_config,
    }
    if spec.entrypoint is not None:
        body["Entrypoint"] = list(spec.entrypoint)
    if publish:
        body["ExposedPorts"] = {f"{spec.port}/tcp": {}}
        host_config["PortBindings"] = {f"{spec.port}/tcp": [{"HostIp": "", "HostPort": str(spec.port)}]}
    return body


def _locked_down(**host_config: Any) -> dict[str, Any]:
    """Host configuration of our own containers: read-only, no privileges, no growth."""
    return {
        "ReadonlyRootfs": True,
        "Tmpfs": {"/tmp": "rw,noexec,nosuid,size=256m"},  # noqa: S108 - inside the container
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],
        "Init": True,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "2"}},
        **host_config,
    }


def client_body(
    image: str, args: Sequence[str], *, server_id: str, labels: Mapping[str, str], mounts: Sequence[Mount] = ()
) -> dict[str, Any]:
    """The load generator, in the network namespace of the server."""
    return {
        "Image": image,
        "Entrypoint": ["python3", "-m", "benchgate"],
        "Cmd": [*args, "--output", CLIENT_OUTPUT],
        "Env": environment({"PYTHONUNBUFFERED": "1", "HOME": "/tmp"}),  # noqa: S108 - inside the container
        "User": CLIENT_USER,
        "Labels": dict(labels),
        "Volumes": {CLIENT_OUTPUT: {}},
        "StopSignal": "SIGINT",  # the load generator keeps what it measured
        "HostConfig": _locked_down(
            NetworkMode=f"container:{server_id}", Mounts=[mount_body(mount) for mount in mounts]
        ),
    }


def probe_body(image: str, *, server_id: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """A container that only waits, in the server's network namespace; requests are executed in it."""
    return {
        "Image": image,
        "Entrypoint": ["python3", "-c", "import time\nwhile True: time.sleep(3600)"],
        "Cmd": [],
        "User": CLIENT_USER,
        "Labels": dict(labels),
        "Volumes": {PROBE_SCRATCH: {}},
        "HostConfig": _locked_down(NetworkMode=f"container:{server_id}"),
    }


def helper_body(
    image: str,
    script: str,
    args: Sequence[str] = (),
    *,
    labels: Mapping[str, str],
    mounts: Sequence[Mount] = (),
    gpus: Sequence[str] = (),
    host_ipc: bool = False,
    host_pid: bool = False,
    capabilities: Sequence[str] = (),
    entrypoint: Sequence[str] | None = None,
    network: str = "none",
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A short-lived container of ours that looks at the host or fills a volume; it has no network unless one is named.

    It runs as root without capabilities other than those named: volumes belong to root.
    """
    host_config = _locked_down(
        NetworkMode=network,
        Mounts=[mount_body(mount) for mount in mounts],
        DeviceRequests=gpu_requests(gpus, ("gpu", "utility")),
    )
    if host_ipc:
        host_config["IpcMode"] = "host"
    if host_pid:
        host_config["PidMode"] = "host"
        host_config["Init"] = False
    if capabilities:
        host_config["CapAdd"] = list(capabilities)
    return {
        "Image": image,
        "Entrypoint": list(entrypoint) if entrypoint is not None else ["python3", "-c", script],
        "Cmd": list(args),
        "Env": environment(env or {}),
        "User": "0:0",
        "Labels": dict(labels),
        "HostConfig": host_config,
    }
