"""The stack as it is shipped: refuses bad secrets, starts healthy and hardened, measures, is read, scales out."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate import names
from benchgate.hosts.docker_engine import DockerEngine
from tests.production.conftest import ARMS
from tests.production.leases import servers_of
from tests.production.stack import CENTRAL, Stack, left_behind
from tests.support.docker_engine import SecondEngine

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1800)]
SERVICES = [*CENTRAL, "site-worker"]


def inspect(stack: Stack, service: str) -> dict[str, Any]:
    out = subprocess.run(["docker", "inspect", stack.container(service)], capture_output=True, text=True, check=True)
    return dict(json.loads(out.stdout)[0])


def test_every_service_is_healthy_unprivileged_and_unpublished(stack: Stack) -> None:
    for service in SERVICES:
        seen = inspect(stack, service)
        config, host = seen["Config"], seen["HostConfig"]

        assert seen["State"]["Health"]["Status"] == "healthy", service
        assert config["User"] in ("50000:0", "postgres", "redis"), service
        assert host["ReadonlyRootfs"], service
        assert host["CapDrop"] == ["ALL"], service
        assert "no-new-privileges:true" in host["SecurityOpt"], service
        assert not any("docker.sock" in mount["Source"] for mount in seen["Mounts"]), service
        published = {port: where for port, where in seen["NetworkSettings"]["Ports"].items() if where}
        if service == "airflow-apiserver":
            assert {entry["HostIp"] for entries in published.values() for entry in entries} == {"127.0.0.1"}
        else:
            assert published == {}, service


def test_the_root_file_system_cannot_be_written(stack: Stack) -> None:
    done = stack.compose("exec", "-T", "site-worker", "sh", "-c", "id -u; touch /opt/benchgate/x", check=False)

    assert done.stdout.split() == ["50000"]
    assert "Read-only file system" in done.stderr


def test_no_secret_stands_in_a_log_or_a_command_line(stack: Stack) -> None:
    secrets = [value for name, value in stack.settings.items() if name.endswith(("PASSWORD", "_KEY", "_SECRET"))]
    secrets.append(stack.admin_password)

    said = stack.compose("logs", "--no-color").stdout + stack.compose("top").stdout

    assert len(secrets) == 10
    assert [number for number, secret in enumerate(secrets) if secret in said] == []


@pytest.mark.parametrize(
    "name", ["AIRFLOW_JWT_SECRET", "REDIS_PASSWORD", "POSTGRES_PASSWORD", "BENCHGATE_READER_PASSWORD"]
)
def test_an_unset_secret_refuses_to_start(stack: Stack, name: str) -> None:
    before = stack.settings[name]
    stack.change(name, "")
    try:
        done = stack.compose("config", "-q", check=False)
    finally:
        stack.change(name, before)

    assert done.returncode != 0
    assert name in done.stderr
    assert "run make env" in done.stderr


def test_strangers_are_refused(stack: Stack) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        stack.call("GET", "/api/v2/dags")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        stack.call("POST", "/auth/token", {"username": "admin", "password": "admin"})
    own = next(  # this machine's other addresses: nothing is published there
        word for word in subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=True).stdout.split()
    )
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own, stack.port), timeout=5)


def test_a_campaign_started_over_rest_is_read_by_the_reader(
    stack: Stack, add_campaign: Callable[..., str], far: DockerEngine
) -> None:
    name = add_campaign(
        "first", {"a": {"placement": "gpu-a/p0"}, "b": {"placement": "gpu-a/p1", "args": {"threads": 2}}}
    )

    stack.trigger(name, "night-1")
    state = stack.finished(name, "night-1")

    published = stack.rows(
        "select arm, completed, errors, needles_found, decode_tok_s > 0, ttft_p50_ms > 0, "
        "(select count(*) from request where cell_id = c.cell_id and phase = 'measured') "
        f"from published_cell c where campaign = '{name}' order by arm"
    )
    told = stack.page(f"/benchgate/api/run/{name}/night-1")
    assert state == "success", stack.tasks(name, "night-1")
    assert published == [[arm, "6", "0", "1", "t", "t", "6"] for arm in ("a", "b")]
    assert told["head"]["state"] == "success"
    assert left_behind(far) == []
    with pytest.raises(AssertionError, match="permission denied"):
        stack.rows("delete from cell")


def test_twenty_arms_run_at_once_each_on_its_own_lease(
    stack: Stack, add_campaign: Callable[..., str], far: DockerEngine, gpu_host: SecondEngine, tmp_path: Path
) -> None:
    arms = {f"arm-{number}": {"placement": f"gpu-a/p{number}"} for number in range(ARMS)}
    name = add_campaign("twenty", arms)

    with servers_of(gpu_host.unix_url, tmp_path) as servers:
        stack.trigger(name, "night-1")
        state = stack.finished(name, "night-1", timeout_s=1600)

    cells = stack.rows(
        "select end_state, count(*), count(distinct arm), count(distinct placement), sum(completed), "
        "(select count(*) from request join cell using (cell_id) join campaign_run r using (run_id) "
        f"where campaign = '{name}' and phase = 'measured') "
        f"from cell join campaign_run using (run_id) where campaign = '{name}' group by 1"
    )
    all_of_them = [str(ARMS)] * 3
    assert (state, cells) == ("success", [["published", *all_of_them, str(6 * ARMS), str(6 * ARMS)]])
    assert servers.started == {names.lease_name("gpu-a", f"p{number}"): 1 for number in range(ARMS)}
    assert servers.most == ARMS
    assert left_behind(far) == []
