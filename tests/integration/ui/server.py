"""A whole Airflow for the tests, in a folder of its own, on ports of its own.

The components of ``airflow standalone``, started one by one: standalone itself allows no other auth manager.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
USERS = {"admin": "admin", "guest": "viewer", "nologs": "viewer"}
PASSWORD = "correct horse"
_PATIENCE_S = 240.0


def free_port() -> int:
    """A port that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class AirflowServer:
    """An Airflow with this project's DAGs and plugins, and the campaigns of ``include``."""

    home: Path
    include: Path
    port: int = field(default_factory=free_port)
    registry_port: int = field(default_factory=free_port)  # of a registry that a test may start
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def warehouse(self) -> str:
        """URL of the warehouse."""
        return f"sqlite:///{self.home / 'warehouse.db'}"

    @property
    def messages(self) -> Path:
        """Where the notifier writes what it is told to announce; not there while nothing was."""
        return self.home / "announced.txt"

    def environment(self) -> dict[str, str]:
        """Its whole configuration."""
        airflow = self.home / "airflow"
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "BENCHGATE"))},
            "BENCHGATE_HOME": str(self.home),
            "BENCHGATE_INCLUDE": str(self.include),
            "BENCHGATE_NOTIFIER": "tests.integration.ui.notifier.FileNotifier",
            "BENCHGATE_NOTIFIER_ARGS": json.dumps({"file": str(self.messages), "text": "{message}"}),
            "AIRFLOW_HOME": str(airflow),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": "2",
            "AIRFLOW__CORE__AUTH_MANAGER": "tests.integration.ui.auth.PerDagAuthManager",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(airflow / "passwords.json"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",  # only what a test triggers runs
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow / 'airflow.db'}",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__SECRET_KEY": "of these tests",
            "AIRFLOW__API_AUTH__JWT_SECRET": "shared by the components of these tests, and by nobody else",
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "PYTHONPATH": os.pathsep.join((str(ROOT / "include"), str(ROOT))),
        }

    def prepare(self) -> None:
        """Begin to make its database."""
        airflow = self.home / "airflow"
        airflow.mkdir(parents=True)
        (airflow / "passwords.json").write_text(json.dumps(dict.fromkeys(USERS, PASSWORD)))
        self._run("db-migrate", ["db", "migrate"])

    def start(self) -> None:
        """Start it once its database is there; see :meth:`wait` for when it answers."""
        code = self.processes.pop("db-migrate").wait(_PATIENCE_S)
        assert code == 0, f"airflow db migrate failed:\n{self.tail('db-migrate')}"
        for component in COMPONENTS:
            self._run(component, [component])

    def _run(self, name: str, arguments: list[str]) -> None:
        with (self.home / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", "airflow", *arguments],
                cwd=ROOT,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait(self, dags: tuple[str, ...]) -> None:
        """Until it answers and has parsed these DAGs."""
        self._until(lambda: self.get("/api/v2/monitor/health")[0] == 200, "an answer")
        token = self.token("admin")
        for dag in dags:
            self._until(lambda dag=dag: self.get(f"/api/v2/dags/{dag}", token)[0] == 200, f"DAG {dag}")

    def stop(self) -> None:
        """End it and everything that it started."""
        for number, patience in ((signal.SIGINT, 15.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
            living = [process for process in self.processes.values() if process.poll() is None]
            for process in living:
                os.killpg(process.pid, number)
            deadline = time.monotonic() + patience
            while any(process.poll() is None for process in living) and time.monotonic() < deadline:
                time.sleep(0.1)

    def token(self, user: str) -> str:
        """A login, as a program has it."""
        body = json.dumps({"username": user, "password": PASSWORD}).encode()
        request = urllib.request.Request(
            f"{self.url}/auth/token", data=body, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return str(json.load(answer)["access_token"])

    def get(self, path: str, token: str | None = None, *, accept: str = "*/*") -> tuple[int, str]:
        """Status and body of a GET."""
        headers = {"Accept": accept, **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"{self.url}{path}", headers=headers), timeout=60
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def trigger(self, dag: str, conf: Any) -> int:
        """Ask for a DAG run; the status of the answer."""
        try:
            self.ask("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def begin(self, dag: str, conf: Any) -> str:
        """Start a DAG that may be paused, without a form; gives the id of the run."""
        self.ask("PATCH", f"/api/v2/dags/{dag}?update_mask=is_paused", {"is_paused": False})
        asked = {"logical_date": None, "conf": conf}
        return str(self.ask("POST", f"/api/v2/dags/{dag}/dagRuns", asked)["dag_run_id"])

    def state_of(self, dag: str, run: str) -> str:
        """State of a DAG run; its id as it stands in an address."""
        return str(json.loads(self.get(f"/api/v2/dags/{dag}/dagRuns/{run}", self.token("admin"))[1])["state"])

    def state_of_task(self, dag: str, run: str, task: str) -> str | None:
        """State of a task instance; None while it has none."""
        address = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}"
        state = json.loads(self.get(address, self.token("admin"))[1])["state"]
        return None if state is None else str(state)

    def answer(self, dag: str, run: str, task: str, choice: str) -> bool:
        """Answer a question as admin, without a form, when it is asked; whether the task is over.

        Airflow loses an answer that comes soon after the question now and then, and asks again: so call it until it is.
        """
        state = self.state_of_task(dag, run, task)
        if state == "awaiting_input":
            address = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/-1/hitlDetails"
            try:
                self.ask("PATCH", address, {"chosen_options": [choice], "params_input": {}})
            except urllib.error.HTTPError as error:
                if error.code != 409:  # it was answered a moment ago
                    raise
        return state in ("success", "failed", "skipped")

    @contextmanager
    def held(self, component: str) -> Iterator[None]:
        """Hold a component, as a machine that is too busy for it would. What it started goes on."""
        process = self.processes[component].pid
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    def ask(self, method: str, path: str, body: Any) -> Any:
        """Any call of Airflow's API as admin. Airflow on SQLite is sometimes busy: then it is asked again."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token('admin')}"}
        for _ in range(10):
            request = urllib.request.Request(
                f"{self.url}{path}", data=json.dumps(body).encode(), headers=headers, method=method
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise
            time.sleep(1)
        raise AssertionError(f"Airflow stays busy:\n{self.tail('api-server')}")

    def _until(self, done: Any, what: str) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not done():
            for name, process in self.processes.items():
                assert process.poll() is None, f"airflow {name} ended:\n{self.tail(name)}"
            if time.monotonic() > deadline:
                said = "\n".join(self.tail(name, 15) for name in self.processes)
                raise AssertionError(f"no {what} from Airflow within {_PATIENCE_S:.0f} s:\n{said}")
            time.sleep(0.5)

    def tail(self, component: str, lines: int = 40) -> str:
        """The end of what a component said."""
        text = (self.home / f"{component}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-lines:])
