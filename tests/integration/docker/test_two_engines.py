"""One campaign on two Docker Engines: this machine's, and one over TLS that shares no folder with it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.hosts import docker_containers
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.names import LABEL_CAMPAIGN
from images import build as images
from tests.integration.docker.conftest import LOCAL
from tests.integration.docker.test_campaign_in_containers import CLIENT, ROOT, TOKEN, readable
from tests.integration.docker.test_demo_in_containers import ENGINE  # in no registry: used by its id, on each host
from tests.support import base_image
from tests.support.docker_engine import SecondEngine
from tests.support.engine_model import small_campaign
from tests.support.requirements import require

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def engines(local_api: Any, remote: SecondEngine) -> Iterator[dict[str, DockerEngine]]:
    """Both engines by the name of their host, with the real engine and the real load generator on each."""
    require("engine")
    both = {
        "here": DockerEngine("here", EngineConnection(LOCAL)),
        "there": DockerEngine("there", remote.connection(), timeout_s=300),
    }
    for kind, tag in (("client", CLIENT), ("llamacpp", ENGINE)):
        list(images.build(local_api, kind, tag=tag, base=base_image.PYBASE))
        base_image.copy_image(local_api, both["there"].api, tag)
    yield both
    for engine in both.values():
        engine.close()


def test_a_campaign_has_an_arm_on_each_of_two_engines_that_share_nothing(
    engines: dict[str, DockerEngine], remote: SecondEngine, tmp_path: Path
) -> None:
    name, home = f"t-{uuid.uuid4().hex[:8]}", tmp_path / "home"
    placements = {"client_image": CLIENT, "placements": {"a": {}}}
    hosts = {
        f"here-{name}": {"docker_url": LOCAL, **placements},
        f"there-{name}": {"docker_url": remote.tls_url, "tls": remote.tls.model_dump(), **placements},
    }
    (tmp_path / "hosts.yaml").write_text(json.dumps({"hosts": hosts}))
    # hosts have names of their own, so that no other test holds their leases
    arms = {f"on-{host}": {"placement": f"{host}-{name}/a"} for host in ("here", "there")}
    campaign = small_campaign(name, image=ENGINE, arms=arms, on_pull_failure="use_last")
    (tmp_path / "campaign.yaml").write_text(json.dumps(campaign))

    run = subprocess.run(
        [sys.executable, "-m", "benchgate", "run", str(tmp_path / "campaign.yaml"), "--run-id", "n1"],
        env={
            **os.environ,
            "BENCHGATE_HOME": str(home),
            "BENCHGATE_HOSTS": str(tmp_path / "hosts.yaml"),
            "PYTHONPATH": str(ROOT / "include"),
            "HF_TOKEN": TOKEN,
        },
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    database = sqlite3.connect(home / "warehouse.db")
    published = database.execute("select arm, image_digest from published_cell order by arm").fetchall()
    digest = engines["there"].image(ENGINE)
    assert digest is not None
    assert published == [("on-here", digest["Id"]), ("on-there", digest["Id"])]
    for engine in engines.values():
        assert docker_containers.ours(engine, **{LABEL_CAMPAIGN: name}) == []
    assert [path for path in home.rglob("*") if path.is_file() and TOKEN.encode() in readable(path)] == []
    assert TOKEN not in run.stdout + run.stderr
