"""An Airflow of one's own in BENCHGATE_HOME: SQLite, no examples, this project's DAGs and plugins. For demo and tests.

Imports nothing of Airflow: the environment must be set before that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchgate import settings
from benchgate.errors import BenchgateError


def airflow_home() -> Path:
    """Folder of the local Airflow."""
    return settings.home() / "airflow"


def parallelism() -> int:
    """Tasks at a time: two per CPU, since most tasks wait for a server; 4 at least, 16 at most.

    Airflow forks a process for each at its start, with some 55 MB of its own; left alone it forks 32.
    """
    return min(16, max(4, 2 * (os.cpu_count() or 1)))


def environment() -> dict[str, str]:
    """Environment of a local Airflow; what the caller set already wins."""
    home = airflow_home()
    wanted = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(settings.PROJECT_ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(settings.PROJECT_ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": str(parallelism()),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "BENCHGATE_HOME": str(settings.home()),
        "PYTHONPATH": os.pathsep.join(
            part for part in (str(settings.PROJECT_ROOT / "include"), os.environ.get("PYTHONPATH", "")) if part
        ),
    }
    return {**wanted, **{name: os.environ[name] for name in wanted if name in os.environ and name != "PYTHONPATH"}}


def prepare_database() -> None:
    """Create or upgrade the metadata database of the local Airflow.

    Raises:
        BenchgateError: Airflow could not; with the end of what it said.
    """
    airflow_home().mkdir(parents=True, exist_ok=True)
    result = subprocess.run(
        [sys.executable, "-m", "airflow", "db", "migrate"],
        env={**os.environ, **environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0:
        said = "\n".join((result.stdout + result.stderr).strip().splitlines()[-5:])
        raise BenchgateError(
            f"Airflow's database at {airflow_home()} could not be prepared:\n{said}",
            remedy=f"if it is from another Airflow version, move {airflow_home()} away",
        )
