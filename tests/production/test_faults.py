"""Faults while campaigns run. Whatever happens: no row is lost or doubled, no container is left after housekeeping,
and the run's state in Airflow and in the warehouse is the truth about its cells.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest

from tests.production.night import CELLS, Night
from tests.production.stack import Stack
from tests.support.docker_engine import SecondEngine

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]


def main_process(stack: Stack, service: str) -> int:
    """The first process of a service's container, as this machine numbers it."""
    out = subprocess.run(["docker", "inspect", stack.container(service)], capture_output=True, text=True, check=True)
    return int(json.loads(out.stdout)[0]["State"]["Pid"])


def test_a_killed_worker(stack: Stack, night: Night) -> None:
    night.start()

    os.kill(main_process(stack, "site-worker"), signal.SIGKILL)  # Docker starts it again, as after a crash
    state = night.end()

    reasons = [reason for _, reason in night.cells().values()]
    assert state == "failed"
    assert any("without leaving a result" in reason for reason in reasons), reasons


def test_a_restarted_broker(stack: Stack, night: Night) -> None:
    night.start()

    stack.compose("restart", "redis")

    assert night.end() == "success"


def test_a_restarted_database(stack: Stack, night: Night) -> None:
    night.start()

    stack.compose("restart", "postgres")

    assert night.end() == "success"


def test_a_gpu_host_whose_engine_is_away_for_a_minute(night: Night, gpu_host: SecondEngine) -> None:
    night.start()

    gpu_host.stop(signal.SIGTERM)
    time.sleep(60)
    gpu_host.start()

    assert night.end() == "failed"
    assert night.published() < CELLS


def test_a_full_disk(stack: Stack, night: Night) -> None:
    night.start()
    fill = "dd if=/dev/zero of=/var/lib/benchgate/filler bs=64k count=8000; df /var/lib/benchgate"

    assert "100%" in stack.compose("exec", "-T", "site-worker", "sh", "-c", fill).stdout
    time.sleep(45)
    stack.compose("exec", "-T", "site-worker", "rm", "/var/lib/benchgate/filler")

    assert night.end() == "failed"
    # a cell whose reason could not be written either says that nothing was left
    assert any("space" in reason or "without leaving a result" in reason for _, reason in night.cells().values())
