"""Our own images, built without a network in the build, at work: the CPU engine measured by the client image."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate import names
from benchgate.engines import get_engine
from benchgate.errors import HostError
from benchgate.hosts import docker_containers
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.seeding.volume import fill_volume
from benchgate.spec.hosts import HostSpec
from images import build as images
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image
from tests.support.engine_model import engine_model
from tests.support.requirements import require

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow]
CLIENT = "benchgate-test/real-client:1"
ENGINE = "benchgate-test/real-llamacpp:1"
VOLUME = "benchgate-test-smollm2"


@pytest.fixture(scope="module")
def built(local_api: Any) -> Iterator[None]:
    """The client and the engine image, as a user builds them."""
    for kind, tag in (("client", CLIENT), ("llamacpp", ENGINE)):
        list(images.build(local_api, kind, tag=tag, base=base_image.PYBASE))
    yield
    for left in local_api.volumes(filters={"name": VOLUME})["Volumes"] or []:
        local_api.remove_volume(left["Name"], force=True)


@pytest.fixture
def real(built: None, campaign: str, benchgate_home: Path) -> Iterator[DockerHost]:
    spec = HostSpec.model_validate({"docker_url": LOCAL, "client_image": CLIENT, "placements": {"a": {}}})
    made = DockerHost(campaign, spec)
    yield made
    for left in docker_containers.ours(made.engine, **{names.LABEL_CAMPAIGN: campaign}):
        docker_containers.remove(made.engine, left["Id"])
    made.engine.close()


def chat(host: DockerHost, handle: Any) -> dict[str, Any]:
    """A real chat, as soon as the server gives one."""
    body = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "temperature": 0}
    for _ in range(60):
        assert host.status(handle).running, b"".join(host.log_lines(handle)).decode()
        try:
            status, data = host.http_post(handle, "/v1/chat/completions", json.dumps(body).encode())
            if status == 200:
                return dict(json.loads(data))
        except HostError:
            pass
        time.sleep(0.5)
    raise AssertionError(b"".join(host.log_lines(handle)).decode())


def test_the_cpu_engine_is_measured_by_the_client_image(
    real: DockerHost, server: Callable[..., ServerSpec], tmp_path: Path
) -> None:
    require("engine")
    model = engine_model()
    fill_volume(real.engine, VOLUME, model, image=CLIENT, report=lambda _: None)
    spec = server(
        image=ENGINE,
        argv=[
            "--model",
            f"/models/{model.name}",
            "--host",
            "0.0.0.0",
            "--port",
            "8000",
            "--parallel",
            "2",
            "-c",
            "4096",
        ],
        mounts=[Mount(VOLUME, "/models")],
    )
    handle = real.start(spec)
    answer = chat(real, handle)
    lines: list[str] = []

    code = real.run_client(
        handle,
        [
            *("bench", "--base-url", handle.base_url, "--prompt-tokens", "32", "--max-tokens", "8"),
            *("--concurrency", "2", "--num-prompts", "4", "--max-seconds", "300", "--progress", "json"),
        ],
        tmp_path,
        on_line=lines.append,
        timeout_s=400,
    )
    metrics = real.http_get(handle, "/metrics")
    how = real.stop(handle)

    assert answer["usage"]["completion_tokens"] > 0
    assert code == 0, lines
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["completed"] == 4, summary
    assert summary["errors"] == 0
    assert (tmp_path / "requests.parquet").stat().st_size > 0
    assert any(line.startswith("{") for line in lines)
    assert b"llamacpp:" in metrics[1]
    assert how.exit_code == 0
    facts = get_engine("llamacpp").parse_log(real.log_lines(handle))
    assert facts.ready
    assert facts.failure is None


def test_a_bad_flag_ends_the_server_with_its_reason_in_the_log(
    real: DockerHost, server: Callable[..., ServerSpec]
) -> None:
    require("engine")
    handle = real.start(server(image=ENGINE, argv=["--no-such-flag"]))
    for _ in range(100):
        if not real.status(handle).running:
            break
        time.sleep(0.1)

    how = real.stop(handle)

    assert how.exit_code == 2
    assert "unrecognized arguments: --no-such-flag" in b"".join(real.log_lines(handle)).decode()


def test_a_server_without_memory_is_known_to_be_killed_for_it(real: DockerHost, local_api: Any) -> None:
    body = {
        "Image": base_image.TEST_SERVER,
        "Cmd": ["eat", "0"],
        "Labels": docker_containers.helper_labels("helper"),
        "HostConfig": {"Memory": 64 << 20, "MemorySwap": 64 << 20},
    }
    with docker_containers.temporary(real.engine, body, role="helper") as container:
        docker_containers.run_to_end(real.engine, container, timeout_s=60)
        found = docker_containers.inspect(real.engine, container)

    assert found is not None
    how = docker_containers.exit_info(found["State"])
    assert (how.exit_code, how.signal, how.oom_killed) == (137, "SIGKILL", True)
