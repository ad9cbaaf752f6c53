"""The short way to a server on this very machine: over the Docker bridge, without a container in between.

A request through the probe starts a process on the host (0.2 s of a core). Where the worker shares its cores with a CPU
engine, that would be seen in what is measured; here it costs a millisecond.
"""

from __future__ import annotations

from pathlib import Path

import requests

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import ServerHandle
from benchgate.hosts.bounded import AnswerTooLarge, read_answer
from benchgate.hosts.docker_engine import DockerEngine

INTERFACES = Path("/sys/class/net")


class NotReachable(Exception):
    """Nothing accepts connections on the bridge (yet): the server may still listen on its own loopback."""


def bridge_address(engine: DockerEngine, handle: ServerHandle) -> str | None:
    """The server's address on a bridge of this machine; None where there is no such bridge.

    The address alone would prove nothing: a socket may be forwarded from elsewhere, and a worker in a container may
    have a network of the same numbers. Docker names a bridge after its network's id: that name is here, or it is not.
    """
    if not engine.connection.url.startswith("unix://"):
        return None
    found = containers.inspect(engine, handle.id)
    networks = (found or {}).get("NetworkSettings", {}).get("Networks") or {}
    for network in networks.values():
        if network.get("IPAddress") and (INTERFACES / f"br-{str(network.get('NetworkID'))[:12]}").exists():
            return str(network["IPAddress"])
    return None


def request(where: str, url: str, method: str, body: bytes | None, *, timeout_s: float) -> tuple[int, bytes]:
    """Send one request and return status and body.

    Raises:
        NotReachable: the connection was refused.
        HostError: it was accepted and no answer came.
    """
    headers = {"Content-Type": "application/json"} if body is not None else {}
    try:
        with requests.Session() as session:
            session.trust_env = False  # a proxy must not stand between us and this machine
            reply = session.request(method, url, data=body, headers=headers, timeout=timeout_s, stream=True)
            return reply.status_code, read_answer(reply, limit_s=timeout_s)
    except requests.ConnectTimeout as error:
        raise NotReachable(str(error)) from error
    except requests.Timeout as error:
        raise HostError(f"{where}: no answer within {timeout_s:g} s") from error
    except AnswerTooLarge as error:
        raise HostError(f"{where}: {error}") from error
    except requests.ConnectionError as error:
        if "refused" in str(error).lower() or "no route" in str(error).lower():
            raise NotReachable(str(error)) from error
        raise HostError(f"{where}: {error}") from error
