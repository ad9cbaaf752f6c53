"""The compose stack of a clean clone, a site of GPU hosts that it reaches over TLS, and what both say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgate.airflow import make_env
from benchgate.hosts import docker_containers
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.spec.hosts import TlsFiles
from tests.production.clocks import CENTER, SITE, Clocks

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "benchgate-production-test"
OVER = ("success", "failed")
AIRFLOW = ("airflow-apiserver", "airflow-scheduler", "airflow-dag-processor", "airflow-triggerer", "airflow-worker")
PASSWORD_OF = {
    "benchgate_reader": "BENCHGATE_READER_PASSWORD",
    "benchgate": "WAREHOUSE_DB_PASSWORD",
    "airflow": "AIRFLOW_DB_PASSWORD",
}
CENTRAL = (*AIRFLOW, "postgres", "redis")  # the services of the shipped file that go on running


def wait_until(what: str, check: Callable[[], Any], *, timeout_s: float, every_s: float = 2.0) -> Any:
    """The first true answer of ``check``; an error of the network counts as not yet."""
    deadline = time.monotonic() + timeout_s
    last: object = None
    while time.monotonic() < deadline:
        try:
            last = check()
            if last:
                return last
        except (OSError, urllib.error.URLError) as error:
            last = error
        time.sleep(every_s)
    raise AssertionError(f"after {timeout_s:g} s, {what} has not come; last: {last}")


@dataclass
class Stack:
    """A clone of the project with its own .env, started by docker compose."""

    folder: Path  # the clone
    port: int
    site: Path  # what is written for the test beside the clone: hosts.yaml, campaigns, TLS files, the model
    settings: dict[str, str] = field(default_factory=dict)
    clocks: Clocks = field(init=False)
    admin_password: str = ""
    _token: str | None = None

    def prepare(self, base: str, tls: TlsFiles, hosts: dict[str, Any]) -> None:
        """Write what an operator writes: .env, the inventory, the TLS files, and a worker for a site of its own."""
        assert make_env.main(self.folder) == 0
        tls_folder = self.site / "tls"
        tls_folder.mkdir(parents=True)
        for source, name in ((tls.ca, "ca.pem"), (tls.cert, "cert.pem"), (tls.key, "key.pem")):
            shutil.copy(source, tls_folder / name)
            os.chown(tls_folder / name, make_env.container_uid(), -1)
        (self.site / "hosts.yaml").write_text(json.dumps({"hosts": hosts}))
        (self.site / "campaigns").mkdir()
        (self.site / "model").mkdir()
        (self.site / "model" / "weights.gguf").write_bytes(b"simulated weights\n" * 1000)
        changes = {
            "BENCHGATE_BASE_IMAGE": base,
            "BENCHGATE_PORT": str(self.port),
            "BENCHGATE_HOSTS_FILE": str(self.site / "hosts.yaml"),
            "BENCHGATE_CAMPAIGNS_DIR": str(self.site / "campaigns"),
            "BENCHGATE_TLS_DIR": str(tls_folder),
            "BENCHGATE_WORKER_CONCURRENCY": "8",
            "BENCHGATE_API_WORKERS": "1",
            "BENCHGATE_HEARTBEAT_TIMEOUT": "40",
            "BENCHGATE_IMAGE": "benchgate-test/airflow:production",
        }
        text = (self.folder / ".env").read_text()
        lines = [
            f"{n}={changes.get(n, v)}" if s else n for n, s, v in (line.partition("=") for line in text.splitlines())
        ]
        (self.folder / ".env").write_text("\n".join(lines) + "\n")
        self.settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
        (self.folder / ".env.airflow").write_text(
            "BENCHGATE_WORKER_FOLDERS=/models\n"
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL=5\nAIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL=5\n"
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL=5\n"
        )
        self.admin_password = json.loads((self.folder / ".env.passwords.json").read_text())["admin"]
        self.override()

    def override(self) -> None:
        """A worker for the queue of site-a beside the shipped services, and clocks that can be set."""
        self.clocks = Clocks(self.site / "clocks")
        services = {name: self.clocks.service(CENTER) for name in CENTRAL}
        services["airflow-worker"]["environment"]["AIRFLOW__CELERY__WORKER_CONCURRENCY"] = "2"
        site = self.clocks.service(SITE)
        services["site-worker"] = {
            "extends": {"file": "docker-compose.yaml", "service": "airflow-worker"},
            "command": ["celery", "worker", "--queues", "site-a"],
            "environment": site["environment"],
            "volumes": [f"{self.site / 'model'}:/models:ro", *site["volumes"]],
        }
        # what a test fills until nothing fits any more is memory, and little of it
        small = {"type": "tmpfs", "device": "tmpfs", "o": "size=200m,uid=50000,gid=0,mode=2775"}
        volumes = {"benchgate": {"driver_opts": small}}
        (self.folder / "compose.site.yaml").write_text(json.dumps({"services": services, "volumes": volumes}))

    def change(self, name: str, value: str) -> None:
        """Give a setting of .env another value."""
        file = self.folder / ".env"
        file.write_text(file.read_text().replace(f"{name}={self.settings[name]}\n", f"{name}={value}\n"))
        self.settings[name] = value

    def compose_command(self) -> list[str]:
        """``docker compose`` with the project and the files of the tests."""
        command = os.environ.get("BENCHGATE_COMPOSE", "docker compose").split()
        return [*command, "-f", "docker-compose.yaml", "-f", "compose.site.yaml", "-p", PROJECT]

    def environment(self) -> dict[str, str]:
        """Without settings of this machine that would win over those of .env."""
        return {name: value for name, value in os.environ.items() if not name.startswith(("BENCHGATE_", "AIRFLOW"))}

    def compose(self, *arguments: str, check: bool = True, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
        """``docker compose ARGUMENTS`` in the clone."""
        done = subprocess.run(
            [*self.compose_command(), *arguments],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        if check and done.returncode != 0:
            shown = " ".join(argument for argument in arguments if "PASSWORD" not in argument)
            raise AssertionError(f"docker compose {shown}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def set_clock(self, machine: str, hours: float) -> None:
        """Set the clock of the machine of these services, or of the site."""
        self.clocks.set(machine, hours)
        self._token = None  # one of another time may not hold

    def container(self, service: str) -> str:
        """The id of a service's container."""
        return self.compose("ps", "-a", "-q", service).stdout.strip()

    # --- the REST API
    def call(self, method: str, path: str, body: object = None, *, token: str | None = None) -> Any:
        """One call of the published API."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            error.msg = f"{error.msg}: {error.read()[:500]!r}"
            raise

    def log_in(self, user: str, password: str) -> str:
        """A JWT of the auth manager."""
        return str(self.call("POST", "/auth/token", {"username": user, "password": password})["access_token"])

    def token(self) -> str:
        """A JWT of the first user."""
        if self._token is None:
            self._token = self.log_in("admin", self.admin_password)
        return self._token

    def page(self, path: str) -> Any:
        """What a page of ours says, as JSON, to that user."""
        return self.call("GET", path, token=self.token())

    def api(self, method: str, path: str, body: object = None) -> Any:
        """A call of Airflow's API as that user."""
        return self.call(method, f"/api/v2{path}", body, token=self.token())

    def trigger(self, dag: str, run_id: str) -> None:
        """Wait until the DAG is there, then start a run of it."""
        self.wait_for_dag(dag)
        self.api("POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "dag_run_id": run_id, "conf": {}})

    def wait_for_dag(self, dag: str) -> None:
        """Wait until the DAG of a new campaign file is there."""
        wait_until(f"DAG {dag}", lambda: self._unpaused(dag), timeout_s=180)

    def _unpaused(self, dag: str) -> bool:
        return self.api("PATCH", f"/dags/{dag}?update_mask=is_paused", {"is_paused": False})["is_paused"] is False

    def state(self, dag: str, run_id: str) -> str:
        """State of a DAG run."""
        return str(self.api("GET", f"/dags/{dag}/dagRuns/{run_id}")["state"])

    def tasks(self, dag: str, run_id: str) -> dict[str, str]:
        """State of every task of a run."""
        answer = self.api("GET", f"/dags/{dag}/dagRuns/{run_id}/taskInstances?limit=1000")
        return {task["task_id"]: str(task["state"]) for task in answer["task_instances"]}

    def finished(self, dag: str, run_id: str, *, timeout_s: float = 600) -> str:
        """Wait for the end of a DAG run; gives its state."""
        return str(
            wait_until(
                f"the end of {dag} {run_id}",
                lambda: (state := self.state(dag, run_id)) in OVER and state,
                timeout_s=timeout_s,
            )
        )

    # --- the warehouse
    def rows(self, query: str, *, role: str = "benchgate_reader", database: str = "benchgate") -> list[list[str]]:
        """Rows of a database as a role sees them, with its password over the network; every value as text."""
        secret = PASSWORD_OF[role]
        done = self.compose(
            "exec", "-T", "-e", f"PGPASSWORD={self.settings[secret]}", "postgres",
            "psql", "-h", "postgres", "-U", role, "-d", database, "-XAt", "-F", "\t",
            "-v", "ON_ERROR_STOP=1", "-c", query,
        )  # fmt: skip
        return [line.split("\t") for line in done.stdout.splitlines()]


def left_behind(engine: DockerEngine) -> list[str]:
    """Names of our containers on a host."""
    return [name for item in docker_containers.ours(engine) for name in item["Names"]]


def campaign(name: str, arms: dict[str, Any], image: str, sha256: str, **changes: Any) -> dict[str, Any]:
    """A campaign of the simulated engine: short cells, a needle gate."""
    return {
        "campaign": name,
        "engine": "llamacpp",
        "image": image,
        "on_pull_failure": "use_last",  # it is on the host, and in no registry
        "shm_size_gib": 0.1,
        "model": {"id": "simulated", "source": {"folder": "/models", "file": "weights.gguf", "sha256": sha256}},
        "args": {"ctx-size": 8192, "parallel": 4},
        "arms": arms,
        "workloads": {
            "chat": {
                "dataset": "synthetic", "prompt_tokens": 32, "max_tokens": 8, "users": [1], "requests": 6,
                "max_seconds": 120,
            }
        },
        "gates": {"needle": {"context_tokens": 600, "depths": [0.5], "max_tokens": 32, "seed": 20}},
        "limits": {"start_seconds": 120, "stop_seconds": 5},
        **changes,
    }  # fmt: skip
