"""Housekeeping of images: nightly tags move, and each old digest of a GPU image is 10 to 30 GB on the host.

What a run's own pull brought to a host is known from the runs' artifacts. Only such images are removed, and of each
repository only those older than the newest ``keep_images``; never one that a run in progress uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from docker.errors import APIError, ImageNotFound

from benchgate.artifacts import RunStore, all_runs
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.records import HostSeeds, RunRecord


@dataclass(frozen=True)
class ImageUse:
    """What one run knows about the images of a host."""

    run: str
    started_at: str  # UTC, ISO 8601
    over: bool
    used: tuple[str, ...]  # repo@sha256:..
    pulled: tuple[str, ...]  # of these, what the run's own pull brought


def uses_on(host: str, *, is_over: Callable[[str], bool], stores: Iterable[RunStore] | None = None) -> list[ImageUse]:
    """What every run of this installation used on a host."""
    found = []
    for store in all_runs() if stores is None else stores:
        seeds = store.read(store.path("seeds", f"{host}.json"), HostSeeds)
        record = store.read(store.path("run.json"), RunRecord) if seeds is not None else None
        if seeds is None or record is None:
            continue
        used, pulled = tuple(seeds.images.values()), tuple(seeds.pulled)
        found.append(ImageUse(record.run, record.started_at, is_over(record.run), used, pulled))
    return found


def too_old(uses: Iterable[ImageUse], keep: int) -> list[str]:
    """The images that may go, oldest use first: ours, beyond the ``keep`` newest of their repository, used by no run
    in progress. Pure.
    """
    last_used: dict[str, str] = {}
    ours: set[str] = set()
    busy: set[str] = set()
    for use in uses:
        ours.update(use.pulled)
        for image in use.used:
            last_used[image] = max(last_used.get(image, ""), use.started_at)
            if not use.over:
                busy.add(image)
    newest_first = sorted(last_used, key=lambda image: (last_used[image], image), reverse=True)
    seen: dict[str, int] = {}
    going = []
    for image in newest_first:
        repository, at, _ = image.partition("@")
        if not at:  # built on the host
            continue
        seen[repository] = seen.get(repository, 0) + 1
        if seen[repository] > keep and image in ours and image not in busy:
            going.append(image)
    return going[::-1]


def remove_old_images(
    engine: DockerEngine, keep: int, *, is_over: Callable[[str], bool], uses: Iterable[ImageUse] | None = None
) -> list[str]:
    """Remove old images of ours from a host; returns what went, in words.

    An image that a container or another image still needs, whoever made it, stays: the engine refuses.
    """
    removed = []
    uses = uses_on(engine.host, is_over=is_over) if uses is None else uses
    for image in too_old(uses, keep):
        with engine.doing(f"cannot remove image {image}"):
            try:
                engine.api.remove_image(image)
            except ImageNotFound:
                continue
            except APIError as error:
                if error.status_code != 409:
                    raise
                continue
        removed.append(f"image {image}: {keep} newer ones of its repository stay")
    return removed
