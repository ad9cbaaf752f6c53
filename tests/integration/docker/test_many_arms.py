"""Twenty arms at once on one engine, each wanted by two campaigns: every placement has one holder, nobody is lost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from benchgate.errors import LeaseHeld
from benchgate.hosts import docker_containers
from benchgate.hosts.base import ServerSpec
from benchgate.hosts.docker import DockerHost
from benchgate.hosts.docker_create import server_body
from benchgate.names import LABEL_CAMPAIGN, labels, lease_name

pytestmark = pytest.mark.docker
ARMS = 20


def test_each_of_twenty_placements_is_held_once(
    host: DockerHost, server: Callable[..., ServerSpec], campaign: str
) -> None:
    together = threading.Barrier(2 * ARMS)
    taken: Counter[str] = Counter()
    refused: dict[str, str] = {}
    lock = threading.Lock()

    def launch(placement: str, run: str) -> None:
        worker = DockerHost(host.name, host.spec)  # a task is a process of its own, with its own connection
        spec = server(placement=placement, run=run)
        name = lease_name(worker.name, placement)
        marks = labels(
            campaign=campaign, run=run, arm="x", placement=f"{worker.name}/{placement}", role="server", created="now"
        )
        together.wait(120)
        try:
            docker_containers.create(worker.engine, name, server_body(spec, labels=marks, network="none"))
            with lock:
                taken[placement] += 1
        except LeaseHeld as error:
            with lock:
                refused[placement] = str(error)
        finally:
            worker.engine.close()

    threads = [
        threading.Thread(target=launch, args=(f"p{number}", f"{campaign}.{night}"))
        for number in range(ARMS)
        for night in ("night-1", "night-2")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert taken == {f"p{number}": 1 for number in range(ARMS)}
    assert set(refused) == set(taken)
    assert [words for words in refused.values() if f"{campaign}.night-" not in words] == []  # who holds it
    assert len(docker_containers.ours(host.engine, **{LABEL_CAMPAIGN: campaign})) == ARMS
