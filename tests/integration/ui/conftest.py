"""One Airflow and one browser for all tests of the pages."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from benchgate.errors import SeedError
from benchgate.seeding.npm_package import fetch_member
from benchgate.warehouse.migrate import migrate
from tests.integration.ui.campaign import write_include
from tests.integration.ui.server import PASSWORD, AirflowServer
from tests.support.requirements import require
from tests.unit.pages.fabricated import load_nights, night, run_id_of
from tests.unit.pages.hostile import load_hostile

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "laptop": (1366, 850)}
NIGHTS = 12
PATIENCE_MS = 60_000


@pytest.fixture(scope="session")
def airflow() -> Iterator[AirflowServer]:
    """A real Airflow with two campaigns, and a warehouse with nights of two that have no DAG any more."""
    require("browser", "engine")
    with tempfile.TemporaryDirectory(prefix="benchgate-ui-") as folder:
        home = Path(folder)
        server = AirflowServer(home, home / "include")
        write_include(server.include, server.registry_port)
        server.prepare()
        try:
            migrate(server.warehouse)
            load_nights(server.warehouse, range(NIGHTS))
            load_hostile(server.warehouse)
            server.start()
            server.wait(("watched", "secret", "asked"))
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def chromium(airflow: AirflowServer) -> Iterator[Any]:
    """A headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go: BENCHGATE_SCREENSHOTS, so that CI keeps them, else a temporary folder."""
    folder = Path(os.environ.get("BENCHGATE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


AXE = "axe-core@4.14.1"
# what is dark differs in its colours only
AXE_RULES = {"light": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"], "dark": ["color-contrast"]}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe, an accessibility checker, from the npm registry."""
    target = tmp_path_factory.mktemp("axe") / "axe.min.js"
    try:
        fetch_member(AXE, "axe.min.js", target)
    except SeedError as error:
        if os.environ.get("BENCHGATE_REQUIRE_ALL") == "1":
            pytest.fail(f"axe is required here: {error}")
        pytest.skip(f"no axe: {error}")
    return target.read_text()


def broken_rules(page: Any, axe: str, scheme: str = "light") -> list[str]:
    """Rules of accessibility that a page breaks, with all its sections open."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(axe)
    result = page.evaluate("rules => axe.run({runOnly: rules})", AXE_RULES[scheme])
    return [
        f"{broken['id']}: {node['html'][:150]} {node['failureSummary']}"
        for broken in result["violations"]
        for node in broken["nodes"][:3]
    ]


class Complaints(list[str]):
    """What a page wrote to the console as an error, and exceptions of its scripts.

    A browser gives up what it was loading when this machine gets or loses a network, as Docker's are: no page's fault.
    Airflow's own script then says only that a fetch failed; why one fails, the browser says in a message of its own.
    """

    def watch(self, page: Any) -> None:
        """Listen to a page."""
        page.on("console", lambda message: self._take(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._take(str(error)))

    def _take(self, text: str) -> None:
        if "net::ERR_NETWORK_CHANGED" not in text and "TypeError: Failed to fetch" not in text:
            self.append(text)


Opened = Callable[..., Any]


@pytest.fixture
def opened(airflow: AirflowServer, chromium: Any) -> Iterator[Opened]:
    """Opens a window as a logged-in user; every console error of a page fails the test at its end."""
    contexts, complaints = [], Complaints()

    @contextmanager
    def window(user: str = "admin", size: str = "laptop", scheme: str = "light", **options: Any) -> Iterator[Any]:
        width, height = SIZES[size]
        context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.add_cookies([{"name": "_token", "value": airflow.token(user), "url": airflow.url}])
        page = context.new_page()
        complaints.watch(page)
        yield page
        context.close()

    yield window
    assert complaints == []


def log_in(page: Any, server: AirflowServer, user: str = "admin") -> None:
    """Through Airflow's own form."""
    page.goto(f"{server.url}/")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{server.url}/")


class Story:
    """The campaign that the tests start once and follow to its end, and the window in which they do."""

    def __init__(self, server: AirflowServer, page: Any) -> None:
        self.server, self.page = server, page
        self.run: str | None = None  # its id, as it stands in an address

    def begun(self) -> str:
        """The run, whoever started it: a test that runs alone starts it without the form."""
        if self.run is None:
            self.run = quote(self.server.begin("watched", {"users": ["1"]}), safe="")
            self.page.goto(f"{self.server.url}/dags/watched/runs/{self.run}/plugin/benchgate-run")
        return self.run


@pytest.fixture(scope="session")
def story(airflow: AirflowServer, chromium: Any) -> Iterator[Story]:
    """One window for the whole story; an error in its console fails the last test that uses it."""
    context = chromium.new_context(viewport={"width": 1366, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints = Complaints()
    log_in(page, airflow)
    complaints.watch(page)
    yield Story(airflow, page)
    context.close()
    assert complaints == []


def until(done: Callable[[], bool], what: str, patience_s: float = 180.0) -> None:
    """Wait until something is so.

    Raises:
        AssertionError: it is not, after ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what} within {patience_s:.0f} s")
        time.sleep(0.5)


def run_path(number: int, campaign: str = "kernels") -> str:
    """Address of a made-up night."""
    return f"/benchgate/run/{campaign}/{quote(run_id_of(number), safe='')}"


def pages_of_a_night(number: int) -> dict[str, str]:
    """Every page there is, by name."""
    bundle = night(number)
    run = run_path(number)
    return {
        "campaigns": "/benchgate/",
        "campaign": "/benchgate/campaign/kernels",
        "run": run,
        "cell": f"{run}/cell/{bundle.ledger.cells[0].cell}",
        "launch": f"{run}/launch/{bundle.ledger.launches[0].launch}",
        "failed-launch": f"{run}/launch/{bundle.ledger.launches[-1].launch}",
        "log": f"{run}/log/{bundle.ledger.launches[0].launch}",
        "compare-arms": "/benchgate/compare?campaign=kernels",
        "compare-nights": "/benchgate/compare?campaign=kernels&by=nights",
        "did-not-run": "/benchgate/did-not-run",
        "hosts": "/benchgate/hosts",
    }
