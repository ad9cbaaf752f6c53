"""A Docker Engine behind ssh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.errors import HostError
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.seeding.volume import fill_volume
from tests.integration.docker.test_server_life import wait_ready
from tests.support import base_image
from tests.support.requirements import require
from tests.support.ssh_server import SshServer, ssh_server

pytestmark = pytest.mark.docker


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    require("sshd")
    with ssh_server(tmp_path) as running:
        monkeypatch.setenv("HOME", str(running.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        yield running


def test_a_whole_launch_runs_over_ssh(
    sshd: SshServer, host: DockerHost, server: Callable[..., ServerSpec], tmp_path: Path, local_api: Any
) -> None:
    far = DockerHost(host.name, host.spec, DockerEngine(host.name, EngineConnection(sshd.url)))
    seed = tmp_path / "o200k_base.tiktoken"
    seed.write_text("IQ== 0\n")
    volume = f"benchgate-test-{host.name}"
    try:
        fill_volume(far.engine, volume, seed, image=base_image.TEST_CLIENT, report=lambda _: None)
        handle = far.start(server())
        wait_ready(far, handle)
        posted = far.http_post(handle, "/v1/x", b"z" * 200_000)
        code = far.run_client(handle, ["bench", "8000"], tmp_path / "out", on_line=lambda _: None, timeout_s=60)
        how = far.stop(handle)
    finally:
        far.engine.close()
        local_api.remove_volume(volume, force=True)

    assert posted[1].startswith(b"200000 ")
    assert (code, how.exit_code) == (0, 0)
    assert (tmp_path / "out" / "deep" / "requests.bin").stat().st_size == 1 << 20


def test_an_unknown_host_key_is_refused_with_the_remedy(sshd: SshServer) -> None:
    (sshd.home / ".ssh" / "known_hosts").write_text("")

    with pytest.raises(HostError, match=r"host gpu1: .*host key is unknown.*accept the host key"):
        DockerEngine("gpu1", EngineConnection(sshd.url)).api.ping()


def test_a_login_that_ssh_refuses_is_told(sshd: SshServer) -> None:
    (sshd.home / ".ssh" / "id_ed25519").unlink()

    with pytest.raises(HostError, match=r"host gpu1: .*ssh has no key to log in with"):
        DockerEngine("gpu1", EngineConnection(sshd.url)).api.ping()
