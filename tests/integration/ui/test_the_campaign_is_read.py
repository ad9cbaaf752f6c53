"""The campaign that ``test_a_campaign_is_started`` began, from its end to its comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.ui.conftest import Story, until
from tests.integration.ui.server import AirflowServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN_PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def page(story: Story) -> Any:
    """The window of the story: what one test leaves open, the next one finds."""
    return story.page


def test_the_page_turns_into_the_result_by_itself(story: Story, page: Any, screenshots: Path) -> None:
    story.begun()
    frame = page.frame_locator("iframe")

    ended = frame.get_by_text("Every arm ended as the campaign expects.")
    until(lambda: ended.count() > 0, "an end of the run", RUN_PATIENCE_S)
    page.screenshot(path=screenshots / "airflow-result.png")

    assert frame.locator("#run-progress section").count() == 0
    counts = frame.locator("#run-grid .counts").inner_text()
    assert "2 published" in counts
    assert "1 did not run" in counts
    assert "3 not asked for" in counts


def test_a_proof_leads_to_its_line_in_the_server_log(page: Any) -> None:
    frame = page.frame_locator("iframe")
    frame.locator("summary", has_text="plain").click()
    row = frame.locator("details[open] table.proofs tr").filter(has=frame.get_by_role("link")).first
    words = row.locator(".words").inner_text().split("\n")[0][:60].strip()
    row.get_by_role("link").click()

    frame.get_by_role("heading", name="Server log").wait_for()
    assert words in frame.locator(".marked").inner_text()


def test_every_task_leads_to_its_page(airflow: AirflowServer, story: Story, page: Any) -> None:
    token, run = airflow.token("admin"), story.begun()
    base = f"/api/v2/dags/watched/dagRuns/{run}/taskInstances"
    tasks = [one["task_id"] for one in json.loads(airflow.get(base, token)[1])["task_instances"]]

    links = {
        task: json.loads(airflow.get(f"{base}/{task}/links", token)[1])["extra_links"]["Results"] for task in tasks
    }

    assert len(tasks) > 10
    for task, link in links.items():
        assert link == f"/plugin/benchgate/benchgate/run/watched/{run}/task/{quote(task, safe='')}"
        status, body = airflow.get(link.removeprefix("/plugin/benchgate"), token)
        assert status == 200
        assert _heading_of(task) in body, task
    page.goto(airflow.url + links["plain--local--cpu.measure_chat_u1_r1"])
    page.frame_locator("iframe").get_by_role("heading", name="chat, 1 user, repeat 1").wait_for()


def test_a_page_leads_back_to_the_task_log(airflow: AirflowServer, page: Any) -> None:
    page.frame_locator("iframe").get_by_role("link", name="Task log in Airflow").click()

    page.wait_for_url("**/tasks/plain--local--cpu.measure_chat_u1_r1**")
    page.get_by_text("latencies").first.wait_for()


def test_two_arms_of_the_run_are_compared(airflow: AirflowServer, page: Any, screenshots: Path) -> None:
    page.goto(f"{airflow.url}/benchgate/compare?campaign=watched")
    page.get_by_role("heading", name="batched against plain").wait_for()
    page.screenshot(path=screenshots / "compare-watched.png", full_page=True)

    row = page.get_by_role("region", name="Decode throughput").get_by_role("row", name="chat, 1 user")
    assert "one run" in row.inner_text()
    assert page.get_by_text("Same placement.").count() == 1


def test_airflows_theme_is_the_pages_theme(airflow: AirflowServer, page: Any) -> None:
    page.goto(f"{airflow.url}/plugin/benchgate")
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="watched").wait_for()
    backgrounds = []
    for theme in ("dark", "light"):
        # what Airflow does when a person chooses a theme
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        frame.locator(f"html[data-theme={theme}]").wait_for(state="attached")
        backgrounds.append(frame.locator("html").evaluate("one => getComputedStyle(one).backgroundColor"))

    assert backgrounds == ["rgb(19, 22, 26)", "rgb(255, 255, 255)"]


def _heading_of(task: str) -> str:
    """What only the page of the task's subject has."""
    if ".measure_" in task:
        return "<h2>Latencies</h2>" if "_u1_" in task and "bad-flag" not in task else "<h2>Verdicts</h2>"
    group = task.partition(".")[0]
    return "<h2>Preflight</h2>" if group.endswith("--local--cpu") else ">Ledger</h2>"
