"""Faults while campaigns run. Whatever happens: no row is lost or doubled, no container is left after housekeeping,
and the run's state in Airflow and in the warehouse is the truth about its cells.

A worker's clock is not moved: libfaketime turns each ``time.sleep`` of Python 3.11 into an error once the clock has
jumped, and a container has no clock of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from benchgate.hosts.docker_engine import DockerEngine
from tests.production.stack import Stack, left_behind, wait_until
from tests.support.docker_engine import SecondEngine

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]
ARMS = ("a", "b")
CELLS = len(ARMS) * 2


class Night:
    """One run of a campaign of two arms, each with two cells of about half a minute."""

    def __init__(self, stack: Stack, far: DockerEngine, name: str) -> None:
        self.stack, self.far, self.name = stack, far, name

    def start(self) -> Night:
        """Trigger it and wait until a cell is being measured."""
        self.stack.trigger(self.name, "night-1")
        wait_until("a measurement", self.measures, timeout_s=300, every_s=1)
        return self

    def measures(self) -> bool:
        """Whether a load generator is at work on the host."""
        return any(name.endswith("-client") for name in left_behind(self.far))

    def end(self) -> str:
        """Wait for the run's end, check what holds whatever happened, and housekeep. Gives the run's state."""
        state = self.stack.finished(self.name, "night-1", timeout_s=800)
        tasks = self.stack.tasks(self.name, "night-1")
        cells = self.cells()
        assert len(cells) == CELLS, (tasks, cells)
        assert all(reason for end_state, reason in cells.values() if end_state != "published"), cells
        assert all(end in ("published", "unpublishable", "failed", "not_run") for end, _ in cells.values()), cells
        good = all(end == "published" for end, _ in cells.values())
        assert (state == "success") == good, (state, cells, tasks)
        told = self.stack.rows(f"select state, count(*) from campaign_run where campaign = '{self.name}' group by 1")
        assert told == [["success" if good else "failed", "1"]]
        # every request of a measured cell is there, once
        counted = (
            "select cell, completed, count(*) from cell join campaign_run using (run_id) join request using (cell_id) "
            f"where campaign = '{self.name}' and phase = 'measured' group by 1, 2"
        )
        assert all(row[1:] == ["6", "6"] for row in self.stack.rows(counted)), self.stack.rows(counted)
        usable = self.stack.rows(f"select cell from published_cell where campaign = '{self.name}'")
        assert len(usable) == self.published()
        self.housekeep()
        return state

    def cells(self) -> dict[str, tuple[str, str]]:
        """Cell -> how it ended and why."""
        rows = self.stack.rows(
            "select cell, end_state, coalesce(reason, '') from cell join campaign_run using (run_id) "
            f"where campaign = '{self.name}'"
        )
        assert len({cell for cell, _, _ in rows}) == len(rows)
        return {cell: (end_state, reason) for cell, end_state, reason in rows}

    def published(self) -> int:
        """How many cells may be used."""
        return sum(end == "published" for end, _ in self.cells().values())

    def housekeep(self) -> None:
        """Trigger housekeeping; nothing of the run is left on the host after it."""
        run_id = f"after-{self.name}"
        self.stack.trigger("housekeeping", run_id)
        assert self.stack.finished("housekeeping", run_id) == "success"
        assert left_behind(self.far) == []


@pytest.fixture
def night(stack: Stack, far: DockerEngine, add_campaign: Callable[..., str]) -> Iterator[Night]:
    """A campaign of this test alone."""
    name = add_campaign(
        f"fault-{uuid.uuid4().hex[:6]}",
        {arm: {"placement": f"gpu-a/p{number}", "args": {"itl-ms": 80}} for number, arm in enumerate(ARMS)},
        repeats=2,
        workloads={
            "chat": {
                "dataset": "synthetic",
                "prompt_tokens": 32,
                "max_tokens": 40,
                "users": [1],
                "requests": 6,
                "warmup_requests": 1,
                "max_seconds": 120,
            }
        },
    )
    yield Night(stack, far, name)
    (stack.site / "campaigns" / f"{name}.yaml").unlink()


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
