"""A server as the ``docker run`` that a person would type. Pure: no Docker, and never a secret's value.

``docker_create.py`` asks the Docker Engine for the same over its API; a test keeps the two equal.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker_create import SERVER_LOG
from benchgate.secrets import mask


@dataclass(frozen=True)
class Supervision:
    """What Benchgate adds to a server that it starts itself: a lease, labels, no way out, no privileges."""

    name: str
    labels: Mapping[str, str]
    network: str


@dataclass(frozen=True)
class DockerRun:
    """A command line, kept in groups that belong on one line: a flag with its value."""

    groups: tuple[tuple[str, ...], ...]

    @property
    def argv(self) -> list[str]:
        """The command as a list of words."""
        return [word for group in self.groups for word in group]

    def shell(self) -> str:
        """The command for a shell: quoted, one group a line, lines joined by backslashes."""
        return " \\\n  ".join(" ".join(quote(word) for word in group) for group in self.groups)


def docker_run(spec: ServerSpec, *, supervision: Supervision | None = None, publish: bool = False) -> DockerRun:
    """The ``docker run`` of a server.

    Args:
        spec: the server. Of secrets only the names are written: ``docker`` takes their values from its own environment.
        supervision: how Benchgate runs it; None writes what a person needs to have the same server by hand.
        publish: whether the server's port is reachable on the host under the same number.

    Raises:
        ValueError: the server has no image.
    """
    if spec.image is None:
        raise ValueError("a server in a container needs an image")
    groups: list[Sequence[str]] = [("docker", "run", "-d")]
    if supervision:
        groups += [("--name", supervision.name), ("--network", supervision.network)]
        groups += [("--label", f"{name}={value}") for name, value in supervision.labels.items()]
        groups += [("--cap-drop", "ALL"), ("--security-opt", "no-new-privileges"), ("--init",), ("--restart", "no")]
        groups += [("--log-driver", "json-file")]
        groups += [("--log-opt", f"{name}={value}") for name, value in SERVER_LOG.items()]
    if spec.gpus:
        groups.append(("--gpus", gpus_value(spec.gpus)))
    if spec.cpus:
        groups.append(("--cpuset-cpus", spec.cpus))
    if spec.shm_size_gib is None:
        groups.append(("--ipc=host",))
    else:
        groups += [("--ipc=private",)] if supervision else []
        groups.append(("--shm-size", f"{int(spec.shm_size_gib * 2**30)}b"))
    if publish:
        groups.append(("-p", f"{spec.port}:{spec.port}"))
    groups += [("-v", mount_value(mount)) for mount in spec.mounts]
    groups += [("--env", name) for name in spec.secrets]
    groups += [("--env", f"{name}={mask(value)}") for name, value in spec.env.items() if name not in spec.secrets]
    # docker run takes one word for --entrypoint; the rest of it goes in front of the arguments
    entrypoint, argv = spec.entrypoint, [mask(word) for word in spec.argv]
    if entrypoint is not None:
        groups.append(("--entrypoint", entrypoint[0] if entrypoint else ""))
        argv = [*entrypoint[1:], *argv]
    groups += _arguments(spec.image, argv)
    return DockerRun(tuple(tuple(group) for group in groups))


def gpus_value(gpus: Sequence[str]) -> str:
    """The value of ``--gpus``. It is read as comma-separated, so a list of devices carries its own double quotes."""
    if list(gpus) == ["all"]:
        return "all"
    return f"device={gpus[0]}" if len(gpus) == 1 else f'"device={",".join(gpus)}"'


def mount_value(mount: Mount) -> str:
    """The value of ``-v`` for a volume or a path of the host."""
    return f"{mount.source}:{mount.target}{':ro' if mount.read_only else ''}"


def quote(word: str) -> str:
    """One word for a POSIX shell. A leading ``~/`` stays as a person writes it."""
    if word.startswith("~/"):
        return f"~/{quote(word[2:])}"
    return shlex.quote(word)


def _arguments(image: str, argv: Sequence[str]) -> list[list[str]]:
    """The image with what follows it, then each argument with its values."""
    groups: list[list[str]] = [[image]]
    for word in argv:
        if word.startswith("-") and not _is_number(word):
            groups.append([word])
        else:
            groups[-1].append(word)
    return groups


def _is_number(word: str) -> bool:
    return re.fullmatch(r"-\.?[0-9].*", word) is not None
