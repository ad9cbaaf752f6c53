"""Models that lie on the Docker host, and draft models: verified where they are, mounted, part of what an arm is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchgate.errors import SeedError
from benchgate.hosts import docker_containers
from benchgate.hosts.docker import DockerHost
from benchgate.names import LABEL_RUN
from benchgate.records import SeedFact
from benchgate.seeding.host_path import verified_on_host
from benchgate.seeding.verify import file_digest, seed_tree, tree_digest
from benchgate.steps import planning, seeding
from benchgate.steps.server_request import begin_launch, server_spec
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image

pytestmark = pytest.mark.docker


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "deep" / "weights.bin").write_bytes(bytes(range(256)) * 100)
    return folder


def verify(host: DockerHost, path: Path, said: list[str], sha256: str | None = None) -> SeedFact:
    fact = SeedFact(kind="model", name="m", digest=None, source="host path", path=str(path))
    return verified_on_host(
        host.engine, fact, image=base_image.TEST_CLIENT, sha256=sha256, report=said.append, run="c.night-1"
    )


def test_a_folder_is_named_by_the_same_digest_as_on_the_worker_and_read_once(host: DockerHost, model: Path) -> None:
    said: list[str] = []

    first = verify(host, model, said)
    again = verify(host, model, said)
    (model / "config.json").write_text('{"changed": true}')
    changed = verify(host, model, said)

    assert first.digest == again.digest
    assert changed.digest == f"sha256:{tree_digest(list(seed_tree(model)))}"
    assert changed.digest != first.digest
    assert ["2 of them read now" in said[1], "0 of them read now" in said[3], "1 of them read now" in said[5]] == [
        True,
        True,
        True,
    ]
    assert docker_containers.ours(host.engine, **{LABEL_RUN: "c.night-1"}) == []


def test_a_file_is_named_by_its_own_digest_and_another_content_is_refused(host: DockerHost, model: Path) -> None:
    weights = model / "deep" / "weights.bin"

    fact = verify(host, weights, [], sha256=file_digest(weights))
    with pytest.raises(
        SeedError, match=rf"wrong content: sha256 is {file_digest(weights)}, and {'0' * 64} was expected"
    ):
        verify(host, weights, [], sha256="0" * 64)

    assert fact.digest == f"sha256:{file_digest(weights)}"


def test_what_is_not_there_or_leads_out_is_named(host: DockerHost, model: Path) -> None:
    with pytest.raises(SeedError, match="there is no such path"):
        verify(host, model / "gone", [])
    (model / "empty").mkdir()
    with pytest.raises(SeedError, match="no file is there"):
        verify(host, model / "empty", [])
    (model / "blob").symlink_to("/somewhere/else")
    with pytest.raises(SeedError, match=r"blob cannot be read: a link that leads out"):
        verify(host, model, [])


def test_draft_models_are_seeded_mounted_and_given_by_their_path(
    local_api: Any, campaign: str, benchgate_home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = {
        "hosts": {
            campaign: {
                "docker_url": LOCAL,
                "client_image": base_image.TEST_CLIENT,
                "placements": {"a": {}},
                "model_paths": [str(model.parent)],
            }
        }
    }
    weights = model / "deep" / "weights.bin"
    document = {
        "campaign": campaign,
        "engine": "vllm",
        "image": base_image.TEST_SERVER,
        "model": {"id": "org/target", "source": {"host_path": str(model)}},
        "arms": {
            "eagle": {
                "placement": f"{campaign}/a",
                "drafts": [{"id": "org/draft", "source": {"folder": str(weights.parent)}}],
                "args": {"speculative-config": {"method": "eagle3", "model": "org/draft"}},
            }
        },
        "workloads": {
            "chat": {"dataset": "synthetic", "prompt_tokens": 8, "max_tokens": 4, "users": [1], "requests": 2}
        },
    }
    (benchgate_home / "hosts.yaml").write_text(json.dumps(hosts))
    (benchgate_home / "c.yaml").write_text(json.dumps(document))
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))
    run = planning.plan_run(benchgate_home / "c.yaml", "night-1")
    launch = run.ledger.launches[0].launch
    run.save_seeds(run.seeds(campaign).model_copy(update={"images": {base_image.TEST_SERVER: "pulled@sha256:1"}}))
    try:
        seeding.seed_model(run, campaign, say=lambda _: None)
        spec, record = server_spec(run, launch), begin_launch(run, launch)
    finally:
        for mount in run.seeds(campaign).mounts:
            if not mount.source.startswith("/"):
                local_api.remove_volume(mount.source, force=True)

    assert [(mount.target, mount.read_only) for mount in spec.mounts] == [
        ("/models/org-target", True),
        ("/models/org-draft", True),
    ]
    assert spec.image == "pulled@sha256:1"
    speculative = spec.argv[spec.argv.index("--speculative-config") + 1]
    assert json.loads(speculative) == {"method": "eagle3", "model": "/models/org-draft"}
    assert record.model_revision == f"sha256:{tree_digest(list(seed_tree(model)))}"
    assert record.draft_revisions == {"org/draft": f"sha256:{tree_digest(list(seed_tree(weights.parent)))}"}
    assert record.args["speculative-config"] == {"method": "eagle3", "model": "org/draft"}
