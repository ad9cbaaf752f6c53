"""The artifact store of a campaign run: a folder by default, object storage by URL. One place that names the files.

Every read and write goes through :class:`RunStore`, so that a store that is away, refuses the credentials or has no
such bucket is told in one line (``ArtifactError``), whoever was reading.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import ValidationError
from upath import UPath

from benchgate import secrets, settings
from benchgate.artifact_errors import CREDENTIALS, is_local, refuse_missing_bucket, told
from benchgate.artifact_settings import S3, refuse_bad_ca_bundle, refuse_no_bucket, s3_endpoint
from benchgate.errors import ArtifactError, DamagedArtifact
from benchgate.names import slug
from benchgate.records import Record
from benchgate.whole_file import write_whole

R = TypeVar("R", bound=Record)

_ANSWER = "answer.json"
# Times that a store which does not answer is asked, with growing pauses: enough for one that restarts.
_ATTEMPTS = 6
_CUT_READS = ("FlexibleChecksumError", "ClientPayloadError", "IncompleteReadError")  # of botocore and aiohttp
_READ_AGAIN_AFTER_S = (0.05, 0.2, 0.5, 1.0)


def _s3_options() -> dict[str, Any]:
    """Options of the S3 client. The address is named, so that another address is another client, not a kept one."""
    endpoint = s3_endpoint()
    refuse_bad_ca_bundle()
    attempts = os.environ.get("AWS_MAX_ATTEMPTS", "")
    options: dict[str, Any] = {
        "use_listings_cache": False,  # tasks on other machines write while this process reads
        "config_kwargs": {
            "connect_timeout": 10,
            "read_timeout": 60,
            "retries": {"max_attempts": int(attempts) if attempts.isdigit() else _ATTEMPTS, "mode": "standard"},
        },
    }
    return {**options, **({"endpoint_url": endpoint} if endpoint else {})}


def artifacts_root(url: str | None = None) -> UPath:
    """The root of the artifact store (``BENCHGATE_ARTIFACTS`` unless given).

    Raises:
        ArtifactError: the URL holds credentials, names no bucket or a kind of storage that nothing here can open, or
            the environment names an address or a CA file that cannot be used.
    """
    text = url or settings.artifacts_url()
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise ArtifactError(
            f"the artifact store URL {secrets.mask(text)} holds credentials, which logs and pages would show",
            remedy="leave them out: " + CREDENTIALS,
        )
    refuse_no_bucket(text)
    try:
        return UPath(text, **(_s3_options() if text.startswith(S3) else {}))
    except (ImportError, ValueError) as error:
        raise ArtifactError(
            f"the artifact store {text} cannot be opened: {error}",
            remedy="BENCHGATE_ARTIFACTS is a folder or s3://bucket/prefix; other stores need their fsspec package",
        ) from None


def all_runs(url: str | None = None) -> Iterator[RunStore]:
    """Every folder of the artifact store, by name. Not every one need be a run."""
    root = artifacts_root(url)
    with told(root):
        try:
            names = sorted({folder.name for folder in root.iterdir()})
        except FileNotFoundError:
            return
        except NotADirectoryError:
            if is_local(root):
                raise
            return  # a prefix that nothing was written under yet
    for name in names:
        yield RunStore(name, url)


def read_bytes(target: UPath) -> bytes | None:
    """The content of a file of the store; None when it was never written."""
    with told(target):
        try:
            return _whole(target)
        except FileNotFoundError as error:
            refuse_missing_bucket(target, error)
            return None


def _whole(target: UPath) -> bytes:
    """What a file holds. Amazon's store shows an object whole, the old one or the new one; others replace it in place,
    and whoever reads at that moment gets bytes that are not those of its checksum: such a read is done again."""
    for pause_s in _READ_AGAIN_AFTER_S:
        try:
            return bytes(target.read_bytes())
        except Exception as error:
            if type(error).__name__ not in _CUT_READS:
                raise
            time.sleep(pause_s)
    return bytes(target.read_bytes())


class RunStore:
    """Files of one campaign run. Small records are JSON; large ones are put as they are."""

    def __init__(self, run: str, root: str | None = None) -> None:
        self.run = run
        self.root = artifacts_root(root) / slug(run)

    def path(self, *parts: str) -> UPath:
        """A file of the run; every part becomes one safe segment."""
        target = self.root
        for part in parts:
            target = target / slug(part)
        return target

    def launch_path(self, launch: str, *parts: str) -> UPath:
        """A file of one launch: launch.json, server.log, preflight.json, handle.json."""
        return self.path("launches", launch, *parts)

    def cell_path(self, cell: str, *parts: str) -> UPath:
        """A file of one cell: cell.json, summary.json, requests.parquet."""
        return self.path("cells", cell, *parts)

    def approval_path(self, question: str) -> UPath:
        """The answer to one question to a person: a file each, so that two who answer at once lose nothing."""
        return self.path("approvals", question, _ANSWER)

    def answers(self) -> list[UPath]:
        """The files of all answers that people gave about the run."""
        return self.find(_ANSWER, "approvals")

    def write_text(self, target: UPath, text: str) -> None:
        """Like :meth:`write_bytes`, for text."""
        self.write_bytes(target, text.encode())

    def write_bytes(self, target: UPath, data: bytes) -> None:
        """Write a file so that nobody reads half of it; in a folder, it is on the disk when this returns.

        Object stores replace a whole object at once by themselves.
        """
        with told(target):
            if is_local(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                write_whole(Path(target.path), data, durable=True)
            else:
                target.write_bytes(data)

    def write(self, target: UPath, record: Record) -> None:
        """Write one record as readable JSON."""
        self.write_text(target, record.model_dump_json(indent=1))

    def read(self, target: UPath, kind: type[R]) -> R | None:
        """Read one record; None when it was never written.

        Raises:
            DamagedArtifact: the file is there and is no such record.
        """
        data = self.read_bytes(target)
        if data is None:
            return None
        try:
            return kind.model_validate_json(data)
        except ValidationError:
            raise DamagedArtifact(self._named(target), f"is no readable {kind.__name__}") from None

    def read_text(self, target: UPath) -> str | None:
        """The text of a file; None when it was never written.

        Raises:
            DamagedArtifact: the file is there and is no text.
        """
        data = self.read_bytes(target)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            raise DamagedArtifact(self._named(target), "is no readable text") from None

    def read_bytes(self, target: UPath) -> bytes | None:
        """The content of a file; None when it was never written."""
        return read_bytes(target)

    def read_json(self, target: UPath) -> Any:
        """Plain JSON; None when it was never written.

        Raises:
            DamagedArtifact: the file is there and is no JSON.
        """
        data = self.read_bytes(target)
        try:
            return None if data is None else json.loads(data)
        except ValueError:
            raise DamagedArtifact(self._named(target), "is no readable JSON") from None

    @contextmanager
    def opened(self, target: UPath) -> Iterator[IO[bytes]]:
        """A file to read as a stream. Raises FileNotFoundError when it was never written."""
        with told(target):
            file = target.open("rb")
        with file:
            yield file

    def exists(self, target: UPath) -> bool:
        """Whether a file was written."""
        with told(target):
            return bool(target.exists())

    def find(self, name: str, *parts: str) -> list[UPath]:
        """Every file called ``name`` below a folder of the run; none when there is no such folder."""
        with told(self.root):
            folder = self.path(*parts)
            return list(folder.glob(f"**/{name}")) if folder.exists() else []

    def size(self, target: UPath) -> int:
        """Bytes of a file; 0 when it is gone."""
        with told(target):
            try:
                return int(target.stat().st_size)
            except FileNotFoundError:
                return 0

    def remove(self, target: UPath) -> None:
        """Remove a file; it may be gone already."""
        with told(target):
            target.unlink(missing_ok=True)

    def write_json(self, target: UPath, value: object) -> None:
        """Write plain JSON (facts that have no record type)."""
        self.write_text(target, json.dumps(value, indent=1, default=str))

    def put(self, target: UPath, local: Path) -> None:
        """Copy a local file into the store."""
        self.write_bytes(target, local.read_bytes())

    def _named(self, target: UPath) -> str:
        """A file as a person finds it: its path within the run."""
        return str(target.path).removeprefix(f"{self.root.path}").lstrip("/")
