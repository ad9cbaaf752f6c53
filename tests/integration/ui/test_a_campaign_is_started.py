"""A campaign is started in Airflow's own frame and watched, on the real engine.

It runs on while other modules look at other pages; ``test_the_campaign_is_read`` takes it up at its end.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.integration.ui.conftest import Opened, Story, broken_rules, until
from tests.integration.ui.server import AirflowServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def page(story: Story) -> Any:
    """The window of the story: what one test leaves open, the next one finds."""
    return story.page


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
    airflow: AirflowServer, story: Story, page: Any, screenshots: Path
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
    story.run = quote(unquote(page.url.rsplit("/runs/", 1)[1].split("/")[0].split("?")[0]), safe="")


def test_a_bad_choice_is_refused_by_airflow_as_well(airflow: AirflowServer) -> None:
    for conf in ({"users": ["3"]}, {"arms": ["nobody"]}, {"repeats": 0}, {"force": "yes"}):
        assert airflow.trigger("watched", conf) == 400


def test_the_tab_of_the_run_shows_how_far_it_is(
    airflow: AirflowServer, story: Story, page: Any, screenshots: Path
) -> None:
    story.begun()
    page.get_by_role("link", name="Campaign run").click()
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", level=1, name="watched").wait_for()

    seen: list[str] = []
    until(lambda: "requests" in _progress(frame, seen), "requests in the progress")
    page.screenshot(path=screenshots / "airflow-watching.png")

    assert "tok/s" in seen[-1]
    assert "error" in seen[-1]
    assert "left" in seen[-1]
    assert "measuring chat, 1 user, repeat 1" in seen[-1]
    assert frame.get_by_role("link", name="repeat 1: measuring").count() == 1


def test_what_the_running_server_says_is_shown_and_stays_open(story: Story, page: Any, screenshots: Path) -> None:
    story.begun()
    frame = page.frame_locator("iframe")
    said = frame.locator("#run-progress details", has_text="Server log")
    until(lambda: said.count() > 0, "words of the server")
    said.first.locator("summary").click()
    before = said.first.inner_text()
    until(lambda: said.count() > 0 and said.first.inner_text() != before, "an update")
    page.screenshot(path=screenshots / "airflow-server-log.png")

    assert said.first.evaluate("one => one.open")
    assert "llama" in before


def test_the_pages_of_a_run_that_goes_on_break_no_rule_of_accessibility(
    airflow: AirflowServer, story: Story, opened: Opened, axe: str
) -> None:
    run = f"{airflow.url}/benchgate/run/watched/{story.begun()}"
    with opened(size="phone") as page:
        for address in (run, f"{run}/log/plain@local/cpu"):
            page.goto(address)
            assert broken_rules(page, axe) == [], address
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_who_may_read_no_log_sees_no_word_of_the_server(airflow: AirflowServer, story: Story) -> None:
    address = f"/benchgate/api/run/watched/{story.begun()}"
    seen = json.loads(airflow.get(address, airflow.token("nologs"))[1])

    assert seen["head"]["campaign"] == "watched"
    assert all(one["tail"] is None for one in (seen["progress"] or {"activities": []})["activities"])
    assert airflow.get(f"/benchgate/run/watched/{story.run}/log/plain@local/cpu", airflow.token("nologs"))[0] == 404


def test_the_host_page_tells_who_holds_the_placement(airflow: AirflowServer) -> None:
    def held() -> Any:
        hosts = json.loads(airflow.get("/benchgate/api/hosts", airflow.token("admin"))[1])["hosts"]
        return next(host for host in hosts if host["name"] == "local")["placements"][0]["held"]

    until(lambda: held() is not None, "somebody on local/cpu")
    occupant = held()
    assert occupant is None or occupant["campaign"] == "watched"


def _progress(frame: Any, seen: list[str]) -> str:
    text = str(frame.locator("#run-progress").inner_text())
    seen.append(text)
    return text
