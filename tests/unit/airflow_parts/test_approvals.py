"""What the approving tasks make of an answer, and of one that they gave before."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk.exceptions import AirflowSkipException

from benchgate.airflow.approvals import APPROVE, REJECT, ChangedImageApproval, RegressionApproval
from benchgate.records import HostSeeds, RunRecord
from benchgate.steps.context import CampaignRun
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.runs import campaign, ledger_of, run_record
from tests.support.warehouses import bundle, rows

KEY = "kernels.tonight"
TAG = "vllm/vllm-openai:nightly"
OLD, NEW, NEWER = (f"vllm/vllm-openai@sha256:{letter * 64}" for letter in "abc")
CONTEXT: Any = {"dag": SimpleNamespace(dag_id="kernels"), "run_id": "tonight"}
REPORT: Any = {"dag": SimpleNamespace(dag_id="report"), "run_id": "after-tonight"}
MESSAGE = "kernels, night of 2026-11-30: 1 regressed (of 3 series)."


class Asked(Exception):
    """Airflow asks a person."""


@pytest.fixture
def url(tmp_path: Path, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty warehouse; asking ends the test's task."""
    made = f"sqlite:///{tmp_path / 'warehouse.db'}"
    migrate(made)
    monkeypatch.setattr("benchgate.airflow.warehouse.warehouse_url", lambda: made)

    def ask(operator: HITLOperator, context: Any) -> None:
        raise Asked(operator.body)

    monkeypatch.setattr(HITLOperator, "execute", ask)
    return made


@pytest.fixture
def run(url: str, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    """A run whose host pulled an image that moved."""
    monkeypatch.setattr(CampaignRun, "campaign", campaign())
    run = CampaignRun(KEY)
    run.store.write(run.store.path("run.json"), run_record(campaign(), KEY, airflow_run_id="tonight", state="running"))
    _pulled(run, NEW)
    return run


def _pulled(run: CampaignRun, pinned: str) -> None:
    run.save_seeds(HostSeeds(host="h200", images={TAG: pinned}, previous_digests={TAG: OLD}))


def _answer(choice: str, by: str | None = "ada") -> dict[str, Any]:
    user = None if by is None else {"id": "1", "name": by}
    at = datetime(2026, 11, 30, 2, 5, tzinfo=timezone.utc)
    return {"chosen_options": [choice], "params_input": {}, "responded_at": at, "responded_by_user": user}


def _image() -> ChangedImageApproval:
    return ChangedImageApproval(task_id="approve_changed_image", host="h200")


def _regression(*runs: str) -> RegressionApproval:
    return RegressionApproval(task_id="approve_announcement", runs=list(runs))


def _record(run: CampaignRun) -> RunRecord:
    return CampaignRun(run.run).record


def test_a_task_that_is_tried_again_after_a_yes_asks_nobody(run: CampaignRun) -> None:
    with pytest.raises(Asked, match=r"sha256:a+. and is .sha256:b+"):
        _image().execute(CONTEXT)
    assert _image().execute_complete(CONTEXT, _answer(APPROVE)) == "approved"

    assert _image().execute(CONTEXT) == "approved"


def test_a_task_that_is_tried_again_after_a_no_asks_nobody_and_ends_the_run_all_the_same(run: CampaignRun) -> None:
    reason = "the changed image was rejected by ada"
    with pytest.raises(AirflowSkipException, match=reason):
        _image().execute_complete(CONTEXT, _answer(REJECT))

    with pytest.raises(AirflowSkipException, match=reason):
        _image().execute(CONTEXT)
    assert (_record(run).state, _record(run).nothing_new_reason) == ("nothing_new", reason)


def test_no_answer_in_time_is_a_no_of_nobody(run: CampaignRun) -> None:
    with pytest.raises(AirflowSkipException, match="rejected by nobody in time"):
        _image().execute_complete(CONTEXT, _answer(REJECT, by=None))


def test_an_answer_holds_for_the_digests_that_it_was_given_for(run: CampaignRun) -> None:
    _image().execute_complete(CONTEXT, _answer(APPROVE))
    _pulled(run, NEWER)

    with pytest.raises(Asked, match="sha256:ccc"):
        _image().execute(CONTEXT)


def test_an_answer_that_airflow_loses_is_asked_for_again() -> None:
    for task in (_image(), _regression(KEY)):
        assert task.retries, f"{task.task_id} would fail the run although somebody answered"


def _loaded(url: str, name: str, *, asks: bool) -> str:
    spec = campaign(campaign=name, approvals={"regression": asks})
    key = f"{name}.tonight"
    load_run(bundle(key, spec=spec, ledger=ledger_of(spec, key)), url)
    return key


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run has something to announce."""
    monkeypatch.setattr("benchgate.steps.reporting.nightly_message", lambda runs, url=None: MESSAGE if runs else None)


@pytest.mark.usefixtures("moved")
@pytest.mark.parametrize(("choice", "approved"), [(APPROVE, 1), (REJECT, 0)])
def test_only_the_campaigns_that_ask_are_kept_back_by_a_no(url: str, choice: str, approved: int) -> None:
    asking, other = _loaded(url, "asking", asks=True), _loaded(url, "other", asks=False)
    task = _regression(asking, other)
    with pytest.raises(Asked, match=MESSAGE[:30]):
        task.execute(REPORT)

    announced = task.execute_complete(REPORT, _answer(choice))

    assert announced == ([asking, other] if approved else [other])
    assert _regression(asking, other).execute(REPORT) == announced  # tried again: nobody is asked twice
    kept = rows(url, "SELECT run, point, approved, approved_by FROM approval JOIN campaign_run USING (run_id)")
    assert kept == [{"run": asking, "point": "regression", "approved": approved, "approved_by": "ada"}]


@pytest.mark.usefixtures("moved")
def test_another_report_of_the_run_asks_again(url: str) -> None:
    key = _loaded(url, "asking", asks=True)
    assert _regression(key).execute_complete(REPORT, _answer(REJECT)) == []

    with pytest.raises(Asked):
        _regression(key).execute({**REPORT, "run_id": "by hand"})


@pytest.mark.usefixtures("moved")
def test_an_imported_run_without_artifacts_is_announced_unasked(url: str) -> None:
    load_run(bundle("imported.1", run_changes={"campaign_yaml": ""}), url)

    assert _regression("imported.1").execute(REPORT) == ["imported.1"]


def test_nobody_is_asked_when_nothing_moved(url: str) -> None:
    key = _loaded(url, "asking", asks=True)

    assert _regression(key).execute(REPORT) == [key]
