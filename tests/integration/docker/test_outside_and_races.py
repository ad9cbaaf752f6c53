"""What others do to our containers, and what two of us do at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.errors import BenchgateError, HostError, LeaseHeld, MeasureFailed
from benchgate.hosts import docker_network
from benchgate.hosts.base import ServerHandle, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_engine import DockerEngine
from tests.integration.docker.test_server_life import left_of, wait_ready

pytestmark = pytest.mark.docker
MakeSpec = Callable[..., ServerSpec]


def at_once(count: int, work: Callable[[], Any]) -> list[Any]:
    """The results (or errors) of ``count`` threads that start together."""
    barrier = threading.Barrier(count)
    results: list[Any] = []

    def one() -> None:
        barrier.wait()
        try:
            results.append(work())
        except BenchgateError as error:
            results.append(error)

    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_starts_at_the_same_moment_one_gets_the_placement(host: DockerHost, server: MakeSpec, campaign: str) -> None:
    def start() -> ServerHandle:
        return DockerHost(host.name, host.spec).start(server())

    results = at_once(4, start)

    assert len([result for result in results if isinstance(result, ServerHandle)]) == 1
    assert len([result for result in results if isinstance(result, LeaseHeld)]) == 3
    assert len(left_of(host, campaign)) == 1


def test_networks_made_at_the_same_moment_end_as_one(host: DockerHost, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{host.name}-net"
    monkeypatch.setattr(docker_network, "NETWORK", name)

    def make() -> str:
        return docker_network.ensure_internal_network(DockerEngine(host.name, host.engine.connection))

    ids = at_once(5, make)
    again = docker_network.ensure_internal_network(host.engine)
    present = [network for network in host.engine.api.networks(names=[name]) if network["Name"] == name]
    for network in present:
        host.engine.api.remove_network(network["Id"])

    assert [network["Id"] for network in present] == [again]
    assert all(isinstance(result, str) for result in ids)


def test_a_network_of_that_name_with_a_way_out_is_refused(host: DockerHost, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{host.name}-open"
    monkeypatch.setattr(docker_network, "NETWORK", name)
    made = host.engine.api.create_network(name)["Id"]
    try:
        with pytest.raises(HostError, match=rf"network {name} exists and is not internal.*docker network rm"):
            docker_network.ensure_internal_network(host.engine)
    finally:
        host.engine.api.remove_network(made)


def test_a_server_that_somebody_stops_is_seen_to_have_ended(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    host.engine.api.stop(handle.id, timeout=2)

    status = host.status(handle)
    assert not status.running
    assert status.exit.exit_code == 0
    with pytest.raises(MeasureFailed, match="does not run any more"):
        host.run_client(handle, ["bench", "8000"], Path("unused"), on_line=lambda _: None, timeout_s=5)


def test_a_server_that_somebody_removes_is_an_end_that_nobody_saw(
    host: DockerHost, server: MakeSpec, campaign: str
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    host.engine.api.remove_container(handle.id, force=True, v=True)

    assert not host.status(handle).running
    assert host.status(handle).exit.exit_code is None
    assert host.stop(handle).exit_code is None
    assert left_of(host, campaign) == []
    with pytest.raises(HostError, match="is gone, and its log with it"):
        list(host.log_lines(handle))


def test_a_client_that_somebody_removes_fails_the_measurement(
    host: DockerHost, server: MakeSpec, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def remove_it(line: str) -> None:
        if line == "cell 1/1 3 of 3":
            host.engine.api.remove_container(f"{handle.name}-client", force=True, v=True)

    with pytest.raises((MeasureFailed, HostError), match=r"removed from outside|No such container"):
        host.run_client(handle, ["hang", "8000"], tmp_path, on_line=remove_it, timeout_s=60)


def test_a_client_that_a_killed_worker_left_is_replaced(host: DockerHost, server: MakeSpec, tmp_path: Path) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    labels = host.engine.api.inspect_container(handle.id)["Config"]["Labels"]
    body = {"Image": server().image, "Cmd": ["serve", "9"], "Labels": labels, "HostConfig": {"NetworkMode": "none"}}
    left = host.engine.api.create_container_from_config(body, f"{handle.name}-client")["Id"]

    code = host.run_client(handle, ["bench", "8000"], tmp_path, on_line=lambda _: None, timeout_s=60)

    assert code == 0
    assert left not in [item["Id"] for item in host.engine.api.containers(all=True)]


def test_a_task_that_is_killed_late_leaves_the_client_of_the_next_one_alone(
    host: DockerHost, server: MakeSpec, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    labels = host.engine.api.inspect_container(handle.id)["Config"]["Labels"]
    beside = {"NetworkMode": f"container:{handle.id}"}
    body = {"Image": server().image, "Cmd": ["serve", "9"], "Labels": labels, "HostConfig": beside}
    of_the_next = host.engine.api.create_container_from_config(body, f"{handle.name}-client")["Id"]

    host.kill_client(handle)

    assert of_the_next in [item["Id"] for item in host.engine.api.containers(all=True)]


def test_a_probe_that_somebody_removes_is_made_again(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    host.engine.api.remove_container(f"{handle.name}-probe", force=True, v=True)

    assert host.http_get(handle, "/health")[0] == 200


def test_many_threads_ask_one_server(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    host.engine.api.remove_container(f"{handle.name}-probe", force=True, v=True)

    results = at_once(4, lambda: DockerHost(host.name, host.spec).http_get(handle, "/health"))

    assert results == [(200, b"ok")] * 4


def test_a_killed_task_ends_its_client_at_once(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def kill(line: str) -> None:
        if line == "cell 1/1 3 of 3":
            DockerHost(host.name, host.spec).kill_client(handle)

    with pytest.raises((MeasureFailed, HostError)):
        host.run_client(handle, ["hang", "8000"], tmp_path, on_line=kill, timeout_s=60)

    assert f"{handle.name}-client" not in left_of(host, campaign)
    assert host.status(handle).running
    host.kill_client(handle)  # nothing there: nothing happens


def test_a_launch_that_is_tried_again_takes_its_own_lease_back_and_no_other(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())  # and then its worker was killed
    wait_ready(host, handle)
    beside = host.start(server(placement="b", argv=["serve", "8001"], port=8001))

    with pytest.raises(LeaseHeld):
        host.start(server())  # whoever does not ask for it gets nothing
    others = [host.remove_earlier(server(**fields)) for fields in ({"arm": "triton"}, {"run": f"{campaign}.night-2"})]
    removed = host.remove_earlier(server())
    again = host.start(server())

    assert others == [[], []]
    assert len(removed) == 2  # the server, and the probe that asked it
    assert again.id != handle.id
    assert host.status(beside).running
    assert host.remove_earlier(server(arm="triton")) == []


def test_a_server_that_two_stop_at_once_ends_once_and_both_know_how(
    host: DockerHost, server: MakeSpec, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    asked: list[str] = []
    ask_to_stop = DockerHost._ask_to_stop

    def ask(one: DockerHost, asked_of: ServerHandle, grace_s: float) -> None:
        asked.append(asked_of.id)
        ask_to_stop(one, asked_of, grace_s)

    monkeypatch.setattr(DockerHost, "_ask_to_stop", ask)

    ends = at_once(3, lambda: DockerHost(host.name, host.spec).stop(handle))

    assert [end.exit_code for end in ends] == [0, 0, 0], ends
    assert asked == [handle.id]
    assert b"got the signal, leaving\n" in list(host.log_lines(handle))
    assert left_of(host, campaign) == []


def test_how_a_server_ended_is_known_though_somebody_takes_its_log_away(
    host: DockerHost, server: MakeSpec, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def removed_meanwhile(one: DockerHost, of: ServerHandle) -> Iterator[bytes]:
        one.engine.api.remove_container(of.id, force=True, v=True)
        raise HostError("can not get logs from container which is dead or marked for removal")

    monkeypatch.setattr(DockerHost, "log_lines", removed_meanwhile)

    assert host.stop(handle).exit_code == 0
    assert left_of(host, campaign) == []


def test_a_load_generator_that_is_asked_to_finish_brings_home_what_it_has(
    host: DockerHost, server: MakeSpec, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def stop_it(line: str) -> None:
        if line == "cell 1/1 3 of 3":
            host.engine.api.stop(handle.id, timeout=2)
            DockerHost(host.name, host.spec).stop_client(handle)

    code = host.run_client(handle, ["hang", "8000"], tmp_path, on_line=stop_it, timeout_s=60)

    assert code == 130
    assert (tmp_path / "summary.json").is_file()
    host.stop_client(handle)  # nothing there: nothing happens
