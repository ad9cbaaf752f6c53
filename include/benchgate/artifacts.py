"""The artifact store of a campaign run: a folder by default, object storage by URL. One place that names the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from upath import UPath

from benchgate import settings
from benchgate.names import slug
from benchgate.records import Record

R = TypeVar("R", bound=Record)


class RunStore:
    """Files of one campaign run. Small records are JSON; large ones are put as they are."""

    def __init__(self, run: str, root: str | None = None) -> None:
        self.run = run
        self.root = UPath(root or settings.artifacts_url()) / slug(run)

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

    def write_text(self, target: UPath, text: str) -> None:
        """Write aside and rename where the store can (a folder), so that nobody reads half a file."""
        self.write_bytes(target, text.encode())

    def write_bytes(self, target: UPath, data: bytes) -> None:
        """Like :meth:`write_text`, for bytes. Object stores replace a whole object at once by themselves."""
        if target.protocol in ("", "file", "local"):
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(f"{target.path}.part")
            aside.write_bytes(data)
            aside.replace(target.path)
        else:
            target.write_bytes(data)

    def write(self, target: UPath, record: Record) -> None:
        """Write one record as readable JSON."""
        self.write_text(target, record.model_dump_json(indent=1))

    def read(self, target: UPath, kind: type[R]) -> R | None:
        """Read one record; None when it was never written."""
        try:
            return kind.model_validate_json(target.read_text())
        except FileNotFoundError:
            return None

    def write_json(self, target: UPath, value: object) -> None:
        """Write plain JSON (facts that have no record type)."""
        self.write_text(target, json.dumps(value, indent=1, default=str))

    def put(self, target: UPath, local: Path) -> None:
        """Copy a local file into the store."""
        self.write_bytes(target, local.read_bytes())
