"""What a person writes in ``include/hosts.yaml``: hosts and their placements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from benchgate.spec.campaign import Model, Name
from benchgate.spec.inventory_rules import inventory_complaints, shared_gpus
from benchgate.spec.rules import refuse


def _as_text(value: object) -> object:
    """``gpus: [0, 1]`` and ``cpus: 3`` read naturally; an index is a name here, not a quantity."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Index = Annotated[str, BeforeValidator(_as_text)]


class TlsFiles(Model):
    """All three files, or the Docker client silently speaks plain HTTP."""

    ca: str
    cert: str
    key: str


class PlacementSpec(Model):
    """Where an arm runs on a host."""

    gpus: list[Index] = []  # GPU indexes or UUIDs, or only "all"; empty: CPU only
    cpus: Annotated[Index, Field(pattern=r"^\d+(-\d+)?(,\d+(-\d+)?)*$")] | None = None  # CPU set such as 0-7
    # where the server listens; 0: any free port. Unless given: 8000 in a container, 0 on a process host
    port: int = Field(8000, ge=0, lt=65536)
    numa: Index | None = None
    note: str | None = None  # e.g. "one NVLink quad"

    @property
    def gpu_count(self) -> int:
        """How many GPUs the placement has; 0 without any, and for ``all``, which the host alone knows."""
        return 0 if self.gpus == ["all"] else len(self.gpus)


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
    # who fetches models of the Hub: this worker, which then sends them through the Docker Engine, or the host itself
    fetch: Literal["worker", "host"] = "worker"
    mirror: str | None = None  # registry mirror the images are pulled from
    # `~` in the paths below: this folder on the host; None: the home of whoever runs Benchgate (local hosts only)
    home: str | None = Field(None, pattern=r"^/")
    # where a person on the host keeps models and vocabularies: what a command by hand mounts. None: its usual places
    hub_cache: str | None = None
    vocab_dir: str | None = None
    # folders that a campaign may have mounted, read-only (model.source.host_path); none: no folder of this host
    model_paths: list[Annotated[str, Field(pattern=r"^/[^\x00-\x1f]*$")]] = []
    # images that campaigns may run here, as patterns (vllm/vllm-openai:*, registry.example.net/*); none: any
    images: list[str] = []
    client_image: str = "benchgate/client:latest"
    # of each repository, how many images that our own pulls brought here stay; None: all. Others' images always stay
    keep_images: int | None = Field(None, ge=1)
    queue: str | None = None  # Airflow worker queue of the site
    placements: dict[Name, PlacementSpec] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _processes_share_ports(cls, data: Any) -> Any:
        """Containers each have their own port 8000; processes do not, so theirs is any free one by default."""
        if not isinstance(data, dict) or data.get("kind") != "process" or not isinstance(data.get("placements"), dict):
            return data
        placements = {
            name: {"port": 0, **placement} if isinstance(placement, dict) else placement
            for name, placement in data["placements"].items()
        }
        return {**data, "placements": placements}

    @model_validator(mode="after")
    def _docker_needs_an_address(self) -> HostSpec:
        given = (self.docker_url is not None) + (self.docker_conn_id is not None)
        if self.kind == "docker" and given != 1:
            raise ValueError("a docker host needs either docker_url or docker_conn_id")
        if self.kind == "process" and (given or self.tls):
            raise ValueError("a process host is this machine: docker_url, docker_conn_id and tls do not apply")
        if self.kind == "process" and self.keep_images is not None:
            raise ValueError("keep_images is for Docker hosts; a process host has no images")
        if self.tls and self.docker_url and not self.docker_url.startswith("tcp://"):
            raise ValueError("tls belongs to a tcp:// docker_url")
        return self

    def absolute(self, path: str) -> str:
        """A path of this host with ``~`` written out, as a Docker Engine needs it."""
        if not path.startswith("~/"):
            return path
        return f"{(self.home or str(Path.home())).rstrip('/')}/{path[2:]}"


class Inventory(Model):
    """The whole of hosts.yaml."""

    hosts: dict[Name, HostSpec] = Field(min_length=1)

    @model_validator(mode="after")
    def _rules_across_fields(self) -> Inventory:
        refuse(inventory_complaints(self.model_dump(exclude_unset=True)))
        return self

    def placement(self, ref: str) -> tuple[HostSpec, PlacementSpec] | None:
        """Look up ``host/placement``; None when either part is unknown."""
        host_name, _, placement_name = ref.partition("/")
        host = self.hosts.get(host_name)
        placement = host.placements.get(placement_name) if host else None
        return (host, placement) if host and placement else None

    @property
    def refs(self) -> list[str]:
        """Every placement as ``host/placement``, in file order."""
        return [f"{host}/{name}" for host, spec in self.hosts.items() for name in spec.placements]

    def overlaps(self, one: str, other: str) -> list[str]:
        """The GPUs that two placements share (``["all"]`` when one takes all). They must never be used at once."""
        first, second = self.placement(one), self.placement(other)
        if first is None or second is None or first[0] is not second[0]:
            return []
        return shared_gpus(first[1].gpus, second[1].gpus)
