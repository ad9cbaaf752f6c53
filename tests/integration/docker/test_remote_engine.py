"""A Docker Engine at another address, over TLS, that shares no folder with the worker."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgate import names
from benchgate.errors import HostError
from benchgate.hosts import docker_containers
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.spec.hosts import HostSpec, TlsFiles
from tests.integration.docker.conftest import LOCAL
from tests.integration.docker.test_server_life import wait_ready
from tests.support import base_image
from tests.support.docker_engine import SecondEngine, make_certificates

pytestmark = [pytest.mark.docker, pytest.mark.slow]
MakeSpec = Callable[..., ServerSpec]


@pytest.fixture
def far(remote: SecondEngine, campaign: str, benchgate_home: Any) -> Iterator[DockerHost]:
    spec = HostSpec.model_validate(
        {
            "docker_url": remote.tls_url,
            "tls": remote.tls.model_dump(),
            "client_image": base_image.TEST_CLIENT,
            "placements": {"a": {}},
        }
    )
    made = DockerHost(campaign, spec)
    yield made
    for left in docker_containers.ours(made.engine, **{names.LABEL_CAMPAIGN: campaign}):
        docker_containers.remove(made.engine, left["Id"])
    made.engine.close()


def test_a_whole_launch_runs_on_the_remote_engine(far: DockerHost, server: MakeSpec, tmp_path: Path) -> None:
    handle = far.start(server())
    wait_ready(far, handle)
    lines: list[str] = []

    posted = far.http_post(handle, "/v1/x", b"y" * 300_000)
    code = far.run_client(handle, ["bench", "8000"], tmp_path / "out", on_line=lines.append, timeout_s=60)
    how = far.stop(handle)

    assert posted[1].startswith(b"300000 ")
    assert (code, how.exit_code) == (0, 0)
    assert "cell 1/1 3 of 3" in lines
    assert (tmp_path / "out" / "deep" / "requests.bin").stat().st_size == 1 << 20
    assert list(far.log_lines(handle))[-1] == b"got the signal, leaving\n"


def test_the_same_placement_name_on_two_engines_is_two_leases(
    far: DockerHost, host: DockerHost, server: MakeSpec
) -> None:
    here, there = host.start(server()), far.start(server())

    wait_ready(host, here)
    wait_ready(far, there)

    assert here.id != there.id
    assert host.status(here).running
    assert far.status(there).running


def test_a_restarted_engine_ends_the_measurement_and_leaves_nothing_behind(
    far: DockerHost, remote: SecondEngine, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = far.start(server())
    wait_ready(far, handle)
    lines: list[str] = []

    def restart_once(line: str) -> None:
        lines.append(line)
        if line == "cell 1/1 3 of 3":
            remote.stop(signal.SIGTERM)
            remote.start()

    code = far.run_client(handle, ["hang", "8000"], tmp_path, on_line=restart_once, timeout_s=120)
    status = far.status(handle)
    how = far.stop(handle)

    assert code != 0
    assert not status.running
    assert how.exit_code is not None
    assert docker_containers.ours(far.engine, **{names.LABEL_CAMPAIGN: campaign}) == []


def test_a_proxy_and_a_ca_bundle_of_the_worker_do_not_get_in_the_way(
    remote: SecondEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt")
    monkeypatch.setenv("CURL_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")

    engine = DockerEngine("gpu2", remote.connection())

    assert engine.api.ping()


def test_connections_that_cannot_work_say_why(remote: SecondEngine, tmp_path: Path) -> None:
    others = make_certificates(tmp_path / "other-ca", remote.address)
    good = remote.connection()
    cases: list[tuple[EngineConnection, str]] = [
        (EngineConnection(remote.tls_url), "it speaks TLS and no TLS files are given"),
        (replace(good, tls=TlsFiles(ca=others.ca, cert=remote.tls.cert, key=remote.tls.key)), "does not check out"),
        (replace(good, tls=TlsFiles(ca=remote.tls.ca, cert=others.cert, key=others.key)), "client certificate"),
        (replace(good, tls=TlsFiles(ca="/no/ca.pem", cert=others.cert, key=others.key)), "tls.ca /no/ca.pem does not"),
        (EngineConnection(f"tcp://{remote.address}:4444", remote.tls), "nothing listens there"),
        (EngineConnection("unix:///no/such.sock"), "there is no such socket"),
        (EngineConnection("tcp://no-such-host.invalid:2376", remote.tls), "its name does not resolve"),
        (replace(good, url=LOCAL), "is not a tcp:// address"),
    ]
    for connection, reason in cases:
        with pytest.raises(HostError, match=reason) as caught:
            DockerEngine("gpu2", connection, timeout_s=5).api.ping()
        assert "host gpu2" in str(caught.value)
        assert caught.value.remedy


def test_a_host_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"tcp://127.0.0.1:{silent.getsockname()[1]}"

        with pytest.raises(HostError, match=r"host gpu2: .* it did not answer in time"):
            DockerEngine("gpu2", EngineConnection(url), timeout_s=1).api.ping()
