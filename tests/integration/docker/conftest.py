"""A real Docker Engine with our test images, and a host on it whose containers go away with the test."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.hosts import docker_containers, docker_direct
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.names import LABEL_CAMPAIGN
from benchgate.spec.hosts import HostSpec
from tests.support import base_image
from tests.support.docker_engine import SecondEngine, second_engine
from tests.support.requirements import require

LOCAL = "unix:///var/run/docker.sock"


@pytest.fixture(scope="session")
def local_api() -> Iterator[Any]:
    """The local engine with the test images on it."""
    require("docker")
    engine = DockerEngine("local", EngineConnection(LOCAL))
    base_image.ensure_base_image(LOCAL)
    base_image.build_test_server(engine.api)
    base_image.build_test_client(engine.api)
    yield engine.api
    engine.close()


@pytest.fixture
def campaign() -> str:
    """A campaign name of this test alone: what it leaves is known by it."""
    return f"t-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def host(
    local_api: Any, campaign: str, benchgate_home: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[DockerHost]:
    """A Docker host on the local engine, of a name of its own, so that leases of two tests never meet.

    Seen as by a worker that is itself in a container: no bridge of the engine is on its machine.
    """
    monkeypatch.setattr(docker_direct, "INTERFACES", tmp_path / "none")
    spec = HostSpec.model_validate(
        {"docker_url": LOCAL, "client_image": base_image.TEST_CLIENT, "placements": {"a": {}, "b": {"port": 8001}}}
    )
    made = DockerHost(campaign, spec)
    yield made
    for left in docker_containers.ours(made.engine, **{LABEL_CAMPAIGN: campaign}):
        docker_containers.remove(made.engine, left["Id"])
    made.engine.close()


@pytest.fixture
def server(campaign: str) -> Callable[..., ServerSpec]:
    """A server to start; keyword arguments replace fields."""

    def make(**fields: Any) -> ServerSpec:
        given: dict[str, Any] = {
            "campaign": campaign,
            "run": f"{campaign}.night-1",
            "arm": "marlin",
            "placement": "a",
            "argv": ["serve", "8000"],
            "env": {"PLAIN": "yes"},
            "port": 8000,
            "image": base_image.TEST_SERVER,
            "shm_size_gib": 0.1,
        }
        return ServerSpec(**{**given, **fields})

    return make


@pytest.fixture(scope="session")
def remote(local_api: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecondEngine]:
    """A second Docker Engine at another address, over TLS, with the test images and no folder in common."""
    require("root")
    with second_engine(tmp_path_factory.mktemp("second-engine")) as running:
        engine = DockerEngine("second", running.connection())
        for tag in (base_image.TEST_SERVER, base_image.TEST_CLIENT):
            base_image.copy_image(local_api, engine.api_with_timeout(300), tag)
        engine.close()
        yield running
