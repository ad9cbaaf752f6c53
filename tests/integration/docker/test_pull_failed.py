"""A campaign whose image cannot be pulled: record, warehouse and verdict say the pull's own reason."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from benchgate.errors import BenchgateError
from benchgate.steps.driver import drive
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image
from tests.support.requirements import require

pytestmark = pytest.mark.docker
CAMPAIGN = """
campaign: unpullable
engine: llamacpp
image: IMAGE
model: {id: m, source: {folder: FOLDER}}
arms: {a: {placement: gpu1/cpu}}
workloads: {chat: {dataset: synthetic, prompt_tokens: 8, max_tokens: 4, users: [1], requests: 2}}
"""


@pytest.fixture
def folder(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require("docker")
    (benchgate_home / "hosts.yaml").write_text(
        f"hosts: {{gpu1: {{docker_url: '{LOCAL}', "
        f"client_image: '{base_image.TEST_CLIENT}', placements: {{cpu: {{}}}}}}}}\n"
    )
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))
    return benchgate_home


@pytest.mark.parametrize(
    "image", ["127.0.0.1:1/engines/llamacpp:nightly", "127.0.0.1:1/engines/llamacpp@sha256:" + "0" * 64]
)
def test_the_reason_of_a_failed_pull_is_the_reason_of_the_launch_and_of_the_verdict(folder: Path, image: str) -> None:
    (folder / "c.yaml").write_text(CAMPAIGN.replace("IMAGE", image).replace("FOLDER", str(folder / "none")))

    with pytest.raises(BenchgateError) as verdict:
        drive(folder / "c.yaml", "night-1", say=lambda _: None)

    with sqlite3.connect(folder / "warehouse.db") as connection:
        launches = connection.execute("SELECT failure_kind, failure_reason FROM launch").fetchall()
        cells = connection.execute("SELECT failure_kind, reason FROM did_not_run").fetchall()
    ((kind, reason),), ((cell_kind, cell_reason),) = launches, cells
    assert kind == cell_kind == "image_missing"
    assert f"host gpu1: cannot pull {image}: unreachable" in reason
    assert "check the registry" in reason
    assert reason in cell_reason
    assert f"cannot pull {image}: unreachable" in str(verdict.value)
