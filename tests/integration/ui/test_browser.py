"""The pages in a real browser: every size, light and dark, by keyboard, for a screen reader, on paper, under attack."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ui.conftest import AXE_RULES, NIGHTS, SIZES, Opened, broken_rules, pages_of_a_night, run_path
from tests.integration.ui.server import AirflowServer
from tests.unit.pages.hostile import CAMPAIGN, RUN_ID, hostile_bundle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAGES = pages_of_a_night(4)  # a night with a refused launch, a failed one, and published ones


@pytest.mark.parametrize("size", list(SIZES))
def test_every_page_fits_every_size(airflow: AirflowServer, opened: Opened, screenshots: Path, size: str) -> None:
    with opened(size=size, scheme="dark" if size == "tablet" else "light") as page:
        for name, address in PAGES.items():
            page.goto(airflow.url + address)
            page.get_by_role("heading", level=1).wait_for()
            page.screenshot(path=screenshots / f"{name}-{size}.png", full_page=True)
            wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1], f"{name} scrolls sideways: {wide}"


@pytest.mark.parametrize("scheme", list(AXE_RULES))
def test_no_page_breaks_a_rule_of_accessibility(airflow: AirflowServer, opened: Opened, axe: str, scheme: str) -> None:
    found = {}
    with opened(size="laptop", scheme=scheme) as page:
        for name, address in PAGES.items():
            page.goto(airflow.url + address)
            found[name] = broken_rules(page, axe, scheme)

    assert {name: broken for name, broken in found.items() if broken} == {}


def test_hostile_words_stay_words(airflow: AirflowServer, opened: Opened) -> None:
    bundle = hostile_bundle()
    run = f"/benchgate/run/{CAMPAIGN}/{RUN_ID}"
    addresses = [
        "/benchgate/",
        f"/benchgate/campaign/{CAMPAIGN}",
        run,
        *(f"{run}/launch/{launch.launch}" for launch in bundle.ledger.launches),
        *(f"{run}/cell/{cell.cell}" for cell in (bundle.ledger.cells[0], bundle.ledger.cells[-1])),
        f"/benchgate/compare?campaign={CAMPAIGN}",
        f"/benchgate/did-not-run?campaign={CAMPAIGN}",
        "/benchgate/hosts",
    ]

    with opened(size="phone") as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
        for address in addresses:
            page.goto(airflow.url + address)
            page.get_by_role("heading", level=1).wait_for()
            assert page.locator("img, script:not([src]), main script, iframe, [onerror], [style]").count() == 0, address
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} scrolls sideways"
        page.goto(airflow.url + run)
        assert "<img src=x onerror=alert(1)>" in page.locator("main").inner_text()
        assert "{{7*7}}" in page.locator("main").inner_text()


def test_the_whole_way_to_a_reason_goes_by_keyboard(airflow: AirflowServer, opened: Opened) -> None:
    with opened() as page:
        page.goto(airflow.url + PAGES["run"])
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        for _ in range(60):
            page.keyboard.press("Tab")
            if "chip" in page.evaluate("document.activeElement.className"):
                break
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Verdicts").wait_for()

    assert outline != "none"


def test_a_reason_is_one_click_away(airflow: AirflowServer, opened: Opened) -> None:
    with opened() as page:
        page.goto(airflow.url + PAGES["run"])
        page.get_by_role("link", name="repeat 1: unpublishable").first.click()

        page.get_by_role("heading", name="Verdicts").wait_for()
        assert "needle check 2/3: depth 0.9 was lost" in page.locator("main").inner_text()


def test_a_comparison_marks_what_turns_around(airflow: AirflowServer, opened: Opened) -> None:
    with opened() as page:
        page.goto(f"{airflow.url}/benchgate/compare")
        page.get_by_label("Campaign").select_option("kernels")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="marlin against triton").wait_for()

        decode = page.get_by_role("region", name="Decode throughput")
        assert decode.get_by_role("row", name="prompt-8k, 64 users").get_by_text("⇄ reversal").count() == 1
        assert "slower" in decode.get_by_role("row", name="prompt-8k, 64 users").inner_text()
        assert "faster" in decode.get_by_role("row", name="short-chat, 64 users").inner_text()
        assert page.get_by_role("img", name="Decode throughput: short-chat").count() == 1

        page.get_by_label("Compare").select_option("nights")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name="What changed in between").wait_for()


def test_a_page_prints_whole_and_without_its_controls(
    airflow: AirflowServer, opened: Opened, screenshots: Path
) -> None:
    launch = f"/benchgate/run/{CAMPAIGN}/{RUN_ID}/launch/{hostile_bundle().ledger.launches[0].launch}"
    with opened(scheme="dark") as page:
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 690, "height": 1000})  # A4 within its margins
        for address in (*PAGES.values(), launch):
            page.goto(airflow.url + address)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} is cut off"
        page.goto(airflow.url + PAGES["run"])

        assert not page.get_by_role("navigation", name="Benchgate").is_visible()
        assert page.get_by_role("table").first.is_visible()
        assert page.get_by_text("Using marlin backend").first.is_visible()  # a launch is closed on the screen only
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        page.pdf(path=screenshots / "run.pdf")


def test_everything_is_there_without_a_script(airflow: AirflowServer, opened: Opened) -> None:
    with opened(java_script_enabled=False) as page:
        page.goto(airflow.url + PAGES["compare-arms"])
        page.get_by_label("Campaign").select_option("kernels")
        page.get_by_role("button", name="Compare").click()

        page.get_by_role("heading", name="marlin against triton").wait_for()


def test_nothing_comes_from_elsewhere(airflow: AirflowServer, opened: Opened) -> None:
    asked: list[str] = []
    with opened() as page:
        page.on("request", lambda request: asked.append(request.url))
        for address in PAGES.values():
            page.goto(airflow.url + address)

    assert asked
    assert [url for url in asked if not url.startswith(airflow.url)] == []


def test_long_lists_have_pages(airflow: AirflowServer, opened: Opened) -> None:
    with opened() as page:
        page.goto(airflow.url + PAGES["campaign"])

        assert page.get_by_role("table").get_by_role("row").count() == NIGHTS + 1
        page.goto(f"{airflow.url}{PAGES['log']}")
        assert "No server log is kept" in page.locator("main").inner_text()


def _version_of(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def test_a_running_browser_keeps_style_and_script(airflow: AirflowServer, opened: Opened) -> None:
    with opened() as page:
        page.goto(airflow.url + run_path(1))
        href = page.locator("link[rel=stylesheet]").get_attribute("href")
        answer: Any = page.request.get(f"{airflow.url}{href}")
        text = answer.text()

    assert "immutable" in answer.headers["cache-control"]
    assert href is not None
    assert href.endswith(_version_of(text))
