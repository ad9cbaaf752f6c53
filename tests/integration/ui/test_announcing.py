"""A campaign that asks a person before a regression is announced: kept back, then announced, in a real Airflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.ui.conftest import Opened, run_path, until
from tests.integration.ui.server import AirflowServer
from tests.support.warehouses import rows
from tests.unit.pages.fabricated import load_nights, night, spec_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CAMPAIGN = "announced"
TASK = "approve_announcement"
LAST = 301  # triton is slower since night 300, and on this one a launch lost a needle: a gate refused its cells
END_STATES = (
    "SELECT cell.cell, end_state, refused_by FROM cell JOIN campaign_run USING (run_id) WHERE run = :run ORDER BY 1"
)


@pytest.fixture(scope="module")
def key(airflow: AirflowServer) -> str:
    """Key of the night whose regression is to be announced."""
    spec = spec_of(CAMPAIGN, approvals={"regression": True})
    load_nights(airflow.warehouse, range(LAST - 10, LAST + 1), spec)
    return night(LAST, spec).run.run


def _report(airflow: AirflowServer, key: str) -> str:
    """A report of the night that waits for an answer."""
    run = quote(airflow.begin("report", {"run": key}), safe="")
    until(lambda: airflow.state_of_task("report", run, TASK) == "awaiting_input", "question")
    return run


def _ended(airflow: AirflowServer, run: str, answer: str) -> None:
    until(lambda: airflow.answer("report", run, TASK, answer), "end of asking")
    until(lambda: airflow.state_of("report", run) in ("success", "failed"), "end of the report")
    assert airflow.state_of("report", run) == "success"


def _announced(airflow: AirflowServer) -> str:
    return airflow.messages.read_text() if airflow.messages.exists() else ""


def _answers(airflow: AirflowServer, key: str) -> list[dict[str, Any]]:
    query = (
        "SELECT approved, approved_by, answered_at IS NOT NULL AS dated FROM approval "
        "JOIN campaign_run USING (run_id) WHERE run = :run AND point = 'regression' ORDER BY answered_at"
    )
    return rows(airflow.warehouse, query, run=key)


def test_a_regression_is_announced_after_a_yes_and_not_after_a_no(
    airflow: AirflowServer, key: str, opened: Opened, screenshots: Path
) -> None:
    before = rows(airflow.warehouse, END_STATES, run=key)
    refusal = {"approved": 0, "approved_by": "admin", "dated": 1}

    run = _report(airflow, key)
    with opened() as page:
        page.goto(airflow.url + run_path(LAST, CAMPAIGN))
        page.get_by_text("Waiting for a person: Announce what moved?").wait_for()
        page.get_by_role("link", name="Answer in Airflow").click()
        page.get_by_text("REGRESSED triton").first.wait_for()
        page.screenshot(path=screenshots / "airflow-announce.png")
        page.get_by_role("button", name="Reject").click()
        _ended(airflow, run, "Reject")
        page.goto(airflow.url + run_path(LAST, CAMPAIGN))
        page.get_by_text("regression: refused by admin").wait_for()
        assert page.get_by_text("Waiting for a person").count() == 0

    assert CAMPAIGN not in _announced(airflow)
    assert _answers(airflow, key) == [refusal]

    _ended(airflow, _report(airflow, key), "Approve")

    assert f"{CAMPAIGN}, night of" in _announced(airflow)
    assert "REGRESSED triton" in _announced(airflow)
    assert _answers(airflow, key) == [refusal, {**refusal, "approved": 1}]
    assert "unpublishable" in {row["end_state"] for row in before}
    assert rows(airflow.warehouse, END_STATES, run=key) == before  # what a gate refused stays refused


def test_the_tab_of_a_report_leads_to_its_runs(airflow: AirflowServer, key: str, opened: Opened) -> None:
    run = _report(airflow, key)
    with opened() as page:
        page.goto(f"{airflow.url}/dags/report/runs/{run}/plugin/benchgate-run")
        frame = page.frame_locator("iframe")
        frame.get_by_text("Waiting for a person: Announce what moved?").wait_for()
        frame.get_by_role("link", name=CAMPAIGN).click()
        frame.get_by_role("heading", level=1, name=CAMPAIGN).wait_for()

    airflow.ask("PATCH", f"/api/v2/dags/report/dagRuns/{run}/taskInstances/{TASK}", {"new_state": "failed"})
    seen = airflow.get(f"/benchgate/api{run_path(LAST, CAMPAIGN).removeprefix('/benchgate')}", airflow.token("admin"))[
        1
    ]
    assert '"pending":[]' in seen  # nobody waits for this answer any more
