"""Ctrl-C (or `timeout --signal=INT`) on a run without Airflow."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from benchgate.errors import BenchgateError, HostError
from benchgate.hosts.base import ServerHandle
from benchgate.records import ExitInfo
from benchgate.steps import driver, launching, measuring, needles, planning, proving, publishing, readiness, seeding
from benchgate.steps.context import CampaignRun

HOSTS = "hosts: {here: {kind: process, placements: {one: {}, two: {}}}}\n"
CAMPAIGN = """
campaign: mini
engine: llamacpp
model: {id: some/model, source: {host_path: /nowhere/model.gguf}}
arms:
  first: {placement: here/one}
  second: {placement: here/one}
  beside: {placement: here/two}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 48, users: [1, 2], requests: 6}
"""


class Servers:
    """Servers that run until they are stopped, and cells that are measured for as long."""

    def __init__(self) -> None:
        self.running: dict[str, threading.Event] = {}
        self.started: list[str] = []
        self.measured: list[str] = []
        self.recorded_stop: list[str] = []
        self.published: list[str] = []
        self.both_at_work = threading.Barrier(2, action=lambda: os.kill(os.getpid(), signal.SIGINT))

    def start(self, run: CampaignRun, key: str, **_: object) -> None:
        self.started.append(key)
        self.running[key] = threading.Event()

    def handle(self, run: CampaignRun, key: str) -> ServerHandle | None:
        if key not in self.running:
            return None
        return ServerHandle(host="here", placement="", name=key, id=key, base_url="", started_at="")

    def measure(self, run: CampaignRun, cell: str, **_: object) -> None:
        self.measured.append(cell)
        launch = next(planned.launch for planned in run.ledger.cells if planned.cell == cell)
        if len(self.measured) > 2:
            raise AssertionError(f"{cell} was begun after the interruption")
        self.both_at_work.wait(10)
        assert self.running[launch].wait(10), "nobody took the server away"

    def stop(self, handle: ServerHandle, grace_s: float) -> ExitInfo:
        self.running[handle.name].set()
        return ExitInfo(exit_code=0)


@pytest.fixture
def servers(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    servers = Servers()
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    (include / "hosts.yaml").write_text(HOSTS)
    (include / "campaigns" / "mini.yaml").write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    for module, name in (
        (seeding, "seed_vocab"),
        (seeding, "seed_model"),
        (seeding, "seed_dataset"),
        (launching, "preflight"),
        (readiness, "wait_ready"),
        (proving, "prove"),
        (needles, "check_needles"),
    ):
        monkeypatch.setattr(module, name, lambda *_args, **_options: None)
    monkeypatch.setattr(launching, "start_server", servers.start)
    monkeypatch.setattr(launching, "handle_of", servers.handle)
    monkeypatch.setattr(launching, "stop_server", lambda _run, key, **_: servers.recorded_stop.append(key))
    monkeypatch.setattr(measuring, "measure_cell", servers.measure)
    monkeypatch.setattr(publishing, "validate", lambda _run, **_: servers.published.append("validate"))
    monkeypatch.setattr(publishing, "load", lambda _run, **_: servers.published.append("load"))
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: servers)
    return servers


@pytest.fixture
def interrupted(servers: Servers, benchgate_home: Path) -> CampaignRun:
    with pytest.raises(KeyboardInterrupt):
        driver.drive(benchgate_home / "include" / "campaigns" / "mini.yaml", "r1", say=lambda _text: None)
    return CampaignRun("mini.r1")


def test_an_interrupted_run_takes_every_server_away_and_begins_nothing_more(
    servers: Servers, interrupted: CampaignRun
) -> None:
    assert sorted(servers.started) == ["beside@here/two", "first@here/one"]
    assert all(server.is_set() for server in servers.running.values())
    assert len(servers.measured) == 2


def test_each_launch_is_brought_to_its_end_so_that_its_log_is_kept(servers: Servers, interrupted: CampaignRun) -> None:
    assert sorted(servers.recorded_stop) == ["beside@here/two", "first@here/one"]


def test_a_server_whose_stop_fails_in_its_lane_is_told(
    servers: Servers, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_run: CampaignRun, key: str, **_: object) -> None:
        raise HostError(f"host here: cannot read the log of {key}")

    said: list[str] = []
    monkeypatch.setattr(launching, "stop_server", stop)
    with pytest.raises(KeyboardInterrupt):
        driver.drive(benchgate_home / "include" / "campaigns" / "mini.yaml", "r1", say=said.append)

    assert {line for line in said if line.startswith("HostError: ")} == {
        "HostError: host here: cannot read the log of beside@here/two",
        "HostError: host here: cannot read the log of first@here/one",
    }


def test_every_cell_has_its_end_and_the_one_being_measured_is_no_result(
    servers: Servers, interrupted: CampaignRun
) -> None:
    records = [interrupted.cell_record(cell.cell) for cell in interrupted.ledger.cells]
    ends = {record.cell: (record.state, record.reason) for record in records if record is not None}
    begun = dict.fromkeys(servers.measured, ("failed", "interrupted"))
    never = {cell.cell: ("not_run", "interrupted") for cell in interrupted.ledger.cells if cell.cell not in begun}
    assert ends == {**begun, **never}
    assert len(never) == 4


def test_the_run_is_over_and_loaded_with_its_reason(servers: Servers, interrupted: CampaignRun) -> None:
    record = interrupted.record
    assert (record.state, record.broken_off) == ("failed", "interrupted")
    assert record.ended_at is not None
    assert servers.published == ["validate", "load"]


def test_a_run_that_is_published_by_hand_is_left_for_that(servers: Servers, benchgate_home: Path) -> None:
    file = benchgate_home / "include" / "campaigns" / "mini.yaml"
    with pytest.raises(KeyboardInterrupt):
        driver.drive(file, "r1", options=driver.DriverOptions(publish=False), say=lambda _text: None)

    assert servers.published == []
    assert CampaignRun("mini.r1").record.publish_later


def test_a_choice_that_is_misspelt_is_refused_and_not_taken_for_none(benchgate_home: Path, servers: Servers) -> None:
    file = benchgate_home / "include" / "campaigns" / "mini.yaml"

    with pytest.raises(BenchgateError, match=r"no choice user .*arms, workloads, users, repeats, force, image"):
        planning.plan_run(file, "r1", {"user": [1]})


def test_a_second_process_at_work_on_the_same_run_is_refused(
    servers: Servers, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = benchgate_home / "include" / "campaigns" / "mini.yaml"
    monkeypatch.setenv("BENCHGATE_OWNER_PID", str(os.getppid()))
    planning.plan_run(file, "r1")
    monkeypatch.setenv("BENCHGATE_OWNER_PID", str(os.getpid()))

    with pytest.raises(BenchgateError, match=r"mini\.r1 is going on already .*another --run-id"):
        driver.drive(file, "r1", say=lambda _text: None)

    assert servers.started == []


def test_launches_that_are_not_planned_are_refused_before_anything_is_written(
    servers: Servers, benchgate_home: Path
) -> None:
    file = benchgate_home / "include" / "campaigns" / "mini.yaml"
    with pytest.raises(BenchgateError, match="plans no launch third"):
        driver.drive(file, "r1", options=driver.DriverOptions(launches=("third",)), say=lambda _text: None)

    assert not (benchgate_home / "artifacts").exists()


def test_an_image_is_refused_where_nothing_runs_in_one(servers: Servers, benchgate_home: Path) -> None:
    file = benchgate_home / "include" / "campaigns" / "mini.yaml"
    with pytest.raises(BenchgateError, match="takes no image: all its launches are on process hosts"):
        driver.drive(file, "r1", trigger={"image": "vllm/vllm-openai:nightly"}, say=lambda _text: None)
    with pytest.raises(BenchgateError, match="is no image"):
        driver.drive(file, "r1", trigger={"image": "--privileged"}, say=lambda _text: None)

    assert not (benchgate_home / "artifacts").exists()
