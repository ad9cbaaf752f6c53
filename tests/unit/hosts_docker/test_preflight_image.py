"""What preflight says of an image that is not there."""

from __future__ import annotations

from typing import Any

from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker_preflight import images
from benchgate.spec.hosts import HostSpec

HOST = HostSpec.model_validate({"docker_url": "unix:///var/run/docker.sock", "placements": {"a": {}}})


class Engine:
    """Knows the client image alone, and fails the test that asks for an image without a name."""

    host = "gpu1"

    def image(self, name: str) -> dict[str, Any] | None:
        assert name
        return {"Id": "sha256:1"} if name == HOST.client_image else None


def test_a_server_without_an_image_is_no_fault_of_the_engine() -> None:
    spec = ServerSpec(campaign="c", run="c.1", arm="a", placement="a", argv=["serve"], env={}, port=8000)

    server, client = images(Engine(), HOST, spec)  # type: ignore[arg-type]

    assert (server.check, server.ok, client.ok) == ("image", False, True)
    assert server.message == "no image of the server is on host gpu1"
    assert server.remedy == "pull it first: the seed step does that"
