"""``make demo-docker`` in miniature: two arms at once in containers, through Airflow; and killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from benchgate import names
from benchgate.airflow import demo_docker
from benchgate.airflow.demo_guard import end_session
from benchgate.errors import HostError
from benchgate.hosts import docker_containers
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.hosts.process_table import every
from benchgate.spec.load import load_campaign, load_inventory
from tests.integration.docker.conftest import LOCAL
from tests.integration.docker.test_campaign_in_containers import readable
from tests.integration.docker.test_images import CLIENT
from tests.support import base_image
from tests.support.engine_model import small_campaign
from tests.support.requirements import require

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[3]
ENGINE = "localhost/benchgate-test/llamacpp:demo"
TOKEN = "hf_thisisaverysecrettoken4567"


@pytest.fixture
def mini(local_api: Any, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A campaign as the demo in containers is: two arms at once on two placements, and one that is refused before its
    start; gives its name."""
    require("engine")
    name = f"t-{uuid.uuid4().hex[:8]}"
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    host = {"docker_url": LOCAL, "client_image": CLIENT, "placements": {"a": {}, "b": {}}}
    (include / "hosts.yaml").write_text(json.dumps({"hosts": {name: host}}))
    arms = {
        "one": {"placement": f"{name}/a", "prove": {"slots": 1}},
        "two": {"placement": f"{name}/b", "prove": {"slots": 7}, "expect": "unpublishable"},
        "flag": {"placement": f"{name}/b", "args": {"moe-backend": "marlin"}, "expect": "did_not_run"},
    }
    campaign = small_campaign(name, image=ENGINE, arms=arms, requests=6, on_pull_failure="use_last")
    (include / "campaigns" / f"{name}.yaml").write_text(json.dumps(campaign))
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    monkeypatch.setenv(demo_docker.BASE_VARIABLE, base_image.PYBASE)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return name


def demo(campaign: str) -> subprocess.Popen[str]:
    """The demo in a process group of its own, as a shell starts it."""
    command = [sys.executable, "-m", "benchgate", "demo", "--docker", "--campaign", campaign]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
        # whoever started the tests, e.g. with nohup, may have had Ctrl-C ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for_servers(api: Any, campaign: str, run: subprocess.Popen[str], count: int) -> list[dict[str, Any]]:
    """The containers of that many servers at one moment."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and run.poll() is None:
        servers = [item for item in of_campaign(api, campaign) if item["Labels"][names.LABEL_ROLE] == "server"]
        if len(servers) >= count:
            return servers
        time.sleep(0.3)
    pytest.fail(f"{count} servers at once were never seen: {run.communicate()[0] if run.poll() else 'time out'}")


def of_campaign(api: Any, campaign: str) -> list[dict[str, Any]]:
    wanted = {"label": [docker_containers.OURS["label"], f"{names.LABEL_CAMPAIGN}={campaign}"]}
    return list(api.containers(all=True, filters=wanted))


def sessions_of(home: Path) -> set[int]:
    """Sessions of processes that work for this home."""
    found = set()
    for process in every():
        try:
            environment = (Path("/proc") / str(process.id.pid) / "environ").read_bytes()
        except OSError:
            continue
        if f"BENCHGATE_HOME={home}".encode() in environment and process.session != os.getsid(0):
            found.add(process.session)
    return found


def what_is_left(api: Any, campaign: str, home: Path) -> tuple[list[dict[str, Any]], set[int]]:
    """Containers and sessions of a demo that has ended, as soon as there are none, or after a minute."""
    deadline = time.monotonic() + 60
    while (of_campaign(api, campaign) or sessions_of(home)) and time.monotonic() < deadline:
        time.sleep(0.3)
    return of_campaign(api, campaign), sessions_of(home)


def environment_of(home: Path, campaign: str) -> set[str]:
    """Names that look like secrets among those that the launches of a campaign had in their environment."""
    files = (home / "artifacts").glob(f"{campaign}.*/launches/*/launch.json")
    return {name for file in files for name in json.loads(file.read_text())["env_names"] if "TOKEN" in name}


def test_a_killed_demo_leaves_nothing_and_the_next_one_runs_two_arms_at_once(
    local_api: Any, mini: str, benchgate_home: Path
) -> None:
    killed = demo(mini)
    servers = wait_for_servers(local_api, mini, killed, 2)  # both arms hold their placement at the same moment

    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(30)
    left = what_is_left(local_api, mini, benchgate_home)

    again = demo(mini)
    output, _ = again.communicate(timeout=500)

    assert left == ([], set())
    assert again.returncode == 0, output
    database = sqlite3.connect(benchgate_home / "warehouse.db")
    run = "(select max(run_id) from campaign_run where state = 'success')"
    states = dict(database.execute(f"select arm, end_state from cell where run_id = {run}").fetchall())
    assert states == {"one": "published", "two": "unpublishable", "flag": "not_run"}
    (reason,) = database.execute(f"select reason from did_not_run where run_id = {run}").fetchone()
    assert "args.moe-backend: this version of the engine has no --moe-backend" in reason  # told by its own --help
    (digest,) = database.execute("select image_digest from published_cell").fetchone()
    assert digest == local_api.inspect_image(ENGINE)["Id"]
    assert of_campaign(local_api, mini) == []
    for word in ("one", "two", "report", "warehouse.db", "make ui"):
        assert word in output
    # Airflow's database (rendered fields, XCom), task logs, artifacts, warehouse, labels, what the terminal showed
    found = [path for path in benchgate_home.rglob("*") if path.is_file() and TOKEN.encode() in readable(path)]
    assert found == []
    assert TOKEN not in json.dumps([item["Labels"] for item in servers]) + output
    assert environment_of(benchgate_home, mini) == {"HF_TOKEN"}


def test_ctrl_c_ends_the_demo_and_leaves_nothing(local_api: Any, mini: str, benchgate_home: Path) -> None:
    run = demo(mini)
    wait_for_servers(local_api, mini, run, 1)

    os.killpg(run.pid, signal.SIGINT)  # what a terminal sends to all in the foreground
    output, _ = run.communicate(timeout=120)

    assert run.returncode == 130, output
    assert output.rstrip().endswith("interrupted")
    assert "benchgate housekeeping" in output  # what becomes of what was measured
    assert "Traceback" not in output
    assert of_campaign(local_api, mini) == []
    assert what_is_left(local_api, mini, benchgate_home) == ([], set())  # its guard has gone, too


def test_without_a_docker_engine_it_says_so_in_one_line(
    mini: str, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = benchgate_home / "include" / "hosts.yaml"
    hosts.write_text(hosts.read_text().replace(LOCAL, f"unix://{benchgate_home}/no.sock"))

    with pytest.raises(HostError, match=r"needs a Docker Engine: .*no such socket") as caught:
        demo_docker.prepare(mini, lambda _: None)

    assert str(hosts) in str(caught.value.remedy)


def test_the_shipped_demo_runs_two_arms_on_two_placements_of_one_host(monkeypatch: pytest.MonkeyPatch) -> None:
    include = ROOT / "include"
    inventory = load_inventory(include / "hosts.yaml")
    campaign = load_campaign(include / "campaigns" / f"{demo_docker.CAMPAIGN}.yaml", inventory)
    demo_campaign = load_campaign(include / "campaigns" / "demo.yaml", inventory)

    assert demo_docker.hosts_of(campaign, inventory) == ["local-docker"]
    assert len({arm.placement for arm in campaign.arms.values()}) == 2
    assert {name: arm.args for name, arm in campaign.arms.items()} == {
        name: arm.args for name, arm in demo_campaign.arms.items()
    }
    assert {arm.expect for arm in campaign.arms.values()} == {"published", "unpublishable", "did_not_run"}


def test_a_session_is_ended_with_everything_in_it() -> None:
    leader = subprocess.Popen(
        ["sh", "-c", "setpgid=1; trap '' TERM INT; (sleep 300 & wait) & wait"], start_new_session=True
    )
    deadline = time.monotonic() + 10
    while len([p for p in every() if p.session == leader.pid]) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)

    ended = end_session(leader.pid)
    leader.wait(10)

    assert ended >= 3
    assert [p for p in every() if p.session == leader.pid] == []
    assert end_session(leader.pid) == 0


def test_a_base_image_that_is_there_is_taken_before_anything_is_pulled(
    local_api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(demo_docker.BASE_VARIABLE, raising=False)
    monkeypatch.setattr(demo_docker, "BASE", "localhost/benchgate-test/no-such-python:1")
    engine = DockerEngine("here", EngineConnection(LOCAL))

    found = demo_docker.base_image(engine, lambda _: None)
    engine.close()

    assert found == demo_docker.OWN_BASE
