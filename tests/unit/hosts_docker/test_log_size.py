"""What a server under test can take of its host, and who can reach it there."""

from __future__ import annotations

from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker_create import SERVER_LOG, server_body


def body() -> dict[str, object]:
    spec = ServerSpec(campaign="c", run="r", arm="a", placement="p", argv=["serve"], env={}, port=8000, image="i:1")
    made: dict[str, object] = server_body(spec, labels={}, network="benchgate-internal")
    return made


def test_a_server_that_never_stops_talking_fills_no_disk() -> None:
    host = body()["HostConfig"]
    assert isinstance(host, dict)

    assert host["LogConfig"] == {"Type": "json-file", "Config": SERVER_LOG}
    assert (SERVER_LOG["max-size"], SERVER_LOG["max-file"]) == ("1g", "2")


def test_no_port_of_the_host_leads_to_a_server() -> None:
    made = body()
    host = made["HostConfig"]
    assert isinstance(host, dict)

    assert "PortBindings" not in host
    assert "ExposedPorts" not in made
    assert host["NetworkMode"] == "benchgate-internal"
