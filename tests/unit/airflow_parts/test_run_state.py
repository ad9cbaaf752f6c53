"""Whether a run, or a launch of this run, is over, as Airflow tells it: what it left may go only then."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time.comms import ErrorResponse

from benchgate.airflow.run_state import is_over, launch_is_over, unrecorded_is_over, why_airflow_says_over
from benchgate.artifacts import RunStore
from benchgate.names import run_key
from benchgate.records import CampaignGone, RunRecord
from benchgate.steps import ending

GROUP = "marlin--h200--quad-a"


def task(states: Any) -> Any:
    """A running task whose Airflow answers with the states of a group's tasks, or with an error."""

    def get_task_states(*, dag_id: str, run_ids: list[str], task_group_id: str) -> Any:
        assert (dag_id, run_ids, task_group_id) == ("c", ["night-1"], GROUP)
        if isinstance(states, Exception):
            raise states
        return {"night-1": states}

    return SimpleNamespace(dag_id="c", run_id="night-1", get_task_states=get_task_states)


@pytest.mark.parametrize(
    ("states", "over"),
    [
        ({f"{GROUP}.start_server": "failed", f"{GROUP}.stop_server": "upstream_failed"}, True),
        ({f"{GROUP}.measure": "success", f"{GROUP}.stop_server": "failed", f"{GROUP}.x": "skipped"}, True),
        ({f"{GROUP}.measure": "failed", f"{GROUP}.stop_server": "running"}, False),
        ({f"{GROUP}.measure": "failed", f"{GROUP}.stop_server": None}, False),
        ({f"{GROUP}.measure": "up_for_retry", f"{GROUP}.stop_server": "success"}, False),
        ({}, False),
        (RuntimeError("the API server does not answer"), False),
    ],
)
def test_a_launch_is_over_when_every_task_of_it_has_ended_and_airflow_says_so(states: Any, over: bool) -> None:
    assert launch_is_over(task(states), GROUP) is over


RUN_ID = "scheduled__2026-11-30T02:00:00+00:00"
CAMPAIGN = """
campaign: mini
engine: llamacpp
model: {id: some/model, source: {host_path: /nowhere/model.gguf}}
arms: {plain: {placement: here/one}}
workloads: {chat: {dataset: synthetic, prompt_tokens: 48, users: [1], requests: 6}}
"""
FILE_GONE = "its campaign file is gone, so Airflow could start no more of its tasks"


@pytest.fixture
def campaign_file(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    (include / "hosts.yaml").write_text("hosts: {here: {kind: process, placements: {one: {}}}}\n")
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    file = include / "campaigns" / "mini.yaml"
    file.write_text(CAMPAIGN)
    return file


def planned(campaign: str = "mini", **changes: Any) -> RunRecord:
    """The record of a run that goes on, in the artifact store."""
    record = RunRecord(
        run=run_key(campaign, RUN_ID), campaign=campaign, airflow_run_id=RUN_ID,
        started_at="2026-11-30T02:00:00Z", benchgate_version="1", **changes,
    )  # fmt: skip
    store = RunStore(record.run)
    store.write(store.path("run.json"), record)
    return record


def hours_pass(record: RunRecord, hours: float = 1.0) -> None:
    """Put back what the first look noted."""
    store = RunStore(record.run)
    note = store.read(store.path("campaign_gone.json"), CampaignGone)
    assert note is not None
    earlier = datetime.now(timezone.utc) - timedelta(hours=hours)
    store.write(store.path("campaign_gone.json"), CampaignGone(since=earlier.isoformat(), why=note.why))


def airflow(state: Any = "running", task: str | None = "up_for_reschedule", campaign: str = "mini") -> Any:
    """A running task whose Airflow knows one DAG run. ``state`` may be the error that it answers with."""

    def get_dagrun_state(dag_id: str, run_id: str) -> Any:
        assert (dag_id, run_id) == (campaign, RUN_ID)
        if isinstance(state, Exception):
            raise state
        return state

    def get_task_states(dag_id: str, run_ids: Any = None, task_ids: Any = None) -> Any:
        if dag_id != campaign:
            return {}
        return {"manual__other": {"plan": "success"}, RUN_ID: {"plan": "success", "plain.measure": task}}

    return SimpleNamespace(get_dagrun_state=get_dagrun_state, get_task_states=get_task_states)


def refusal(status: int, reason: str) -> AirflowRuntimeError:
    detail = {"status_code": status, "message": "no", "detail": {"detail": {"reason": reason, "message": "no"}}}
    return AirflowRuntimeError(ErrorResponse(error=ErrorType.API_SERVER_ERROR, detail=detail))


def test_a_run_whose_campaign_file_stays_gone_is_over_after_the_grace(campaign_file: Path) -> None:
    record = planned()
    assert why_airflow_says_over(airflow(), record) is None
    campaign_file.unlink()

    first = why_airflow_says_over(airflow(), record)
    second = why_airflow_says_over(airflow(), record)
    hours_pass(record)

    assert (first, second) == (None, None)
    assert why_airflow_says_over(airflow(), record) == FILE_GONE
    assert is_over(airflow(), record.run, this="other.run")
    assert ending.why_over(record, ask=lambda asked: why_airflow_says_over(airflow(), asked)) == FILE_GONE


def test_the_grace_begins_anew_when_the_file_was_back(campaign_file: Path) -> None:
    record = planned()
    campaign_file.unlink()
    why_airflow_says_over(airflow(), record)
    hours_pass(record)
    campaign_file.write_text(CAMPAIGN)
    assert why_airflow_says_over(airflow(), record) is None

    campaign_file.unlink()

    assert why_airflow_says_over(airflow(), record) is None


def test_a_broken_campaign_file_is_told_as_such(campaign_file: Path) -> None:
    record = planned()
    campaign_file.write_text(CAMPAIGN + "nonsense: 1\n")
    why_airflow_says_over(airflow(), record)
    hours_pass(record)

    assert str(why_airflow_says_over(airflow(), record)).startswith("its campaign file mini.yaml is broken, so ")


def test_a_task_that_still_works_keeps_its_run(campaign_file: Path) -> None:
    record = planned()
    campaign_file.unlink()
    why_airflow_says_over(airflow(task="running"), record)
    hours_pass(record)

    assert why_airflow_says_over(airflow(task="running"), record) is None
    assert why_airflow_says_over(airflow(task="up_for_retry"), record) == FILE_GONE


def test_the_grace_is_what_the_setting_says(campaign_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = planned()
    campaign_file.unlink()
    why_airflow_says_over(airflow(), record)
    hours_pass(record)

    monkeypatch.setenv("BENCHGATE_GONE_MINUTES", "90")
    longer = why_airflow_says_over(airflow(), record)
    monkeypatch.setenv("BENCHGATE_GONE_MINUTES", "an hour")
    unusable = why_airflow_says_over(airflow(), record)
    monkeypatch.setenv("BENCHGATE_GONE_MINUTES", "30")

    assert (longer, unusable) == (None, None)
    assert why_airflow_says_over(airflow(), record) == FILE_GONE


def test_a_run_of_a_process_is_never_ended_for_its_campaign_file(campaign_file: Path) -> None:
    record = planned(owner="elsewhere 1 1")
    campaign_file.unlink()

    assert why_airflow_says_over(airflow(), record) is None

    assert not RunStore(record.run).exists(RunStore(record.run).path("campaign_gone.json"))


@pytest.mark.parametrize("what", ["folder", "inventory"])
def test_where_no_campaign_can_be_read_none_is_taken_for_gone(campaign_file: Path, what: str) -> None:
    record = planned()
    campaign_file.unlink()
    why_airflow_says_over(airflow(), record)
    hours_pass(record)
    if what == "folder":
        campaign_file.parent.rmdir()
    else:
        (campaign_file.parent.parent / "hosts.yaml").write_text("hosts: 1\n")

    assert why_airflow_says_over(airflow(), record) is None


@pytest.mark.parametrize(
    "answer",
    [refusal(500, "internal"), refusal(404, "no route"), RuntimeError("away"), refusal(404, "not_found")],
    ids=["broken", "proxy", "away", "of-another-airflow-with-the-same-store"],
)
def test_an_airflow_that_does_not_tell_ends_no_run(campaign_file: Path, answer: Exception) -> None:
    record = planned()
    campaign_file.unlink()

    assert why_airflow_says_over(airflow(answer), record) is None
    assert why_airflow_says_over(airflow(answer), record) is None
    assert not RunStore(record.run).exists(RunStore(record.run).path("campaign_gone.json"))


@pytest.mark.parametrize(
    ("state", "over"), [("success", True), ("failed", True), ("running", False), ("queued", False)]
)
@pytest.mark.parametrize("campaign", ["mini", "mini.v2.1"])
def test_airflow_decides_about_a_run_whose_record_is_lost(
    campaign_file: Path, campaign: str, state: str, over: bool
) -> None:
    campaign_file.write_text(CAMPAIGN.replace("mini", campaign))
    key = run_key(campaign, RUN_ID)

    assert unrecorded_is_over(airflow(state, campaign=campaign), key) is over
    assert is_over(airflow(state, campaign=campaign), key, this="other.run") is over


def test_a_damaged_record_is_as_good_as_none(campaign_file: Path) -> None:
    record = planned()
    RunStore(record.run).write_text(RunStore(record.run).path("run.json"), "{")

    assert is_over(airflow("failed"), record.run, this="other.run")
    assert not is_over(airflow("running"), record.run, this="other.run")


def test_what_airflow_does_not_know_or_cannot_end_is_unknown(campaign_file: Path) -> None:
    key = run_key("mini", RUN_ID)

    assert unrecorded_is_over(airflow("failed"), run_key("mini", "scheduled__2026-11-29T02:00:00+00:00")) is None
    assert unrecorded_is_over(airflow("failed"), run_key("somebody-elses", RUN_ID)) is None
    assert unrecorded_is_over(airflow(RuntimeError("away")), key) is None
    campaign_file.unlink()
    assert unrecorded_is_over(airflow("running"), key) is None  # it goes on for ever: a person must know of it
