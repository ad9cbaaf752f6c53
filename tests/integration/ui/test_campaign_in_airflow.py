"""A campaign from its trigger form to its comparison, in Airflow's own frame, on the real engine."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.integration.ui.conftest import PATIENCE_MS, Complaints, log_in
from tests.integration.ui.server import AirflowServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN_PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def page(airflow: AirflowServer, chromium: Any) -> Iterator[Any]:
    """One window for the whole story: what one test leaves open, the next one finds."""
    context = chromium.new_context(viewport={"width": 1366, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints = Complaints()
    page.story = {}
    log_in(page, airflow)
    complaints.watch(page)
    yield page
    context.close()
    assert complaints == []


def test_the_navigation_leads_to_the_campaigns(airflow: AirflowServer, page: Any, screenshots: Path) -> None:
    page.get_by_role("link", name="Campaigns").click()
    frame = page.frame_locator("iframe")

    frame.get_by_role("heading", name="watched").wait_for()
    page.screenshot(path=screenshots / "airflow-campaigns.png")


def test_a_link_out_of_the_frame_leads_to_airflows_own_page(airflow: AirflowServer, page: Any) -> None:
    card = page.frame_locator("iframe").locator(".card", has_text="watched")
    card.get_by_role("link", name="Open in Airflow").click()

    page.wait_for_url(f"{airflow.url}/dags/watched")
    page.locator("iframe").wait_for(state="detached")
    page.get_by_role("button", name="Trigger").first.wait_for()


def test_the_trigger_form_offers_the_campaigns_choices_and_refuses_others(
    airflow: AirflowServer, page: Any, screenshots: Path
) -> None:
    page.get_by_role("button", name="Trigger").first.click()
    form = page.get_by_role("dialog")
    form.get_by_text("Which arms to start. None chosen: all of them.").wait_for()
    repeats = form.get_by_role("spinbutton")
    repeats.fill("0")
    repeats.press("Tab")
    refused = repeats.input_value()
    repeats.fill("99")
    repeats.press("Tab")
    most = repeats.input_value()
    repeats.fill("")

    form.get_by_label("Select one or multiple values").nth(2).click()
    options = page.get_by_role("option")
    assert [text.strip() for text in options.all_inner_texts()] == ["1", "2"]
    options.first.click()
    page.screenshot(path=screenshots / "airflow-trigger.png")
    assert (refused, most) == ("1", "20")

    form.get_by_role("button", name="Trigger", exact=True).click()
    page.wait_for_url("**/dags/watched/runs/*")
    page.story["run"] = quote(unquote(page.url.rsplit("/runs/", 1)[1].split("/")[0].split("?")[0]), safe="")


def test_a_bad_choice_is_refused_by_airflow_as_well(airflow: AirflowServer) -> None:
    for conf in ({"users": ["3"]}, {"arms": ["nobody"]}, {"repeats": 0}, {"force": "yes"}):
        assert airflow.trigger("watched", conf) == 400


def test_the_tab_of_the_run_shows_how_far_it_is(airflow: AirflowServer, page: Any, screenshots: Path) -> None:
    page.get_by_role("link", name="Campaign run").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", level=1, name="watched").wait_for()

    seen: list[str] = []
    _until(lambda: "requests" in _progress(frame, seen), "requests in the progress")
    page.screenshot(path=screenshots / "airflow-watching.png")

    assert "tok/s" in seen[-1]
    assert "error" in seen[-1]
    assert "left" in seen[-1]
    assert "measuring chat, 1 user, repeat 1" in seen[-1]
    assert frame.get_by_role("link", name="repeat 1: measuring").count() == 1


def test_the_host_page_tells_who_holds_the_placement(airflow: AirflowServer) -> None:
    def held() -> Any:
        hosts = json.loads(airflow.get("/benchgate/api/hosts", airflow.token("admin"))[1])["hosts"]
        return next(host for host in hosts if host["name"] == "local")["placements"][0]["held"]

    _until(lambda: held() is not None, "somebody on local/cpu")
    occupant = held()
    assert occupant is None or occupant["campaign"] == "watched"


def test_the_page_turns_into_the_result_by_itself(airflow: AirflowServer, page: Any, screenshots: Path) -> None:
    frame = page.frame_locator("iframe")

    _until(lambda: frame.locator("#run-progress section").count() == 0, "an end of the run", RUN_PATIENCE_S)
    frame.get_by_text("Every arm ended as the campaign expects.").wait_for()
    page.screenshot(path=screenshots / "airflow-result.png")

    counts = frame.locator("#run-grid .counts").inner_text()
    assert "2 published" in counts
    assert "1 did not run" in counts
    assert "3 not asked for" in counts


def test_a_proof_leads_to_its_line_in_the_server_log(airflow: AirflowServer, page: Any) -> None:
    frame = page.frame_locator("iframe")
    frame.locator("summary", has_text="plain").click()
    row = frame.locator("details[open] table.proofs tr").filter(has=frame.get_by_role("link")).first
    words = row.locator("code").inner_text().split("\n")[0][:60].strip()
    row.get_by_role("link").click()

    frame.get_by_role("heading", name="Server log").wait_for()
    assert words in frame.locator(".marked").inner_text()


def test_every_task_leads_to_its_page(airflow: AirflowServer, page: Any) -> None:
    token, run = airflow.token("admin"), page.story["run"]
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


def _progress(frame: Any, seen: list[str]) -> str:
    text = str(frame.locator("#run-progress").inner_text())
    seen.append(text)
    return text


def _until(done: Callable[[], bool], what: str, patience_s: float = 180.0) -> None:
    deadline = time.monotonic() + patience_s
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} within {patience_s:.0f} s")
        time.sleep(0.5)
