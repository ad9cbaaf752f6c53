"""Start, watch, ask, measure and stop a server in a container, on a real Docker Engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate import names
from benchgate.errors import HostError, LeaseHeld, MeasureFailed
from benchgate.hosts import docker_containers
from benchgate.hosts.base import Mount, ServerHandle, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.records import ExitInfo

pytestmark = pytest.mark.docker
MakeSpec = Callable[..., ServerSpec]


def wait_ready(host: DockerHost, handle: ServerHandle) -> None:
    """Until the server answers."""
    for _ in range(100):
        try:
            if host.http_get(handle, "/health")[0] == 200:
                return
        except HostError:
            pass
        time.sleep(0.1)
    raise AssertionError(list(host.log_lines(handle)))


def left_of(host: DockerHost, campaign: str) -> list[str]:
    """Names of our containers of a campaign, running or not."""
    found = docker_containers.ours(host.engine, **{names.LABEL_CAMPAIGN: campaign})
    return sorted(item["Names"][0].lstrip("/") for item in found)


def test_a_server_is_started_labelled_asked_and_stopped_without_a_trace(
    host: DockerHost, server: MakeSpec, campaign: str
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    found = docker_containers.inspect(host.engine, handle.id)
    status, body = host.http_post(handle, "/v1/x", b"x" * 700_000)
    missing = host.http_get(handle, "/nothing")
    running = host.status(handle)
    how = host.stop(handle)

    assert found is not None
    labels = found["Config"]["Labels"]
    assert labels[names.LABEL_OWNER] == "benchgate"
    assert (labels[names.LABEL_RUN], labels[names.LABEL_ARM]) == (f"{campaign}.night-1", "marlin")
    assert labels[names.LABEL_PLACEMENT] == f"{campaign}/a"
    assert found["Name"] == f"/{names.lease_name(campaign, 'a')}"
    assert not found["HostConfig"]["AutoRemove"]
    assert found["HostConfig"]["CapDrop"] == ["ALL"]
    assert found["HostConfig"]["SecurityOpt"] == ["no-new-privileges"]
    assert (status, body) == (200, b"700000 " + b"x" * 20)
    assert missing[0] == 404
    assert running.running
    assert running.exit == ExitInfo()
    assert (how.exit_code, how.oom_killed) == (0, False)
    assert left_of(host, campaign) == []


def test_the_log_is_whole_after_the_container_is_gone(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    last = host.log_tail(handle, 2)

    host.stop(handle)

    assert len(last) == 2
    assert last == [line for line in host.log_lines(handle) if line in last]
    log = [line.decode().rstrip() for line in host.log_lines(handle)]
    assert 'argv ["serve", "8000"]' in log[:2]
    assert "on stderr" in log
    assert log[-1] == "got the signal, leaving"


def test_stopping_twice_says_the_same(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server(argv=["exit", "7", "last words"]))
    while host.status(handle).running:
        time.sleep(0.05)

    first, second = host.stop(handle), host.stop(handle)

    assert first.exit_code == 7
    assert second == first
    assert host.status(handle).exit == first


def test_a_server_that_ignores_the_signal_is_killed(host: DockerHost, server: MakeSpec, campaign: str) -> None:
    handle = host.start(server(argv=["stubborn", "8000"]))
    wait_ready(host, handle)

    how = host.stop(handle, grace_s=1)

    assert (how.exit_code, how.signal) == (137, "SIGKILL")
    assert left_of(host, campaign) == []


def test_a_second_launch_on_the_placement_is_told_who_holds_it(host: DockerHost, server: MakeSpec) -> None:
    first = host.start(server())

    with pytest.raises(LeaseHeld, match=r"held by arm marlin of run .*night-1.*since 20"):
        host.start(server(arm="triton"))
    other = host.start(server(arm="triton", placement="b", argv=["serve", "8001"], port=8001))
    host.stop(first)
    again = host.start(server(arm="triton"))

    assert again.id != first.id
    assert other.base_url == "http://127.0.0.1:8001"


def test_a_start_that_fails_leaves_nothing(host: DockerHost, server: MakeSpec, campaign: str) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"image": "benchgate-test/no-such-image:1"}, "No such image.*pull or build the image"),
        ({"gpus": ["0"]}, "could not select device driver.*install the NVIDIA container toolkit"),
        ({"mounts": [Mount("/no/such/folder", "/vocab")]}, "bind source path does not exist.*create that folder"),
    ]
    for fields, message in cases:
        with pytest.raises(HostError, match=message) as caught:
            host.start(server(**fields))
        assert f"host {campaign}" in str(caught.value)
        assert left_of(host, campaign) == []


def test_an_interrupted_start_leaves_nothing(
    host: DockerHost, server: MakeSpec, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(docker_containers, "start", interrupt)

    with pytest.raises(KeyboardInterrupt):
        host.start(server())

    assert left_of(host, campaign) == []


def test_the_server_has_no_way_out(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())

    networks = host.engine.api.inspect_container(handle.id)["NetworkSettings"]["Networks"]

    assert list(networks) == ["benchgate-internal"]
    assert host.engine.api.inspect_network("benchgate-internal")["Internal"] is True


def test_a_secret_reaches_the_server_and_its_kept_log_does_not_show_it(host: DockerHost, server: MakeSpec) -> None:
    secret = "hf_averysecretvalue123"
    handle = host.start(server(secrets={"HF_TOKEN": secret}, argv=["serve", "8000", secret]))
    wait_ready(host, handle)

    environment = host.http_get(handle, "/env")[1].decode()
    labels = host.engine.api.inspect_container(handle.id)["Config"]["Labels"]
    host.stop(handle)

    assert secret in environment
    assert secret not in str(labels)
    assert secret not in repr(handle)
    log = b"".join(host.log_lines(handle)).decode()
    assert "***" in log
    assert secret not in log


def test_a_server_that_does_not_answer_is_an_error_that_names_it(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server(argv=["serve", "9999"]))

    with pytest.raises(HostError, match=rf"GET /health in container {handle.name}: ConnectionRefusedError"):
        host.http_get(handle, "/health")
    slow = host.http_get
    with pytest.raises(HostError, match="GET /slow"):
        slow(handle, "/slow", timeout_s=0.5)


def test_an_answer_that_takes_too_long_is_given_up(host: DockerHost, server: MakeSpec) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    with pytest.raises(HostError, match=r"/slow in container .*: (TimeoutError|timeout)"):
        host.http_get(handle, "/slow", timeout_s=1)

    assert host.http_get(handle, "/health")[0] == 200


def test_the_client_runs_beside_the_server_and_hands_its_files_back(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    lines: list[str] = []

    code = host.run_client(handle, ["bench", "8000"], tmp_path / "out", on_line=lines.append, timeout_s=60)

    assert code == 0
    assert lines[0] == "server says 200"
    assert lines.count("cell 1/1 2 of 3") == 1
    assert "note on stderr" in lines
    assert (tmp_path / "out" / "summary.json").read_text().startswith('{"completed": 3')
    assert (tmp_path / "out" / "deep" / "requests.bin").stat().st_size == 1 << 20
    assert f"{handle.name}-client" not in left_of(host, campaign)


def test_a_client_that_fails_gives_its_exit_code_and_its_files(
    host: DockerHost, server: MakeSpec, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    code = host.run_client(handle, ["fail", "8000"], tmp_path, on_line=lambda _: None, timeout_s=60)

    assert code == 3
    assert (tmp_path / "summary.json").is_file()


def test_a_client_past_its_limit_is_stopped_and_what_it_measured_is_kept(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    lines: list[str] = []

    with pytest.raises(MeasureFailed, match="ran longer than 2 s"):
        host.run_client(handle, ["hang", "8000"], tmp_path, on_line=lines.append, timeout_s=2)

    assert "interrupted, writing what there is" in lines
    assert (tmp_path / "summary.json").is_file()
    assert f"{handle.name}-client" not in left_of(host, campaign)


def test_a_link_among_the_results_is_refused(host: DockerHost, server: MakeSpec, tmp_path: Path) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    with pytest.raises(MeasureFailed, match="not a plain file"):
        host.run_client(handle, ["link", "8000"], tmp_path, on_line=lambda _: None, timeout_s=60)

    assert not (tmp_path / "innocent.json").exists()


def test_an_interrupted_measurement_leaves_no_client(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        host.run_client(handle, ["hang", "8000"], tmp_path, on_line=interrupt, timeout_s=60)

    assert f"{handle.name}-client" not in left_of(host, campaign)


def test_the_reaper_takes_what_is_over_and_leaves_the_rest(host: DockerHost, server: MakeSpec, campaign: str) -> None:
    old = host.start(server(run="old"))
    wait_ready(host, old)
    new = host.start(server(run="new", placement="b"))

    said = host.reap(run_is_over=lambda run: run == "old")

    assert left_of(host, campaign) == [new.name]
    assert len([line for line in said if campaign in line]) == 2  # the server and the probe beside it
    assert host.status(new).running
