"""What is kept of a server after its container is removed: its log and how it ended, until later launches push it out.

The container must go for the lease to be free, and the step that stopped it still wants to read the log. Both files
lie in the local state folder of the worker that stopped it; the run's artifacts get their copy from there.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchgate import secrets, settings
from benchgate.names import slug
from benchgate.records import ExitInfo
from benchgate.whole_file import whole_file, write_whole

KEEP = 20  # launches a placement


def _folder(lease: str) -> Path:
    return settings.state_dir() / "docker" / slug(lease)


@contextlib.contextmanager
def one_at_a_time(lease: str) -> Iterator[None]:
    """Wait while another thread or process of this worker ends the server that holds ``lease``.

    Whoever removes a container takes its log from one that is still reading it.
    """
    folder = _folder(lease)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "ending").open("wb") as lock:  # closing it frees the lock, also when this process is killed
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep(lease: str, container: str, lines: Iterable[bytes], how: ExitInfo) -> None:
    """Keep a log, secrets masked, and the exit, each of them whole. Older launches are dropped."""
    folder = _folder(lease)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"{container}.log") as aside, aside.open("wb") as out:
        for line in lines:
            out.write(secrets.mask(line.decode(errors="surrogateescape")).encode(errors="surrogateescape"))
    write_whole(folder / f"{container}.json", how.model_dump_json())
    # without this one: where the clock was set back, it looks older than those before it
    earlier = [path for path in folder.glob("*.json") if path.stem != container]
    earlier.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in earlier[KEEP - 1 :]:
        for path in (old, old.with_suffix(".log")):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()


def exit_of(lease: str, container: str) -> ExitInfo | None:
    """How a removed server ended; None when this worker did not stop it."""
    try:
        return ExitInfo.model_validate_json((_folder(lease) / f"{container}.json").read_text())
    except FileNotFoundError:
        return None


def log_of(lease: str, container: str) -> Iterator[bytes] | None:
    """The kept log of a removed server, line by line; None when this worker did not stop it."""
    path = _folder(lease) / f"{container}.log"
    if not path.is_file():
        return None

    def lines() -> Iterator[bytes]:
        with path.open("rb") as log:
            yield from log

    return lines()
