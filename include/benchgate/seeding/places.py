"""Where seeds lie on this machine, and the locks that keep two runs from fetching the same one at once."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchgate import settings
from benchgate.errors import SeedError
from benchgate.names import slug

Report = Callable[[str], None]  # takes one line of progress
LOCK_WAIT_S = 4 * 3600.0  # somebody else may be fetching a large model


def silent(_line: str) -> None:
    """The report of a caller who wants none."""


def place(kind: str, *parts: str) -> Path:
    """Folder of a seed below :func:`benchgate.settings.seeds_dir`: ``vocab``, ``models``, ``datasets``."""
    return settings.seeds_dir().joinpath(kind, *(slug(part) for part in parts))


def allowed(path: Path, what: str) -> Path:
    """A path of this worker that a campaign names, with its links followed.

    Raises:
        SeedError: it lies outside of the folders that campaigns may read (``BENCHGATE_WORKER_FOLDERS``): what is
            seeded reaches a GPU host and whatever image its author chose.
    """
    folders, resolved = settings.worker_folders(), path.expanduser().resolve()
    if folders is None or any(resolved.is_relative_to(folder) for folder in folders):
        return resolved
    raise SeedError(
        f"{what}: {path} is not in a folder of this worker that campaigns may read",
        remedy=f"BENCHGATE_WORKER_FOLDERS is {os.pathsep.join(map(str, folders))}",
    )


@contextmanager
def locked(folder: Path, what: str, report: Report = silent, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold the lock of one seed while it is looked at and fetched. The kernel frees it when the process ends.

    Raises:
        SeedError: somebody else held it for all of ``wait_s``, or the folder cannot be written.
    """
    lock = folder.parent / f".{folder.name}.lock"
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise SeedError(
            f"{what}: cannot write to {lock.parent}: {error.strerror}", remedy="free or change BENCHGATE_HOME"
        ) from None
    try:
        deadline = time.monotonic() + wait_s
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise SeedError(
                        f"{what}: another process has been fetching it for {wait_s:.0f} s",
                        remedy=f"see who holds {lock} (fuser {lock})",
                    ) from None
                if not told:
                    report(f"{what}: another process is fetching it; waiting")
                    told = True
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)
