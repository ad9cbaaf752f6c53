"""Removes what runs that are over left on a Docker Engine. It knows its own by labels and touches nothing else.

A killed worker cleans nothing up (SIGKILL runs no handler), so this does not rely on any worker: it runs on its own,
from the housekeeping DAG or ``benchgate housekeeping``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from docker.errors import APIError, NotFound

from benchgate import names
from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts import docker_shm
from benchgate.hosts.docker_engine import DockerEngine

# Of containers that belong to no run: looks of `benchgate hosts` last seconds, filling a volume by hand an hour.
LIFETIMES = {"helper": timedelta(minutes=10), "seeder": timedelta(hours=2)}
TEMPORARY = f"{names.LABEL_PREFIX}.temporary"  # label of networks and volumes that live no longer than their run
_ORDER = {"client": 0, "probe": 1, "helper": 2, "seeder": 3, "server": 4}  # what joined a namespace goes before it


def is_stale(labels: dict[str, str], *, age: timedelta, run_is_over: Callable[[str], bool]) -> bool:
    """Whether a container of ours may go: its run is over, or it belongs to no run and is past any use."""
    run = labels.get(names.LABEL_RUN, containers.NO_RUN)
    if run != containers.NO_RUN:
        return run_is_over(run)
    return age > LIFETIMES.get(labels.get(names.LABEL_ROLE, ""), timedelta(hours=2))


def describe(container: dict[str, Any]) -> str:
    """A listed container in words: what it was, of which run, in which state."""
    labels = container.get("Labels") or {}
    name = (container.get("Names") or ["?"])[0].lstrip("/")
    role = labels.get(names.LABEL_ROLE, "container")
    what = f"{role} {name} ({container.get('Status') or 'unknown'})"
    if labels.get(names.LABEL_RUN, containers.NO_RUN) == containers.NO_RUN:
        return what
    return f"{what} of arm {labels.get(names.LABEL_ARM)}, run {labels.get(names.LABEL_RUN)}"


def _asked_once(run_is_over: Callable[[str], bool]) -> Callable[[str], bool]:
    answers: dict[str, bool] = {}

    def over(run: str) -> bool:
        if run not in answers:
            answers[run] = run_is_over(run)
        return answers[run]

    return over


def stale_containers(engine: DockerEngine, *, run_is_over: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Our containers whose run is over, in the order in which they can go. Each run is asked about once."""
    over = _asked_once(run_is_over)
    # Both times are the engine's: the clock of whoever looks, or of whoever made a container, may be hours off.
    now = engine.clock()
    found = [
        item
        for item in containers.ours(engine)
        if is_stale(item["Labels"], age=timedelta(seconds=now - item["Created"]), run_is_over=over)
    ]
    return sorted(found, key=lambda item: _ORDER.get(item["Labels"].get(names.LABEL_ROLE, ""), 9))


def reap_engine(
    engine: DockerEngine, *, run_is_over: Callable[[str], bool], image: str | None = None, dry: bool = False
) -> list[str]:
    """Remove every stale container, and the networks and volumes of runs that are over which are marked temporary.

    Args:
        run_is_over: by run key. A run that nobody knows must count as not over unless this installation made it.
        image: the client image, for a look at shared memory that a stale server still holds; None leaves that out.
        dry: only say what would be removed.

    Returns:
        what was removed, in words, without the host.

    Raises:
        HostError: some things resisted; the message names them, and everything else was removed.
    """
    over = _asked_once(run_is_over)
    done: list[str] = []
    problems: list[HostError] = []
    for container in stale_containers(engine, run_is_over=over):
        try:
            if dry or _remove(engine, container, image):
                done.append(describe(container))
        except HostError as error:
            problems.append(error)
    for kind, name in stale_extras(engine, run_is_over=over):
        try:
            if dry or _remove_extra(engine, kind, name):
                done.append(f"{kind} {name}")
        except HostError as error:
            problems.append(error)
    if problems:
        told = "; ".join(error.message for error in problems)
        raise HostError(
            f"{told} ({len(done)} other things were removed)", remedy="see the Docker log on the host, then run again"
        )
    return done


def left_alone(engine: DockerEngine, runs: Collection[str]) -> list[str]:
    """The containers of ours that belong to ``runs``, in words, each with the command that removes it."""
    return [
        f"{describe(item)}. When that run is over: `docker rm -f {item['Names'][0].lstrip('/')}` on host {engine.host}"
        for item in (containers.ours(engine) if runs else [])
        if item["Labels"].get(names.LABEL_RUN) in runs
    ]


def _remove(engine: DockerEngine, container: dict[str, Any], image: str | None) -> bool:
    segments: list[str] = []
    if image is not None and container["Labels"].get(names.LABEL_ROLE) == "server":
        segments = docker_shm.own_segments(engine, image, container["Id"])
    removed = containers.remove(engine, container["Id"])
    if image is not None:
        docker_shm.remove_segments(engine, image, segments)
    return removed


def stale_extras(engine: DockerEngine, *, run_is_over: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Networks and volumes of ours that are marked temporary and whose run is over, as (kind, name or id).

    Seeds and the internal network are not marked: the next run uses them again.
    """
    wanted = {"label": [containers.OURS["label"], f"{TEMPORARY}=true"]}
    with engine.doing("cannot list networks and volumes"):
        networks = engine.api.networks(filters=wanted)
        volumes = engine.api.volumes(filters=wanted).get("Volumes") or []
    found = [("network", item["Id"], item.get("Labels") or {}) for item in networks]
    found += [("volume", item["Name"], item.get("Labels") or {}) for item in volumes]
    return [
        (kind, name)
        for kind, name, labels in found
        if names.LABEL_RUN in labels and run_is_over(labels[names.LABEL_RUN])
    ]


def _remove_extra(engine: DockerEngine, kind: str, name: str) -> bool:
    with engine.doing(f"cannot remove {kind} {name}"):
        try:
            (engine.api.remove_network if kind == "network" else engine.api.remove_volume)(name)
        except NotFound:
            return False
        except APIError as error:
            if error.status_code == 409:  # in use by somebody: it is not ours alone then
                return False
            raise
    return True
