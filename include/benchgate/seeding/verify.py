"""Is a seed what it should be: digests of files and trees, and a memory of what was verified.

A 60 GB snapshot takes minutes to read, so a file that was verified once is not read again while its size and its time
of last change stay the same. ``fresh=True`` reads it in any case.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from benchgate.errors import SeedError
from benchgate.whole_file import PART, write_whole

NOTE = ".benchgate-"  # begins the name of a file that we keep beside a seed; no part of it
VERIFIED = f"{NOTE}verified.json"
_BLOCK = 8 << 20


@dataclass(frozen=True)
class SeedFile:
    """One file of a seed: where it goes below the seed's folder, its size in bytes and its sha256 (hex)."""

    relpath: str
    size: int
    sha256: str


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    """Hex digest of a file, read in pieces."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def git_blob_sha1(path: Path) -> str:
    """The id git gives a file: sha1 over a header with its size, then its bytes. The Hub names small files by it."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


_again: ContextVar[bool] = ContextVar("again", default=False)


@contextmanager
def reading_again(again: bool = True) -> Iterator[None]:
    """While inside, no file counts as verified because it was before."""
    before = _again.set(again)
    try:
        yield
    finally:
        _again.reset(before)


def verified_sha256(path: Path, *, fresh: bool = False) -> str:
    """sha256 of a file; from memory when its size and time of change are those of the last reading."""
    memory = _recall(path.parent)
    stat = path.stat()
    known = memory.get(path.name, [])
    if not (fresh or _again.get()) and known[:2] == [stat.st_size, stat.st_mtime_ns]:
        return str(known[2])
    sha256 = file_digest(path)
    memory[path.name] = [stat.st_size, stat.st_mtime_ns, sha256]
    _remember(path.parent, memory)
    return sha256


def check_sha256(path: Path, expected: str, what: str, *, fresh: bool = False) -> None:
    """Refuse a file whose sha256 is not the pinned one.

    Raises:
        SeedError: with both digests.
    """
    found = verified_sha256(path, fresh=fresh)
    if found != expected:
        raise SeedError(
            f"{what}: wrong content: sha256 is {found}, and {expected} was expected ({path})",
            remedy="the source changed or the transfer was damaged; correct the pinned digest only if you know why",
        )


def seed_tree(local_dir: Path, *, fresh: bool = False) -> Iterator[SeedFile]:
    """The files of a verified seed, in order, as a host needs them to be filled and checked.

    A seed of one file is a tree of one entry. Links are followed; what is not whole, and our own notes, are left out.
    """
    if local_dir.is_file():
        yield SeedFile(local_dir.name, local_dir.stat().st_size, verified_sha256(local_dir, fresh=fresh))
        return
    for path in sorted(local_dir.rglob("*")):
        relpath = path.relative_to(local_dir)
        if not path.is_file() or path.name.startswith(NOTE) or path.name.endswith(PART) or ".cache" in relpath.parts:
            continue
        yield SeedFile(relpath.as_posix(), path.stat().st_size, verified_sha256(path, fresh=fresh))


def tree_digest(files: list[SeedFile]) -> str:
    """One sha256 for a tree: over the lines ``SHA256  RELPATH``, sorted, as ``sha256sum`` would print them."""
    lines = sorted(f"{file.sha256}  {file.relpath}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _recall(folder: Path) -> dict[str, list[int | str]]:
    try:
        memory = json.loads((folder / VERIFIED).read_text())
    except (OSError, ValueError):
        return {}
    if not isinstance(memory, dict):
        return {}
    return {name: known for name, known in memory.items() if isinstance(known, list) and len(known) == 3}


def _remember(folder: Path, memory: dict[str, list[int | str]]) -> None:
    memory = {name: facts for name, facts in memory.items() if (folder / name).exists()}
    with suppress(OSError):  # a folder that is not ours to write: the file is read again next time
        write_whole(folder / VERIFIED, json.dumps(memory, indent=1))
