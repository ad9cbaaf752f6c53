"""Files that are whole: written aside in the same folder, then renamed into place.

Whoever reads meanwhile has the old file or the new one, and never half of one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

PART = ".part"  # ends the name of a file that is not whole yet


@contextmanager
def whole_file(target: Path, *, mode: int | None = None, durable: bool = False) -> Iterator[Path]:
    """An empty file beside ``target`` to write to. It takes the target's place when the block ends, and else goes.

    Args:
        target: its folder exists. A link stays: the file that it points to is replaced. A device or a pipe is written
            to as it is.
        mode: permissions of the file. None: as the file that it replaces; of a new one, what the umask leaves.
        durable: it is on the disk when this returns, so that a power cut does not leave an empty file.

    Raises:
        OSError: it cannot be written; the target is as it was.
    """
    there = target.exists()
    if there and not target.is_file():
        yield target
        return
    target = Path(os.path.realpath(target))
    if mode is None and there:
        mode = stat.S_IMODE(target.stat().st_mode)
    aside = target.with_name(f".{uuid4().hex}{PART}")  # its own: two may write one target at the same time
    try:
        # nobody else reads what is written before the permissions are those that were asked for
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
        yield aside
        if mode is not None:
            aside.chmod(mode)
        if durable:
            _sync(aside)
        aside.replace(target)
        if durable:
            with suppress(OSError):  # not every file system can sync a folder
                _sync(target.parent)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def write_whole(target: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write all of ``content``, text as UTF-8, as :func:`whole_file` does."""
    with whole_file(target, durable=durable) as aside:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
