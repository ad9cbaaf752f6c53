"""On the machine of the engine itself, a server is asked over the bridge; everywhere else through the probe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.errors import HostError
from benchgate.hosts import docker_direct
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from tests.integration.docker.test_server_life import left_of, wait_ready

pytestmark = pytest.mark.docker
MakeSpec = Callable[..., ServerSpec]


@pytest.fixture
def near(host: DockerHost, monkeypatch: pytest.MonkeyPatch) -> DockerHost:
    """The host, seen from its own machine."""
    monkeypatch.setattr(docker_direct, "INTERFACES", Path("/sys/class/net"))
    return host


def test_requests_over_the_bridge_need_no_probe(near: DockerHost, server: MakeSpec, campaign: str) -> None:
    handle = near.start(server())
    wait_ready(near, handle)

    posted = near.http_post(handle, "/v1/x", b"x" * 500_000)
    there = left_of(near, campaign)

    assert posted == (200, b"500000 " + b"x" * 20)
    assert there == [handle.name] or f"{handle.name}-probe" in there  # a probe only while the server did not listen yet


def test_a_server_on_its_own_loopback_is_asked_from_inside(near: DockerHost, server: MakeSpec, campaign: str) -> None:
    inside = ["python3", "-m", "http.server", "--bind", "127.0.0.1", "8000"]
    handle = near.start(server(entrypoint=inside, argv=[]))
    for _ in range(50):
        try:
            status, _ = near.http_get(handle, "/no-such-page")
            break
        except HostError:
            continue

    assert status == 404
    assert f"{handle.name}-probe" in left_of(near, campaign)


def test_an_accepted_request_without_an_answer_is_given_up_and_not_sent_again(
    near: DockerHost, server: MakeSpec
) -> None:
    handle = near.start(server())
    wait_ready(near, handle)

    with pytest.raises(HostError, match=r"GET /slow in container .*: no answer within 0.5 s"):
        near.http_get(handle, "/slow", timeout_s=0.5)

    assert b"".join(near.log_lines(handle)).count(b"request /slow") <= 1


def test_a_bridge_that_is_not_on_this_machine_is_not_used(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())

    assert docker_direct.bridge_address(host.engine, handle) is None
