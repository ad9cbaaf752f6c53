"""One Airflow and one browser for all tests of the pages."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

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
        server = AirflowServer(home, write_include(home / "include"))
        warehouse = f"sqlite:///{home / 'warehouse.db'}"
        server.prepare()
        try:
            migrate(warehouse)
            load_nights(warehouse, range(NIGHTS))
            load_hostile(warehouse)
            server.start()
            server.wait(("watched", "secret"))
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


class Complaints(list[str]):
    """What a page wrote to the console as an error, and exceptions of its scripts."""

    def watch(self, page: Any) -> None:
        """Listen to a page."""
        page.on("console", lambda message: self.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.append(str(error)))


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
