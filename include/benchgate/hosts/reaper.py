"""Removes what runs that are over left on a Docker Engine. It knows its own by labels and touches nothing else.

A killed worker cleans nothing up (SIGKILL runs no handler), so this does not rely on any worker: it runs on its own,
from the housekeeping DAG or ``benchgate housekeeping``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from benchgate import names
from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.docker_engine import DockerEngine

HELPER_LIFETIME = timedelta(hours=1)  # looks and probes outside of runs last seconds; volume fills carry their run
_ORDER = {"client": 0, "probe": 1, "helper": 2, "seeder": 3, "server": 4}  # what joined a namespace goes before it


def is_stale(labels: dict[str, str], *, now: datetime, run_is_over: Callable[[str], bool]) -> bool:
    """Whether a container of ours may go: its run is over, or it belongs to no run and is past any use."""
    run = labels.get(names.LABEL_RUN, containers.NO_RUN)
    if run != containers.NO_RUN:
        return run_is_over(run)
    try:
        created = datetime.fromisoformat(labels[names.LABEL_CREATED])
    except (KeyError, ValueError):
        return True  # ours, of no run, and without a birth date: nothing of today's code makes such a thing
    return now - created > HELPER_LIFETIME


def describe(container: dict[str, Any]) -> str:
    """A container in words: what it was, of which run, in which state."""
    labels = container.get("Labels") or {}
    name = (container.get("Names") or ["?"])[0].lstrip("/")
    role = labels.get(names.LABEL_ROLE, "container")
    what = f"{role} {name} ({container.get('Status', 'unknown')})"
    if labels.get(names.LABEL_RUN, containers.NO_RUN) == containers.NO_RUN:
        return what
    return f"{what} of arm {labels.get(names.LABEL_ARM)}, run {labels.get(names.LABEL_RUN)}"


def stale_containers(engine: DockerEngine, *, run_is_over: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Our containers whose run is over, in the order in which they can go. Each run is asked about once."""
    answers: dict[str, bool] = {}

    def over(run: str) -> bool:
        if run not in answers:
            answers[run] = run_is_over(run)
        return answers[run]

    now = datetime.now(timezone.utc)
    found = [item for item in containers.ours(engine) if is_stale(item["Labels"], now=now, run_is_over=over)]
    return sorted(found, key=lambda item: _ORDER.get(item["Labels"].get(names.LABEL_ROLE, ""), 9))


def reap_engine(engine: DockerEngine, *, run_is_over: Callable[[str], bool]) -> list[str]:
    """Remove every stale container; returns what was removed, and what resisted, in words.

    One container that resists does not keep the others alive.
    """
    done: list[str] = []
    problems: list[HostError] = []
    for container in stale_containers(engine, run_is_over=run_is_over):
        try:
            if containers.remove(engine, container["Id"]):
                done.append(f"host {engine.host}: removed {describe(container)}")
        except HostError as error:
            problems.append(error)
    if problems:
        told = "; ".join(error.message for error in problems)
        raise HostError(
            f"{told}; {len(done)} other containers were removed",
            remedy="see the Docker log on the host; then run again",
        )
    return done
