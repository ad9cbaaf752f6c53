"""Nights of a campaign whose servers and load generators are containers, from a registry whose nightly tag moves."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchgate.hosts import docker_containers
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.names import LABEL_CAMPAIGN
from images import build as images
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image
from tests.support.engine_model import small_campaign
from tests.support.registry import Registry, running_registry
from tests.support.requirements import require

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[3]
CLIENT = "benchgate-test/real-client:1"
ENGINE = "benchgate-test/real-llamacpp:1"
TOKEN = "hf_thisisaverysecrettoken0123"


@dataclass
class Site:
    """A registry, an inventory and a campaign of this test alone."""

    registry: Registry
    engine: DockerEngine
    folder: Path
    name: str

    def push_nightly(self, night: int) -> str:
        """Another build under the same tag; it is not on the host before it is pulled."""
        tag = f"benchgate-test/night-{self.name}:{night}"
        base_image.build(self.engine.api, tag, f"FROM {ENGINE}\nLABEL night={night} of={self.name}\n", {})
        digest = self.registry.push(self.engine.api, tag, "engines/llamacpp", f"night-{night}")
        for name in (tag, f"{self.registry.address}/engines/llamacpp:night-{night}"):
            self.engine.api.remove_image(name, force=True)
        self.registry.retag("engines/llamacpp", f"night-{night}", "nightly")  # what the host calls nightly stays
        return digest

    def run(self, night: str, *more: str) -> subprocess.CompletedProcess[str]:
        """One night, as a person would start it."""
        env = {
            **os.environ,
            "BENCHGATE_HOME": str(self.folder / "home"),
            "BENCHGATE_HOSTS": str(self.folder / "hosts.yaml"),
            "PYTHONPATH": str(ROOT / "include"),
            "HF_TOKEN": TOKEN,
        }
        command = [
            sys.executable,
            "-m",
            "benchgate",
            "run",
            str(self.folder / "campaign.yaml"),
            "--run-id",
            night,
            *more,
        ]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=540, check=False)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the warehouse says."""
        with sqlite3.connect(self.folder / "home" / "warehouse.db") as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def site(local_api: Any, tmp_path: Path) -> Iterator[Site]:
    require("registry", "engine")
    for kind, tag in (("client", CLIENT), ("llamacpp", ENGINE)):
        list(images.build(local_api, kind, tag=tag, base=base_image.PYBASE))
    name = f"t-{uuid.uuid4().hex[:8]}"
    arms = {
        "good": {"placement": f"{name}/a"},
        "bad-flag": {"placement": f"{name}/b", "args": {"moe-backend": "marlin"}, "expect": "did_not_run"},
    }
    host = {"docker_url": LOCAL, "client_image": CLIENT, "placements": {"a": {"port": 8000}, "b": {"port": 8001}}}
    (tmp_path / "hosts.yaml").write_text(json.dumps({"hosts": {name: host}}))
    (tmp_path / "registry").mkdir()
    engine = DockerEngine("local", EngineConnection(LOCAL))
    with running_registry(tmp_path / "registry") as registry:
        campaign = small_campaign(name, image=f"{registry.address}/engines/llamacpp:nightly", arms=arms)
        (tmp_path / "campaign.yaml").write_text(json.dumps(campaign))
        yield Site(registry, engine, tmp_path, name)
    for image in engine.api.images(name=f"{registry.address}/engines/llamacpp", quiet=True):
        engine.api.remove_image(image, force=True)
    engine.close()


def test_three_nights_with_a_tag_that_moves_once(site: Site) -> None:
    first_digest = site.push_nightly(1)
    first = site.run("n1")
    same = site.run("n2")
    ledger = site.rows("select count(*) from cell")
    second_digest = site.push_nightly(2)
    moved = site.run("n3")

    assert first.returncode == 0, first.stdout + first.stderr
    assert same.returncode == 0, same.stdout + same.stderr
    assert "nothing new to measure" in same.stdout
    assert moved.returncode == 0, moved.stdout + moved.stderr
    assert f"moved from {first_digest} to {second_digest}" in moved.stdout
    published = site.rows("select run, image_digest from published_cell order by 1")
    assert [(run.rpartition(".")[2], digest.rpartition("@")[2]) for run, digest in published] == [
        ("n1", first_digest),
        ("n3", second_digest),
    ]
    assert ledger == [(4,)]  # every planned cell of both nights is in the ledger
    reasons = site.rows("select reason from did_not_run where arm = 'bad-flag'")
    assert any("moe-backend" in reason for (reason,) in reasons)
    assert docker_containers.ours(site.engine, **{LABEL_CAMPAIGN: site.name}) == []
    assert where_the_token_is(site, first, moved) == []


def where_the_token_is(site: Site, *runs: subprocess.CompletedProcess[str]) -> list[str]:
    """Every place in which the secret can be read."""
    found = [f"output of {run.args[-1]}" for run in runs if TOKEN in run.stdout + run.stderr]
    for path in (site.folder / "home").rglob("*"):
        if path.is_file() and TOKEN.encode() in readable(path):
            found.append(str(path))
    return found


def readable(path: Path) -> bytes:
    """A file's content, unpacked where it is packed."""
    import gzip

    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
