"""Housekeeping: what runs that are over have left on hosts."""

from __future__ import annotations

from collections.abc import Callable, Collection

from benchgate import settings
from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError, DamagedArtifact
from benchgate.hosts import get_host
from benchgate.hosts.base import Host
from benchgate.records import RunRecord
from benchgate.spec.load import load_inventory
from benchgate.steps.context import owner_is_gone, owner_of_this_run

AWAY = ": could not look: "  # in the line of a host that did not answer
LEFT_ALONE = ": left alone, because nobody knows its run: "  # in the line of what a person must decide about


def is_removal(line: str) -> bool:
    """Whether a line of :func:`remove_leftovers` says that something was removed."""
    return AWAY not in line and LEFT_ALONE not in line


def record_of(key: str) -> RunRecord | None:
    """The record of a run of this installation; None for a run that it does not know, or whose record is damaged."""
    store = RunStore(key)
    try:
        return store.read(store.path("run.json"), RunRecord)
    except DamagedArtifact:
        return None


def is_over(record: RunRecord) -> bool:
    """Whether the record of a run tells, without asking anybody, that it is over."""
    return record.state != "running" or owner_is_gone(record)


def recorded_as_over(key: str) -> bool:
    """:func:`is_over` of a run by its key. An unknown run is not."""
    record = record_of(key)
    return record is not None and is_over(record)


def remove_leftovers(
    *,
    everything_of_this_process: bool = False,
    kinds: tuple[str, ...] = ("process",),
    hosts: Collection[str] | None = None,
    ask: Callable[[RunRecord], bool] | None = None,
    ask_unrecorded: Callable[[str], bool | None] | None = None,
) -> list[str]:
    """Remove what runs that are over have left on the hosts of the inventory; returns what was removed, in words.

    Lines that are no removals (:func:`is_removal`) tell of hosts that did not answer, and of what was left alone.

    Args:
        everything_of_this_process: also what runs that this process owns have left: it is done with them.
        kinds: which kinds of hosts to look at.
        hosts: of these, by name; None: every one of the inventory.
        ask: decides about runs whose record does not tell that they are over; without it they are not.
        ask_unrecorded: decides by its key about a run without a record: over, going on, or None, nobody knows. What the
            last ones hold is told. Without it such runs are somebody else's, and nothing is said of them.
    """
    mine = owner_of_this_run()

    unknown: set[str] = set()

    def run_is_over(key: str) -> bool:
        record = record_of(key)
        if record is None:
            answer = ask_unrecorded(key) if ask_unrecorded is not None else False
            if answer is None:
                unknown.add(key)
            return answer is True
        if record.owner is not None and record.owner == mine:
            return everything_of_this_process
        return is_over(record) or (ask is not None and ask(record))

    removed = []
    inventory = load_inventory(settings.hosts_file())
    for name, spec in inventory.hosts.items():
        if spec.kind not in kinds or (hosts is not None and name not in hosts):
            continue
        try:
            host = get_host(name, inventory)
            removed += [f"{name}: {what}" for what in host.reap(run_is_over=run_is_over)]
            removed += [f"{name}{LEFT_ALONE}{what}" for what in left_alone(host, unknown)]
            if spec.keep_images is not None:
                removed += [f"{name}: {what}" for what in _old_images(host, spec.keep_images, run_is_over)]
        except BenchgateError as error:
            removed.append(f"{name}{AWAY}{error}")
    return removed


def left_alone(host: Host, runs: Collection[str]) -> list[str]:
    """What ``runs`` hold on a host, in words, with what to do: nobody but a person can tell whether they are over."""
    from benchgate.hosts.docker import DockerHost
    from benchgate.hosts.process import ProcessHost

    if isinstance(host, DockerHost):
        from benchgate.hosts import reaper

        return reaper.left_alone(host.engine, runs)
    assert isinstance(host, ProcessHost)
    return [
        f"server of {holder.holder()}. When that run is over: "
        f"`python -m benchgate housekeeping --host {host.name} --run {holder.run}`"
        for holder in host.holders()
        if holder.run in runs
    ]


def _old_images(host: Host, keep: int, is_over: Callable[[str], bool]) -> list[str]:
    from benchgate.hosts.docker import DockerHost
    from benchgate.steps.old_images import remove_old_images

    assert isinstance(host, DockerHost)  # the inventory lets no other host say keep_images
    return remove_old_images(host.engine, keep, is_over=is_over)
