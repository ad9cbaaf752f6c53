"""The measuring task of a Docker host is a task of Airflow's Docker provider: what it runs, brings home and leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate.airflow.measure_in_container import MeasureInContainer
from benchgate.errors import HostError, MeasureFailed
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.spec.hosts import HostSpec
from tests.integration.docker.test_server_life import left_of, wait_ready
from tests.support import base_image
from tests.support.docker_engine import SecondEngine

pytestmark = pytest.mark.docker
MakeSpec = Callable[..., ServerSpec]


def task_on(host: DockerHost) -> MeasureInContainer:
    """The task as the DAG builder makes it, about to execute."""
    task = MeasureInContainer(
        task_id="measure", campaign_file="c.yaml", launch="l", cell="c", placement=f"{host.name}/a", spec=host.spec
    )
    task._context = {}  # type: ignore[typeddict-item]
    return task


def test_the_container_joins_the_server_and_its_files_come_home_without_pickles(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    task, lines = task_on(host), []

    code = task.run_client(host, handle, ["bench", "8000"], tmp_path, on_line=lines.append, timeout_s=60)
    again = task.run_client(host, handle, ["fail", "8000"], tmp_path, on_line=lines.append, timeout_s=60)

    assert (code, again) == (0, 3)  # the second time of a cell that was not warm, in the same task
    assert task.network_mode == f"container:{handle.id}"
    assert "server says 200" in lines  # from inside the server's network namespace
    assert json.loads((tmp_path / "summary.json").read_text())["completed"] == 3
    assert (tmp_path / "deep" / "requests.bin").stat().st_size == 256 * 4096
    assert task.hook.client_created
    assert f"{handle.name}-client" not in left_of(host, campaign)


def test_its_container_is_locked_down_and_labelled(host: DockerHost, server: MakeSpec, tmp_path: Path) -> None:
    handle = host.start(server())
    wait_ready(host, handle)
    task = task_on(host)
    seen: dict[str, Any] = {}

    def look(line: str) -> None:
        if line == "cell 1/1 1 of 3":
            seen.update(host.engine.api.inspect_container(task.container_name))

    task.run_client(host, handle, ["bench", "8000"], tmp_path, on_line=look, timeout_s=60)

    assert seen["HostConfig"]["ReadonlyRootfs"]
    assert seen["HostConfig"]["CapDrop"] == ["ALL"]
    assert not seen["HostConfig"]["AutoRemove"]
    assert seen["Config"]["Labels"]["io.benchgate.role"] == "client"
    assert seen["Config"]["Labels"]["io.benchgate.run"] == server().run


def test_a_client_image_that_has_gone_is_built_again_and_never_pulled(
    host: DockerHost, server: MakeSpec, tmp_path: Path
) -> None:
    handle = host.start(server())
    spec = host.spec.model_copy(update={"client_image": "benchgate-test/nobody-has-this:1"})
    bare = DockerHost(host.name, spec, host.engine)

    with pytest.raises(HostError, match="is not there any more") as caught:
        task_on(bare).run_client(bare, handle, ["bench", "8000"], tmp_path, on_line=print, timeout_s=60)

    assert f"build.py client --host {host.name}" in str(caught.value.remedy)


def test_a_time_limit_ends_the_container_and_keeps_what_it_measured(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    with pytest.raises(MeasureFailed, match="ran longer than 2 s"):
        task_on(host).run_client(host, handle, ["hang", "8000"], tmp_path, on_line=lambda _: None, timeout_s=2)

    assert (tmp_path / "summary.json").is_file()
    assert f"{handle.name}-client" not in left_of(host, campaign)


@pytest.mark.slow
def test_on_an_engine_over_tls_it_needs_no_shared_folder_and_minds_no_other_certificates(
    remote: SecondEngine, server: MakeSpec, campaign: str, benchgate_home: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    spec = HostSpec(
        docker_url=remote.tls_url, tls=remote.tls, client_image=base_image.TEST_CLIENT, placements={"a": {}}
    )  # type: ignore[arg-type]
    far = DockerHost(campaign, spec)
    handle = far.start(server())
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt")
    try:
        wait_ready(far, handle)
        code = task_on(far).run_client(far, handle, ["bench", "8000"], tmp_path, on_line=lambda _: None, timeout_s=60)
    finally:
        far.stop(handle)

    assert code == 0
    assert (tmp_path / "summary.json").is_file()


def test_its_container_finishes_with_what_it_has_when_the_server_has_ended(
    host: DockerHost, server: MakeSpec, campaign: str, tmp_path: Path
) -> None:
    handle = host.start(server())
    wait_ready(host, handle)

    def end_the_server(line: str) -> None:
        if line == "cell 1/1 3 of 3":
            host.engine.api.stop(handle.id, timeout=2)
            DockerHost(host.name, host.spec).stop_client(handle)  # as the watch of the step does, from its own thread

    code = task_on(host).run_client(host, handle, ["hang", "8000"], tmp_path, on_line=end_the_server, timeout_s=60)

    assert code == 130
    assert (tmp_path / "summary.json").is_file()
    assert f"{handle.name}-client" not in left_of(host, campaign)
