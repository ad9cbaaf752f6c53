"""A volume is filled over the Docker API, verified on the host, and never shows half a file."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from benchgate.errors import SeedError
from benchgate.hosts import docker_archive, docker_containers
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.seeding import volume as volumes
from benchgate.seeding.volume import fill_volume, volume_state
from tests.integration.docker.conftest import LOCAL
from tests.integration.docker.test_server_life import wait_ready
from tests.support import base_image
from tests.support.docker_engine import SecondEngine

pytestmark = pytest.mark.docker
IMAGE = base_image.TEST_CLIENT


@pytest.fixture
def engine(local_api: Any) -> Iterator[DockerEngine]:
    made = DockerEngine("gpu1", EngineConnection(LOCAL))
    yield made
    made.close()


@pytest.fixture
def volume(engine: DockerEngine) -> Iterator[str]:
    name = f"benchgate-test-{uuid.uuid4().hex[:8]}"
    yield name
    with_left = engine.api.volumes(filters={"name": name})["Volumes"] or []
    for left in with_left:
        engine.api.remove_volume(left["Name"], force=True)


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    folder = tmp_path / "snapshot"
    (folder / "onnx").mkdir(parents=True)
    (folder / "config.json").write_text('{"a": 1}')
    (folder / "onnx" / "same.json").write_text('{"a": 1}')
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * 20_000)
    (folder / "empty.txt").write_bytes(b"")
    (folder / "link.json").symlink_to(folder / "config.json")
    return folder


def listing(engine: DockerEngine, volume: str) -> list[str]:
    """Everything in the volume, as a mounted server would see it."""
    script = (
        "import pathlib; [print(p, p.stat().st_size) for p in sorted(pathlib.Path('/v').rglob('*')) if p.is_file()]"
    )
    labels = docker_containers.helper_labels("helper")
    body = helper_body(IMAGE, script, labels=labels, mounts=[Mount(volume, "/v")])
    said = docker_containers.run_helper(engine, body).stdout.decode()
    return [line for line in said.splitlines() if not line.startswith("/v/.benchgate/")]


def test_a_folder_arrives_whole_and_is_not_sent_twice(engine: DockerEngine, volume: str, seed: Path) -> None:
    lines: list[str] = []
    fill_volume(engine, volume, seed, image=IMAGE, report=lines.append)
    first = list(lines)
    lines.clear()

    fill_volume(engine, volume, seed, image=IMAGE, report=lines.append)

    assert listing(engine, volume) == [
        "/v/config.json 8",
        "/v/empty.txt 0",
        "/v/link.json 8",
        "/v/model.safetensors 5120000",
        "/v/onnx/same.json 8",
    ]
    assert any("sending 3 files" in line for line in first)  # three contents
    assert len(lines) == 1
    assert "holds 5 files" in lines[0]


def test_a_changed_file_replaces_the_old_one_and_others_stay(engine: DockerEngine, volume: str, seed: Path) -> None:
    fill_volume(engine, volume, seed, image=IMAGE, report=lambda _: None)
    other = seed.parent / "o200k_base.tiktoken"
    other.write_text("token 1\n")
    (seed / "config.json").write_text('{"a": 22}')

    fill_volume(engine, volume, other, image=IMAGE, report=lambda _: None)
    fill_volume(engine, volume, seed, image=IMAGE, report=lambda _: None)

    assert "/v/config.json 9" in listing(engine, volume)
    assert "/v/o200k_base.tiktoken 8" in listing(engine, volume)
    assert "/v/onnx/same.json 8" in listing(engine, volume)


def test_an_interrupted_fill_shows_nothing_half_and_goes_on_with_what_is_missing(
    engine: DockerEngine, volume: str, seed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = docker_archive.pack_file

    def breaks(name: str, path: Path, size: int) -> Iterator[bytes]:
        chunks = whole(name, path, size)
        yield next(chunks)
        if size > 1_000_000:
            yield next(chunks)[:200_000]
            raise KeyboardInterrupt
        yield from chunks

    monkeypatch.setattr(volumes, "pack_file", breaks)
    with pytest.raises(KeyboardInterrupt):
        fill_volume(engine, volume, seed, image=IMAGE, report=lambda _: None)
    half = listing(engine, volume)
    monkeypatch.setattr(volumes, "pack_file", whole)
    waiting = volume_state(engine, volume, image=IMAGE).arrived
    lines: list[str] = []
    fill_volume(engine, volume, seed, image=IMAGE, report=lines.append)

    assert half == []
    assert len(waiting) == 2  # the two small contents were complete
    assert any("sending 1 files" in line for line in lines)
    assert len(listing(engine, volume)) == 5


def test_a_file_that_is_altered_on_the_way_is_never_put_in_place(
    engine: DockerEngine, volume: str, seed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = docker_archive.pack_file

    def flips(name: str, path: Path, size: int) -> Iterator[bytes]:
        for number, chunk in enumerate(whole(name, path, size)):
            yield bytes([chunk[0] ^ 1]) + chunk[1:] if number == 1 and path.name == "model.safetensors" else chunk

    monkeypatch.setattr(volumes, "pack_file", flips)

    with pytest.raises(SeedError, match=r"1 files did not arrive whole, first model.safetensors"):
        fill_volume(engine, volume, seed, image=IMAGE, report=lambda _: None)

    assert "/v/model.safetensors" not in str(listing(engine, volume))


def test_a_killed_worker_leaves_a_fill_that_the_next_one_ends(
    engine: DockerEngine, volume: str, seed: Path, tmp_path: Path
) -> None:
    (seed / "model.safetensors").write_bytes(b"0123456789abcdef" * (4 << 20))
    run = f"run-{uuid.uuid4().hex[:8]}"
    script = (
        "import pathlib, sys\n"
        "from benchgate.hosts.docker_connections import EngineConnection\n"
        "from benchgate.hosts.docker_engine import DockerEngine\n"
        "from benchgate.seeding.volume import fill_volume\n"
        f"engine = DockerEngine('gpu1', EngineConnection({LOCAL!r}))\n"
        f"fill_volume(engine, {volume!r}, pathlib.Path({str(seed)!r}), image={IMAGE!r}, run={run!r},"
        " report=lambda line: print(line, flush=True))\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    for line in worker.stdout:
        if "sending" in line:
            break
    time.sleep(0.05)
    worker.kill()
    worker.wait()

    from benchgate.hosts.reaper import reap_engine

    reap_engine(engine, run_is_over=lambda name: name == run)
    left = [item for item in docker_containers.ours(engine) if item["Labels"].get("io.benchgate.run") == run]
    fill_volume(engine, volume, seed, image=IMAGE, report=lambda _: None)

    assert left == []
    assert f"/v/model.safetensors {64 << 20}" in listing(engine, volume)


def test_a_volume_that_does_not_exist_holds_nothing(engine: DockerEngine) -> None:
    state = volume_state(engine, f"benchgate-test-{uuid.uuid4().hex}", image=IMAGE)

    assert state.manifest == {}


def test_an_empty_folder_is_refused(engine: DockerEngine, volume: str, tmp_path: Path) -> None:
    with pytest.raises(SeedError, match="holds no files"):
        fill_volume(engine, volume, tmp_path, image=IMAGE, report=lambda _: None)


def test_a_server_on_the_remote_engine_reads_the_seed_and_cannot_change_it(
    remote: SecondEngine, host: DockerHost, server: Callable[..., ServerSpec], tmp_path: Path
) -> None:
    vocab = tmp_path / "o200k_base.tiktoken"
    vocab.write_text("IQ== 0\n")
    engine = DockerEngine("gpu2", remote.connection())
    far = DockerHost(host.name, host.spec, engine)
    fill_volume(engine, "benchgate-vocab", vocab, image=IMAGE, report=lambda _: None)

    handle = far.start(server(mounts=[Mount("benchgate-vocab", "/vocab")]))
    wait_ready(far, handle)
    read = far.http_get(handle, "/read")[1]
    mounts = engine.api.inspect_container(handle.id)["Mounts"]
    far.stop(handle)

    assert read == b"IQ== 0\n"
    assert [mount["RW"] for mount in mounts] == [False]
    with pytest.raises(APIError):
        DockerEngine("local", EngineConnection(LOCAL)).api.inspect_volume("benchgate-vocab-not-here")
