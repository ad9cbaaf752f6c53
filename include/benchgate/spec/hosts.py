"""What a person writes in ``include/hosts.yaml``: hosts and their placements."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from benchgate.spec.campaign import Model, Name


class TlsFiles(Model):
    """All three files, or the Docker client silently speaks plain HTTP."""

    ca: str
    cert: str
    key: str


class PlacementSpec(Model):
    """Where an arm runs on a host."""

    gpus: list[str] = []  # GPU indexes or UUIDs; empty: CPU only
    cpus: str | None = None  # CPU set such as 0-7
    port: int = Field(8000, gt=0, lt=65536)
    numa: str | None = None
    note: str | None = None  # e.g. "one NVLink quad"


class HostSpec(Model):
    """One Docker Engine, or this machine without Docker (``kind: process``)."""

    kind: Literal["docker", "process"] = "docker"
    docker_url: str | None = None  # unix:///.., tcp://..:2376, ssh://user@host
    docker_conn_id: str | None = None  # an Airflow docker connection
    tls: TlsFiles | None = None
    address: str | None = None  # where published ports are reached; None: the server's own network namespace
    labels: dict[str, str] = {}
    memory_gib: float | None = Field(None, gt=0)
    unified_memory: bool = False
    egress: bool = True  # can the host itself fetch from the internet
    mirror: str | None = None  # registry mirror the images are pulled from
    client_image: str = "benchgate/client:latest"
    queue: str | None = None  # Airflow worker queue of the site
    placements: dict[Name, PlacementSpec] = Field(min_length=1)

    @model_validator(mode="after")
    def _docker_needs_an_address(self) -> HostSpec:
        given = (self.docker_url is not None) + (self.docker_conn_id is not None)
        if self.kind == "docker" and given != 1:
            raise ValueError("a docker host needs either docker_url or docker_conn_id")
        if self.kind == "process" and (given or self.tls):
            raise ValueError("a process host is this machine: docker_url, docker_conn_id and tls do not apply")
        return self


class Inventory(Model):
    """The whole of hosts.yaml."""

    hosts: dict[Name, HostSpec] = Field(min_length=1)

    def placement(self, ref: str) -> tuple[HostSpec, PlacementSpec] | None:
        """Look up ``host/placement``; None when either part is unknown."""
        host_name, _, placement_name = ref.partition("/")
        host = self.hosts.get(host_name)
        placement = host.placements.get(placement_name) if host else None
        return (host, placement) if host and placement else None
