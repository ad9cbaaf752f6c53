"""A campaign that asks a person before it measures an image that changed: refused, then approved, in a real Airflow."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from benchgate.warehouse.load import load_run
from tests.integration.ui.campaign import ASKED_IMAGE
from tests.integration.ui.conftest import Opened, until
from tests.integration.ui.server import AirflowServer
from tests.support.base_image import build
from tests.support.registry import running_registry
from tests.support.requirements import require
from tests.support.runs import campaign, launch_record, ledger_of
from tests.support.warehouses import bundle, rows

pytestmark = [pytest.mark.browser, pytest.mark.docker, pytest.mark.slow]
OLD = f"sha256:{'a' * 64}"  # what the campaign last ran
LOCAL = "benchgate-ui-approval:built"
TASK = "seed_dock.approve_changed_image"


@pytest.fixture(scope="module")
def warehouse(airflow: AirflowServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL, with an earlier run of the campaign; the image's tag means another digest by now."""
    require("docker")
    import docker

    url = airflow.warehouse
    spec = campaign(campaign="asked")
    ledger = ledger_of(spec, "asked.before")
    image = ASKED_IMAGE.format(port=airflow.registry_port)
    launches = [launch_record(one, image=image, image_digest=OLD) for one in ledger.launches]
    load_run(bundle("asked.before", spec=spec, ledger=ledger, launches=launches), url)
    api = docker.from_env().api
    repository, _, tag = image.partition("/")[2].partition(":")
    with running_registry(tmp_path_factory.mktemp("registry"), port=airflow.registry_port) as registry:
        build(api, LOCAL, "FROM scratch\nCOPY nothing /nothing\n", {"nothing": "no engine is in here"})
        registry.push(api, LOCAL, repository, tag)
        api.remove_image(image, force=True)
        yield url
        for name in (image, LOCAL):
            api.remove_image(name, force=True)


def _look(airflow: AirflowServer, run: str) -> Any:
    return json.loads(airflow.get(f"/benchgate/api/run/asked/{run}", airflow.token("admin"))[1])


def _asked(airflow: AirflowServer) -> str:
    """A run that waits for an answer."""
    run = quote(airflow.begin("asked", {}), safe="")
    until(lambda: bool(_look(airflow, run).get("pending")), "question")
    return run


def _ended(airflow: AirflowServer, run: str) -> Any:
    until(lambda: bool(_look(airflow, run)["head"]["loaded"]), "end of the run")
    until(lambda: airflow.state_of("asked", run) in ("success", "failed"), "last task")
    return _look(airflow, run)


def _answers(url: str, run: str) -> list[dict[str, Any]]:
    query = (
        "SELECT point, approved, approved_by, answered_at IS NOT NULL AS dated FROM approval "
        "JOIN campaign_run USING (run_id) WHERE run = :run"
    )
    return rows(url, query, run=run)


def test_a_person_refuses_an_image_that_changed(
    airflow: AirflowServer, warehouse: str, opened: Opened, screenshots: Path
) -> None:
    run = _asked(airflow)

    with opened() as page:
        page.goto(f"{airflow.url}/dags/asked/runs/{run}/plugin/benchgate-run")
        frame = page.frame_locator("iframe")
        frame.get_by_text("Waiting for a person: Measure an image that changed?").wait_for()
        page.screenshot(path=screenshots / "airflow-waiting.png")
        frame.get_by_role("link", name="Answer in Airflow").click()
        page.get_by_text(OLD).first.wait_for()
        page.screenshot(path=screenshots / "airflow-approval.png")
        page.get_by_role("button", name="Reject").click()
        until(lambda: airflow.answer("asked", run, TASK, "Reject"), "end of asking")
        seen = _ended(airflow, run)
        page.goto(f"{airflow.url}/benchgate/run/asked/{run}")
        page.get_by_text("changed image: refused by admin").wait_for()

    assert seen["head"]["state"] == "nothing_new"
    assert seen["head"]["nothing_new_reason"] == "the changed image was rejected by admin"
    assert seen["pending"] == []
    assert set(seen["grid"]["counts"]) == {"not_run"}
    assert _answers(warehouse, seen["head"]["run"]) == [
        {"point": "changed_image", "approved": 0, "approved_by": "admin", "dated": 1}
    ]


def test_an_approval_is_heard_though_airflow_loses_the_first_and_it_publishes_nothing(
    airflow: AirflowServer, warehouse: str
) -> None:
    """Airflow takes the end of the process that asked for the end of the task, when it hears of the answer first."""
    run = quote(airflow.begin("asked", {}), safe="")  # asked again, although the host has the refused image by now
    until(lambda: airflow.state_of_task("asked", run, TASK) in ("running", "awaiting_input"), "task that asks")
    with airflow.held("scheduler"):
        until(lambda: bool(_look(airflow, run).get("pending")), "question")
        airflow.answer("asked", run, TASK, "Approve")
        time.sleep(3)  # until the process that asked is gone: its end is the first that the scheduler hears of
    until(lambda: airflow.answer("asked", run, TASK, "Approve"), "end of asking")
    seen = _ended(airflow, run)

    assert airflow.state_of_task("asked", run, TASK) == "success"
    assert _answers(warehouse, seen["head"]["run"]) == [
        {"point": "changed_image", "approved": 1, "approved_by": "admin", "dated": 1}
    ]
    assert set(seen["grid"]["counts"]) == {"not_run"}  # it was let go on, and what was in the image was no engine
    assert seen["launches"][0]["state"] == "failed"
    assert airflow.state_of("asked", run) == "failed"
