"""Files to and from containers over the Docker API, as tar streams: no shared folder, works on any remote engine."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from benchgate.errors import HostError
from benchgate.whole_file import whole_file

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class ArchiveLimits:
    """What we are willing to accept from a container. A measured cell of a million requests stays far below."""

    max_files: int = 1000
    max_file_bytes: int = 2 << 30
    max_total_bytes: int = 8 << 30


class _ChunkReader(io.RawIOBase):
    """A readable over an iterator of byte chunks, so that a large archive is never whole in memory."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def member_path(name: str) -> PurePosixPath | None:
    """Where a member of ``get_archive`` belongs below the output folder.

    The engine prefixes everything with the last part of the path that was asked for (``out/summary.json``); that
    part is dropped. None for the folder itself.

    Raises:
        ValueError: an absolute name, or one that climbs out.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\x00" in name or "\\" in name:
        raise ValueError(f"unsafe file name {name!r}")
    parts = [part for part in path.parts if part != "."][1:]
    return PurePosixPath(*parts) if parts else None


def extract(chunks: Iterable[bytes], output: Path, *, limits: ArchiveLimits = ArchiveLimits()) -> list[Path]:
    """Write the regular files of a tar stream below ``output``, each of them whole.

    Links, devices and pipes are refused, and so are names that leave ``output``, too many files and too much data:
    the archive comes from a machine under test.

    Raises:
        ValueError: the archive is broken or holds what is not allowed; files written before stay.
    """
    written: list[Path] = []
    total = 0
    stream = cast("IO[bytes]", io.BufferedReader(_ChunkReader(chunks), CHUNK_BYTES))
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                relative = member_path(member.name)
                if member.isdir() or relative is None:
                    continue
                if not member.isreg():
                    raise ValueError(f"{member.name!r} is not a plain file")
                total += member.size
                if len(written) >= limits.max_files:
                    raise ValueError(f"more than {limits.max_files} files")
                if member.size > limits.max_file_bytes or total > limits.max_total_bytes:
                    raise ValueError(f"{member.name!r} ({member.size} bytes) goes beyond the size limit")
                source = archive.extractfile(member)
                if source is None:
                    raise ValueError(f"{member.name!r} has no content")
                written.append(_write(source, output / Path(*relative.parts)))
    except tarfile.TarError as error:
        raise ValueError(f"broken archive: {error}") from error
    return written


def _write(source: IO[bytes], target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target) as aside, aside.open("wb") as out:
        while chunk := source.read(CHUNK_BYTES):
            out.write(chunk)
    return target


def pack_bytes(files: dict[str, bytes], *, mode: int = 0o644) -> bytes:
    """A small tar of the given files, for ``put_archive``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mode = mode
            info.mtime = int(time.time())
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def pack_file(name: str, path: Path, size: int) -> Iterator[bytes]:
    """A tar stream with one file, read as it is sent: a 5 GB shard passes through 1 MiB of memory.

    Raises:
        HostError: the file changed its size while it was sent.
    """
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o644
    info.mtime = int(time.time())
    yield info.tobuf(tarfile.GNU_FORMAT)
    sent = 0
    with path.open("rb") as source:
        while chunk := source.read(CHUNK_BYTES):
            sent += len(chunk)
            if sent > size:
                break
            yield chunk
    if sent != size:
        raise HostError(f"{path} changed while it was sent", remedy="let the download finish, then start again")
    yield b"\0" * (-size % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE)
