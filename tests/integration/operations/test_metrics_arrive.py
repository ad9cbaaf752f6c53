"""Metrics arrive at real collectors, sent as an Airflow task sends them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.metric_listeners import otlp_listener, statsd_listener

ROOT = Path(__file__).resolve().parents[3]

SEND = """
from airflow.sdk.execution_time.task_runner import stats, stats_utils
stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=False)
from benchgate.airflow.metrics import Sample, send
send([Sample("cell.published", 6, campaign="kernels"), Sample("run.published_share", 0.5, "gauge", "kernels")])
import os; os._exit(0)  # as Airflow ends a task: nothing is flushed at exit
"""


def send_in_a_task(home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """A process that has its client from Airflow, as a task has."""
    return subprocess.run(
        [sys.executable, "-c", SEND],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "include"), "AIRFLOW_HOME": str(home), **settings},
    )


def test_statsd_receives_them(tmp_path: Path) -> None:
    with statsd_listener() as collector:
        result = send_in_a_task(
            tmp_path,
            AIRFLOW__METRICS__STATSD_ON="True",
            AIRFLOW__METRICS__STATSD_PORT=str(collector.port),
            AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED="True",
        )
        time.sleep(0.3)
        lines = list(collector.lines)

    assert result.returncode == 0, result.stderr
    assert "airflow.benchgate.cell.published,campaign=kernels:6|c" in lines
    assert "airflow.benchgate.run.published_share,campaign=kernels:0.5|g" in lines


def test_opentelemetry_receives_them_before_the_task_ends(tmp_path: Path) -> None:
    with otlp_listener() as collector:
        result = send_in_a_task(
            tmp_path,
            AIRFLOW__METRICS__OTEL_ON="True",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.port}",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
        )
        found = collector.metrics

    assert result.returncode == 0, result.stderr
    assert found["airflow.benchgate.cell.published"][-1] == ({"campaign": "kernels"}, 6.0)
    assert found["airflow.benchgate.run.published_share"][-1][1] == 0.5


def test_a_collector_that_is_away_fails_nothing(tmp_path: Path) -> None:
    result = send_in_a_task(
        tmp_path, AIRFLOW__METRICS__STATSD_ON="True", AIRFLOW__METRICS__STATSD_HOST="no-such-host.invalid"
    )

    assert result.returncode == 0, result.stderr
