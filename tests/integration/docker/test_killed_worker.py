"""A worker is killed with SIGKILL at any moment of a launch: housekeeping leaves no container, and nothing is lost."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate import names
from benchgate.hosts import docker_containers
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from tests.integration.docker import doomed_worker
from tests.integration.docker.test_server_life import left_of

pytestmark = [pytest.mark.docker, pytest.mark.slow]

# (moment, which occurrence of it); a launch makes, in order: a helper of preflight, server, probe, client, a helper
MOMENTS = [
    ("before-create", 1),  # the first look of preflight
    ("created", 1),
    ("after-start", 1),
    ("before-remove", 1),
    ("before-create", 2),  # the server
    ("created", 2),
    ("before-start", 2),
    ("after-start", 2),
    ("started", 1),
    ("created", 3),  # the probe
    ("after-start", 3),
    ("ready", 1),
    ("asked", 1),
    ("before-create", 4),  # the client
    ("created", 4),
    ("after-start", 4),
    ("server says 200", 1),
    ("cell 1/1 2 of 3", 1),
    ("before-fetch", 1),
    ("fetched", 1),
    ("measured", 1),
    ("removed", 3),  # of the stop: the probe is gone, the server is not
    ("created", 5),  # the look at shared memory before the server goes
    ("stopped", 1),
]


@pytest.mark.parametrize(("moment", "occurrence"), MOMENTS, ids=lambda value: str(value).replace(" ", "-"))
def test_nothing_is_left_of_a_worker_that_is_killed(
    host: DockerHost, campaign: str, server: Callable[..., ServerSpec], tmp_path: Path, moment: str, occurrence: int
) -> None:
    run = f"{campaign}.killed"
    # a fork has everything imported already, and is a worker like any other to the engine and to the kernel
    worker = multiprocessing.get_context("fork").Process(
        target=doomed_worker.main, args=(host.name, campaign, run, tmp_path, moment, occurrence)
    )
    worker.start()
    worker.join(120)
    assert worker.exitcode == -signal.SIGKILL, "it was never there"

    host.reap(run_is_over=lambda key: key == run)

    assert left_of(host, campaign) == []
    assert [item for item in docker_containers.ours(host.engine) if item["Labels"][names.LABEL_RUN] == run] == []
    again = host.start(server())  # the placement is free
    docker_containers.remove(host.engine, again.id)
