"""``benchgate hosts`` and ``benchgate housekeeping`` on a real engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from benchgate import cli
from benchgate.artifacts import RunStore
from benchgate.hosts import docker_containers
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.records import RunRecord
from tests.integration.docker.conftest import LOCAL
from tests.integration.docker.test_server_life import left_of, wait_ready
from tests.support import base_image

pytestmark = pytest.mark.docker


@pytest.fixture
def inventory(tmp_path: Path, campaign: str) -> Path:
    """A host that answers and one that does not."""
    file = tmp_path / "hosts.yaml"
    alive = {"docker_url": LOCAL, "client_image": base_image.TEST_CLIENT, "placements": {"a": {}, "b": {}}}
    dead = {"docker_url": "tcp://127.0.0.1:9", "placements": {"a": {}}}
    file.write_text(json.dumps({"hosts": {campaign: alive, "dead": dead}}))  # JSON is YAML
    return file


def record(run: str, state: str, *, hours: float = 0.0) -> None:
    """Write the record of a run that started some hours ago."""
    started = datetime.now(timezone.utc) - timedelta(hours=hours)
    store = RunStore(run)
    made = {"run": run, "campaign": "c", "airflow_run_id": run, "started_at": started.isoformat()}
    store.write(store.path("run.json"), RunRecord.model_validate({**made, "state": state, "benchgate_version": "0"}))


def test_hosts_shows_who_answers_what_is_held_and_what_is_stale(
    host: DockerHost,
    server: Callable[..., ServerSpec],
    inventory: Path,
    campaign: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record("c.over", "failed")
    host.start(server(run="c.over"))
    host.start(server(run="c.live", placement="b"))

    code = cli.main(["hosts", "--hosts", str(inventory), "--json"])
    reports = json.loads(capsys.readouterr().out)
    cli.main(["hosts", "--hosts", str(inventory)])
    shown = capsys.readouterr()

    alive, dead = reports
    assert code == 1
    assert alive["reachable"]
    assert alive["facts"]["engine_version"]
    assert alive["facts"]["gpu_count"] is None
    assert base_image.TEST_SERVER in alive["images"]
    assert any(f"{campaign}/b: arm marlin of run c.live" in lease for lease in alive["leases"])
    assert any("run c.over" in stale for stale in alive["stale"])
    assert not dead["reachable"]
    assert "host dead" in dead["problem"]
    assert "nothing listens there" in shown.out
    assert shown.out.splitlines()[0].split()[:3] == ["HOST", "KIND", "REACHABLE"]


def test_housekeeping_removes_what_is_over_and_nothing_else(
    host: DockerHost,
    server: Callable[..., ServerSpec],
    inventory: Path,
    campaign: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record("c.over", "failed")
    record("c.live", "running")
    over = host.start(server(run="c.over"))
    wait_ready(host, over)
    live = host.start(server(run="c.live", placement="b"))
    arguments = ["housekeeping", "--hosts", str(inventory), "--host", campaign]

    cli.main([*arguments, "--dry-run"])
    dry, before = capsys.readouterr().out, left_of(host, campaign)
    code = cli.main(arguments)
    said = capsys.readouterr().out
    cli.main(arguments)
    second = capsys.readouterr().out

    assert f"would remove server {over.name}" in dry
    assert len(before) == 3
    assert code == 0
    assert f"removed server {over.name}" in said
    assert f"removed probe {over.name}-probe" in said
    assert left_of(host, campaign) == [live.name]
    assert "nothing to remove" in second


def test_a_run_whose_worker_died_is_over_when_somebody_says_so_or_it_is_too_old(
    host: DockerHost,
    server: Callable[..., ServerSpec],
    inventory: Path,
    campaign: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record("c.killed", "running", hours=30)
    host.start(server(run="c.killed"))
    unknown = host.start(server(run="c.unknown", placement="b"))
    arguments = ["housekeeping", "--hosts", str(inventory), "--host", campaign]

    cli.main([*arguments, "--max-hours", "48"])
    young = left_of(host, campaign)
    cli.main([*arguments, "--max-hours", "24"])
    old = left_of(host, campaign)
    said = capsys.readouterr().out
    cli.main([*arguments, "--run", "c.unknown"])

    assert len(young) == 2
    assert len(old) == 1  # nobody here knows the other run: it may be somebody else's
    assert f"`docker rm -f {unknown.name}` on host {campaign}" in said
    assert left_of(host, campaign) == []


def test_a_host_that_does_not_answer_is_an_error_and_hides_no_other(
    inventory: Path, benchgate_home: Path, local_api: object, capsys: pytest.CaptureFixture[str]
) -> None:
    code = cli.main(["housekeeping", "--hosts", str(inventory)])
    said = capsys.readouterr()

    assert code == 1
    assert "host dead" in said.err
    assert "nothing to remove" in said.out or "removed" in said.out
    assert "1 hosts could not be cleaned" in said.out


def test_an_unknown_host_is_a_message_with_the_known_ones(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["hosts", "--hosts", str(inventory), "nope"]) == 1
    assert "there is no host nope in the inventory (hosts are:" in capsys.readouterr().err


def test_temporary_networks_and_volumes_go_with_their_run(host: DockerHost, campaign: str) -> None:
    labels = {**docker_containers.helper_labels("seed"), "io.benchgate.run": "c.over", "io.benchgate.temporary": "true"}
    kept = {**labels, "io.benchgate.temporary": "false"}
    host.engine.api.create_network(f"{campaign}-n", labels=labels)
    host.engine.api.create_volume(f"{campaign}-v", labels=labels)
    host.engine.api.create_volume(f"{campaign}-seed", labels=kept)

    said = host.reap(run_is_over=lambda run: run == "c.over")

    left = [volume["Name"] for volume in host.engine.api.volumes(filters={"name": campaign})["Volumes"] or []]
    host.engine.api.remove_volume(f"{campaign}-seed")
    assert len([line for line in said if line.startswith(("network ", f"volume {campaign}"))]) == 2
    assert left == [f"{campaign}-seed"]
