"""A Docker host that fetches a model by itself: from a hub that its containers reach, into the volume of the model."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate import settings
from benchgate.errors import SeedError
from benchgate.hosts import docker_containers
from benchgate.hosts.base import Mount
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.names import LABEL_RUN
from benchgate.records import SeedMount
from benchgate.seeding.volume import fill_volume
from benchgate.steps import planning, seeding
from benchgate.steps.context import CampaignRun
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image
from tests.support.hub_server import Hub, hub_server

pytestmark = pytest.mark.docker
TOKEN = "hf_thewordofthehouse"
WEIGHTS = os.urandom(3_000_000)
FILES = {"config.json": b'{"a": 1}', "model.safetensors": WEIGHTS, "sub/tokenizer.json": b"{}"}


@pytest.fixture
def hub(local_api: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub at the gateway of the engine's default bridge: the address of this machine that containers reach."""
    gateway = local_api.inspect_network("bridge")["IPAM"]["Config"][0]["Gateway"]
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with hub_server(gateway) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.push("acme/tiny", FILES)
        hub.repos["acme/tiny"].token = TOKEN
        yield hub


@pytest.fixture
def run(
    local_api: Any, campaign: str, hub: Hub, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CampaignRun]:
    """A run of a campaign whose host fetches."""
    host = {
        "docker_url": LOCAL,
        "client_image": base_image.TEST_CLIENT,
        "fetch": "host",
        "placements": {"a": {}},
    }
    document = {
        "campaign": campaign,
        "engine": "vllm",
        "image": base_image.TEST_SERVER,
        "model": {"id": "acme/tiny"},
        "arms": {"only": {"placement": f"{campaign}/a"}},
        "workloads": {
            "chat": {"dataset": "synthetic", "prompt_tokens": 8, "max_tokens": 4, "users": [1], "requests": 2}
        },
    }
    (benchgate_home / "hosts.yaml").write_text(json.dumps({"hosts": {campaign: host}}))
    (benchgate_home / "c.yaml").write_text(json.dumps(document))
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))
    yield planning.plan_run(benchgate_home / "c.yaml", "night-1")
    local_api.remove_volume(volume_name(hub), force=True)


def volume_name(hub: Hub) -> str:
    return f"benchgate-model-acme-tiny-{hub.repos['acme/tiny'].refs['main'][:12]}"


def content(engine: DockerEngine, volume: str) -> dict[str, str]:
    """The sha256 of everything that a server would see."""
    script = (
        "import hashlib, json, pathlib; v = pathlib.Path('/v'); print(json.dumps({str(p.relative_to(v)): "
        "hashlib.sha256(p.read_bytes()).hexdigest() for p in v.rglob('*') "
        "if p.is_file() and '.benchgate' not in p.parts}))"
    )
    labels = docker_containers.helper_labels("helper")
    body = helper_body(base_image.TEST_CLIENT, script, labels=labels, mounts=[Mount(volume, "/v")])
    return dict(json.loads(docker_containers.run_helper(engine, body).stdout))


def test_a_host_fetches_a_private_model_once_and_the_worker_has_no_weights(
    hub: Hub, run: CampaignRun, local_api: Any, benchgate_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies: list[dict[str, Any]] = []
    logs: list[bytes] = []
    create, run_to_end = docker_containers.create, docker_containers.run_to_end

    def noted(engine: DockerEngine, name: str, body: dict[str, Any]) -> str:
        bodies.append(body)
        return create(engine, name, body)

    def heard(*args: Any, **more: Any) -> docker_containers.HelperResult:
        result = run_to_end(*args, **more)
        logs.extend([result.stdout, result.stderr])
        return result

    monkeypatch.setattr(docker_containers, "create", noted)
    monkeypatch.setattr(docker_containers, "run_to_end", heard)
    host = run.inventory.refs[0].split("/")[0]
    engine, volume, said = DockerEngine("gpu1", EngineConnection(LOCAL)), volume_name(hub), list[str]()

    (fact,) = seeding.seed_model(run, host, say=said.append)
    downloads = list(hub.downloads())
    (again,) = seeding.seed_model(run, host, say=said.append)
    worker = tmp_path / "snapshot"
    for path, data in FILES.items():
        (worker / path).parent.mkdir(parents=True, exist_ok=True)
        (worker / path).write_bytes(data)
    fill_volume(engine, volume, worker, image=base_image.TEST_CLIENT, report=said.append)

    assert content(engine, volume) == {path: hashlib.sha256(data).hexdigest() for path, data in FILES.items()}
    assert sorted(path.rsplit("/", 1)[-1] for path in downloads if "/resolve/" in path) == [
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert hub.downloads() == downloads, "the second time nothing was fetched"
    assert fact == again
    assert (fact.digest, fact.note) == (hub.repos["acme/tiny"].refs["main"], "fetched by the host")
    assert run.seeds(host).mounts == [SeedMount(source=volume, target="/models/acme-tiny")]
    assert list(run.seeds(host).models.values()) == ["/models/acme-tiny"]
    assert "holds 3 files" in said[-1], "what the worker would send is there already"
    assert list(settings.seeds_dir().rglob("*.safetensors")) == []

    assert [path for path in hub.authorized if path.startswith("/cdn/")] == []
    kept = [path for path in benchgate_home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []
    assert not any(TOKEN in line for line in said)
    assert not any(TOKEN.encode() in log for log in logs)
    assert b"3 of 3 files are missing" in b"".join(logs)
    with_token = [body for body in bodies if TOKEN in json.dumps(body)]
    assert [body["HostConfig"]["NetworkMode"] for body in with_token] == ["bridge", "bridge"]
    assert not any(TOKEN in json.dumps({**body, "Env": []}) for body in bodies)
    assert docker_containers.ours(engine, **{LABEL_RUN: run.run}) == []
    engine.close()


def test_what_goes_wrong_on_the_host_names_host_model_file_and_what_to_do(hub: Hub, run: CampaignRun) -> None:
    host = run.inventory.refs[0].split("/")[0]
    hub.altered.add("model.safetensors")

    with pytest.raises(SeedError, match="sha256 is") as refused:
        seeding.seed_model(run, host, say=lambda _: None)

    told = refused.value.message
    assert all(part in told for part in (f"host {host}", "acme/tiny@main", "model.safetensors", hub.url, "expected"))
    assert "run the seed step again" in str(refused.value.remedy)
    assert run.seeds(host).mounts == []
