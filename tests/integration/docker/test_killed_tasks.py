"""Tasks of a campaign are killed with SIGKILL under Airflow: the ledger is whole, nothing is left, others go on.

One campaign run in which each arm meets its end at another moment, two lanes at a time. CI takes every fourth moment;
``BENCHGATE_KILL_EVERYWHERE=1`` takes all of them, some five minutes on an idle machine.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.integration.docker.test_demo_in_containers import demo, mini, of_campaign

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(2500)]
__all__ = ["mini"]  # the fixture

CONTAINERS = "benchgate.hosts.docker_containers"
CLIENT = "benchgate.hosts.docker_client"
CONTEXT = "benchgate.steps.context:CampaignRun"
# step, function, before or after its first call in the step, and how the arm's cell ends
MOMENTS: list[tuple[str, str, str, str]] = [
    ("preflight", "", "before", "not_run"),
    ("preflight", f"{CONTAINERS}:create", "after", "not_run"),
    ("preflight", f"{CONTAINERS}:start", "after", "not_run"),
    ("preflight", f"{CONTAINERS}:remove", "before", "not_run"),
    ("start_server", f"{CONTAINERS}:create", "before", "not_run"),
    ("start_server", f"{CONTAINERS}:create", "after", "not_run"),
    ("start_server", f"{CONTAINERS}:start", "before", "not_run"),
    ("start_server", f"{CONTAINERS}:start", "after", "not_run"),
    ("start_server", "", "after", "not_run"),
    ("wait_ready", f"{CONTAINERS}:create", "after", "not_run"),  # of the probe
    ("wait_ready", f"{CONTAINERS}:start", "after", "not_run"),
    # from here on the server was up: what the gates say of it is why its cell is not published
    ("wait_ready", "", "after", "unpublishable"),
    ("prove_kernel", "", "before", "unpublishable"),
    ("needle_check", "benchgate.hosts.docker:DockerHost.http_post", "after", "unpublishable"),
    ("measure", f"{CONTAINERS}:create", "before", "failed"),
    ("measure", f"{CONTAINERS}:create", "after", "failed"),
    ("measure", f"{CONTAINERS}:start", "after", "failed"),
    ("measure", f"{CLIENT}:fetch_output", "before", "failed"),
    ("measure", f"{CLIENT}:fetch_output", "after", "failed"),
    ("measure", f"{CONTEXT}.save_cell", "before", "failed"),
    ("measure", "", "after", "published"),
    ("stop_server", "", "before", "published"),
    ("stop_server", f"{CONTAINERS}:remove", "before", "published"),
    ("stop_server", "", "after", "published"),
]
EVERY = 1 if os.environ.get("BENCHGATE_KILL_EVERYWHERE") == "1" else 4


def test_the_ledger_is_whole_whatever_task_is_killed_when(
    local_api: Any, mini: str, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = {f"dies-{number:02d}": moment for number, moment in enumerate(MOMENTS) if number % EVERY == EVERY - 1}
    file = benchgate_home / "include" / "campaigns" / f"{mini}.yaml"
    campaign = json.loads(file.read_text())
    arms = [*moments, "lives-a", "lives-b"]  # the last of their lanes: after arms that left their servers behind
    campaign["arms"] = {name: {"placement": f"{mini}/{'ab'[number % 2]}"} for number, name in enumerate(arms)}
    campaign["workloads"]["chat"]["requests"] = 5
    file.write_text(json.dumps(campaign))
    monkeypatch.setenv("BENCHGATE_TEST_KILLS", json.dumps({name: moment[:3] for name, moment in moments.items()}))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("killing")))

    run = demo(mini)
    output, _ = run.communicate(timeout=2400)

    assert run.returncode == 1, output  # what was planned and not published fails the run
    database = sqlite3.connect(benchgate_home / "warehouse.db")
    rows = database.execute("select arm, end_state, reason from cell order by arm").fetchall()
    assert {arm: state for arm, state, _ in rows} == {
        **{name: moment[3] for name, moment in moments.items()},
        "lives-a": "published",
        "lives-b": "published",
    }
    assert len(rows) == len(arms)  # no row twice
    assert [arm for arm, state, reason in rows if state != "published" and not reason] == []
    assert database.execute("select count(*) from campaign_run").fetchone() == (1,)
    assert database.execute("select count(*) from launch").fetchone() == (len(arms),)
    twice = "select cell_id, request from request group by 1, 2 having count(*) > 1"
    assert database.execute(twice).fetchall() == []
    assert of_campaign(local_api, mini) == []
