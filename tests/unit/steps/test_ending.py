"""Runs that were killed: every cell gets its end, and the run its place in the warehouse. Once, however often."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.errors import BenchgateError
from benchgate.hosts.process_table import identify
from benchgate.names import run_key
from benchgate.records import (
    CellRecord,
    Evidence,
    Failure,
    FailureKind,
    LaunchRecord,
    NeedleCheck,
    NeedleResult,
    Proof,
    RunRecord,
)
from benchgate.steps import ending, planning, publishing
from benchgate.steps.context import CampaignRun, owner_of_this_run
from benchgate.steps.leftovers import recorded_as_over
from tests.support.warehouses import rows, snapshot

HOSTS = "hosts: {here: {kind: process, placements: {one: {}, two: {}, three: {}, four: {}}}}\n"
CAMPAIGN = """
campaign: mini
engine: llamacpp
model: {id: some/model, source: {host_path: /nowhere/model.gguf}}
arms:
  measured: {placement: here/one, prove: {weights_type: fast}}
  starting: {placement: here/two}
  refused: {placement: here/three}
  waiting: {placement: here/four}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 48, users: [1, 2, 4], requests: 6}
gates:
  needle: {context_tokens: 1024}
"""
WHY = "the process that ran it was killed"


@pytest.fixture
def campaign_file(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    (include / "hosts.yaml").write_text(HOSTS)
    file = include / "campaigns" / "mini.yaml"
    file.write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    return file


@pytest.fixture
def killed(campaign_file: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    """A run whose process is gone: one launch in the middle of its cells, one starting, one failed, one untouched."""
    process = subprocess.Popen(["sleep", "60"])
    monkeypatch.setenv("BENCHGATE_OWNER_PID", str(process.pid))
    run = planning.plan_run(campaign_file, "r1")
    process.kill()
    process.wait()
    monkeypatch.delenv("BENCHGATE_OWNER_PID")
    keys = {launch.arm: launch.launch for launch in run.ledger.launches}
    for arm, end in (("measured", "ready"), ("starting", "starting"), ("refused", "failed")):
        failure = Failure(kind=FailureKind.BAD_FLAG, reason="no such flag") if end == "failed" else None
        launch = LaunchRecord(
            launch=keys[arm], arm=arm, host="here", placement="x", engine="llamacpp", model_id="m", failure=failure,
            end_state=end, ready_at="2026-11-30T02:00:00Z" if end == "ready" else None,
        )  # fmt: skip
        run.save_launch(launch)
    done, begun, _ = run.cells_of(keys["measured"])
    run.save_cell(CellRecord(**done.model_dump(), state="failed", reason="a stall"))
    run.store.write_json(run.store.cell_path(begun.cell, "progress.json"), {"cell": begun.cell})
    return CampaignRun(run.run)


def ends(run: CampaignRun) -> dict[str, tuple[str, str | None] | None]:
    records = {cell.cell: run.cell_record(cell.cell) for cell in run.ledger.cells}
    return {key: (record.state, record.reason) if record else None for key, record in records.items()}


def test_each_open_cell_says_how_far_it_came(killed: CampaignRun) -> None:
    assert ending.break_off(killed, WHY) == 8

    found = ends(killed)
    assert found["measured@here/one/chat/u1/r1"] == ("failed", "a stall")
    assert found["measured@here/one/chat/u2/r1"] == ("failed", f"{WHY} while this cell was measured")
    assert found["measured@here/one/chat/u4/r1"] == ("not_run", WHY)
    assert found["starting@here/two/chat/u1/r1"] == ("not_run", WHY)
    assert found["waiting@here/four/chat/u4/r1"] == ("not_run", WHY)
    assert found["refused@here/three/chat/u1/r1"] is None  # its own failure is its reason
    starting = killed.launch_record("starting@here/two")
    assert starting is not None
    assert starting.failure is not None
    assert (starting.end_state, starting.failure.kind) == ("failed", FailureKind.KILLED)


def test_the_verdict_on_a_run_that_was_ended_before_it_was_done_is_no(
    killed: CampaignRun, benchgate_home: Path
) -> None:
    url = f"sqlite:///{benchgate_home}/warehouse.db"

    with pytest.raises(
        BenchgateError, match="was ended before its results were in the warehouse: it was marked in Airf"
    ):
        publishing.verdict(killed)

    ending.finish_killed_runs(ending.why_over, url=url)
    with pytest.raises(BenchgateError, match=WHY):
        publishing.verdict(CampaignRun(killed.run))


def test_a_server_that_was_left_behind_has_its_end_with_the_reason(killed: CampaignRun) -> None:
    ending.break_off(killed, WHY)

    left = killed.launch_record("measured@here/one")
    assert left is not None
    assert left.failure == Failure(kind=FailureKind.KILLED, reason=WHY)
    assert left.stopped_at is not None


def test_a_server_that_had_died_before_the_run_was_killed_keeps_what_it_died_of(killed: CampaignRun) -> None:
    died = Failure(kind=FailureKind.HOST_OOM, reason="the host ran out of memory")
    killed.update_launch("measured@here/one", failure=died)

    ending.break_off(killed, WHY)

    left = killed.launch_record("measured@here/one")
    assert left is not None
    assert (left.end_state, left.failure) == ("failed", died)


NOT_FOUND = NeedleResult(depth=0.5, context_tokens=1024, asked="what?", expected="a", answered="b", found=False)
LOG = Evidence(line=1, text="some words of the log")


@pytest.mark.parametrize(
    ("known", "ended"),
    [
        ({}, ("not_run", WHY)),  # killed before its proofs were read
        (
            {"proofs": [Proof(name="weights_type", value="fast", evidence=LOG)]},
            ("not_run", WHY),
        ),  # before the needle check
        ({"proofs": [Proof(name="weights_type", value="slow", evidence=LOG)]}, ("unpublishable", "weights_type")),
        (
            {
                "proofs": [Proof(name="weights_type", value="fast", evidence=LOG)],
                "needle": NeedleCheck(requested_context_tokens=1024, results=[NOT_FOUND]),
            },
            ("unpublishable", "needle check 0/1"),
        ),
    ],
    ids=["not-proven", "no-needle-check", "wrong-kernel", "needle-lost"],
)
def test_a_kill_is_no_refusal_and_a_refusal_stays_one(
    killed: CampaignRun, known: dict[str, object], ended: tuple[str, str], benchgate_home: Path
) -> None:
    url = f"sqlite:///{benchgate_home}/warehouse.db"
    killed.update_launch("measured@here/one", **known)

    ending.finish_killed_runs(ending.why_over, url=url)

    [cell] = rows(url, "SELECT end_state, reason FROM cell WHERE cell = 'measured@here/one/chat/u4/r1'")
    assert cell["end_state"] == ended[0]
    assert ended[1] in cell["reason"]
    listed = rows(url, "SELECT cell FROM did_not_run WHERE cell = 'measured@here/one/chat/u4/r1'")
    assert bool(listed) == (ended[0] == "not_run")


def test_breaking_off_twice_changes_nothing(killed: CampaignRun) -> None:
    ending.break_off(killed, WHY)
    before = (ends(killed), killed.record)

    assert ending.break_off(killed, "another reason") == 0

    assert (ends(killed), killed.record) == before


def test_a_killed_run_gets_its_end_and_its_rows_once(killed: CampaignRun, benchgate_home: Path) -> None:
    url = f"sqlite:///{benchgate_home}/warehouse.db"

    said = ending.finish_killed_runs(ending.why_over, url=url)

    assert len(said) == 1
    assert said[0].text.startswith(f"run mini.r1 finished and loaded: {WHY}; 8 cells were open;")
    run = rows(url, "SELECT state, expectation_met, expectation_reason FROM campaign_run")[0]
    assert (run["state"], bool(run["expectation_met"])) == ("failed", False)
    assert run["expectation_reason"].startswith(WHY)
    states = rows(url, "SELECT arm, end_state, count(*) AS n FROM cell GROUP BY 1, 2")
    assert {(row["arm"], row["end_state"]): row["n"] for row in states} == {
        ("measured", "failed"): 2,
        ("measured", "not_run"): 1,  # no gate refused it: its needle check had not ended
        ("refused", "not_run"): 3,
        ("starting", "not_run"): 3,
        ("waiting", "not_run"): 3,
    }
    before = snapshot(url)
    assert ending.finish_killed_runs(ending.why_over, url=url) == []
    assert snapshot(url) == before
    assert recorded_as_over("mini.r1")


def test_a_dry_look_changes_nothing(killed: CampaignRun, benchgate_home: Path) -> None:
    said = ending.finish_killed_runs(ending.why_over, url=f"sqlite:///{benchgate_home}/w.db", dry=True)

    assert [one.text for one in said] == [f"run mini.r1 would be finished and loaded: {WHY}"]
    assert CampaignRun("mini.r1").record.state == "running"
    assert not (benchgate_home / "w.db").exists()


def test_runs_that_may_be_going_on_are_left_alone(campaign_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planning.plan_run(campaign_file, "of-airflow")
    monkeypatch.setenv("BENCHGATE_OWNER_PID", "1")
    planning.plan_run(campaign_file, "of-a-living-process")

    assert ending.finish_killed_runs(ending.why_over) == []


def test_a_run_that_its_person_publishes_by_hand_is_left_alone(killed: CampaignRun) -> None:
    killed.update_record(publish_later=True)

    assert ending.finish_killed_runs(ending.why_over) == []


def test_one_run_that_cannot_be_finished_stops_no_other(
    killed: CampaignRun, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (benchgate_home / "artifacts" / "broken").mkdir()
    (benchgate_home / "artifacts" / "broken" / "run.json").write_text("{")
    monkeypatch.setattr(publishing, "validate", lambda *_a, **_o: None)
    monkeypatch.setattr(publishing, "load", lambda *_a, **_o: {"not_run": 12})

    said = ending.finish_killed_runs(ending.why_over)

    assert [one.text.split(":")[0] for one in said] == [
        "run broken cannot be finished",
        "run mini.r1 finished and loaded",
    ]
    assert [(one.run, one.failed, one.loaded) for one in said] == [("broken", True, False), ("mini.r1", False, True)]


def test_a_run_without_its_campaign_file_is_closed_with_that_reason_and_loaded(
    campaign_file: Path, benchgate_home: Path
) -> None:
    url = f"sqlite:///{benchgate_home}/warehouse.db"
    run = planning.plan_run(campaign_file, "r2")
    campaign_file.unlink()

    def airflow(_record: RunRecord) -> str:
        return "its campaign file is gone"

    ending.finish_killed_runs(lambda one: ending.why_over(one, ask=airflow), url=url)

    cells = rows(url, "SELECT DISTINCT end_state, reason FROM cell")
    assert [(cell["end_state"], cell["reason"]) for cell in cells] == [("not_run", "its campaign file is gone")]
    assert rows(url, "SELECT state FROM campaign_run")[0]["state"] == "failed"
    assert recorded_as_over(run.run)


def record(owner: str | None = None) -> RunRecord:
    return RunRecord(
        run=run_key("c", "r"), campaign="c", airflow_run_id="r", started_at="2026-11-30T02:00:00Z",
        benchgate_version="1", owner=owner,
    )  # fmt: skip


def test_airflow_is_asked_about_its_own_runs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = "its DAG run ended without publishing it"
    assert ending.why_over(record(), ask=lambda _record: ended) == "its DAG run ended without publishing it"
    assert ending.why_over(record(), ask=lambda _record: None) is None
    assert identify(1) is not None
    monkeypatch.setenv("BENCHGATE_OWNER_PID", "1")
    assert ending.why_over(record(owner_of_this_run()), ask=lambda _record: ended) is None
    assert "a person said" in str(ending.why_over(record(), named=True))
