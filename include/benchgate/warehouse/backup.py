"""Backup and restore of the warehouse: one file, whole or not at all.

SQLite is copied by its own online backup, so a load may go on meanwhile. PostgreSQL goes through ``pg_dump`` and
``pg_restore``, whose version must not be older than the server's. The artifacts are files and are backed up as such.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL

from benchgate import secrets
from benchgate.errors import WarehouseError
from benchgate.warehouse.connect import open_warehouse, parse_url, reading, shown, sqlite_path, translated
from benchgate.warehouse.migrate import VERSION_TABLE, status
from benchgate.whole_file import whole_file

_RUNS = "campaign_run"


@dataclass(frozen=True)
class Backup:
    """What a backup file holds, or what was restored."""

    file: Path
    runs: int
    revision: str | None


def backup(file: Path, url: str | None = None) -> Backup:
    """Write the warehouse into a new file that only this user may read.

    Raises:
        WarehouseError: the file is there already, the warehouse is not, or the database's tool is missing or failed.
    """
    if file.exists():
        raise WarehouseError(f"{file} is there already", remedy="name a new file: a backup never replaces another")
    parsed = parse_url(url)
    runs, revision = _runs(url), status(url).revision
    with _written(file) as aside:
        path = sqlite_path(parsed)
        if path is not None:
            _copy_sqlite(path, aside)
        else:
            _tool(parsed, ["pg_dump", "--format=custom", "--no-owner", "--no-acl", f"--file={aside}"])
    return Backup(file, runs, revision)


def restore(file: Path, url: str | None = None, *, replace: bool = False) -> Backup:
    """Bring a backup back: all of it in one transaction, or nothing.

    Args:
        file: as :func:`backup` wrote it, for the same kind of database.
        url: the warehouse to fill; its database must exist.
        replace: also when runs are in it, which are gone then.

    Raises:
        WarehouseError: the file is no such backup, the warehouse holds runs, or the database refused.
    """
    parsed = parse_url(url)
    path = sqlite_path(parsed)
    if not file.is_file():
        raise WarehouseError(f"there is no backup file {file}")
    present = _runs(url) if path is None or path.exists() else 0
    if present and not replace:
        raise WarehouseError(
            f"the warehouse {shown(parsed)} holds {present} runs",
            remedy="restore into an empty one, or give --replace and lose them",
        )
    if path is not None:
        _check_sqlite(file)
        open_warehouse(url, create=True).dispose()  # its folder, or why there can be none
        _copy_sqlite(file, path)
    else:
        with file.open("rb") as start:
            if start.read(5) != b"PGDMP":
                raise WarehouseError(
                    f"{file} is no backup of a PostgreSQL warehouse", remedy="write it with: benchgate warehouse backup"
                )
        options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-acl", "--clean", "--if-exists"]
        _tool(parsed, ["pg_restore", *options, f"--dbname={parsed.database}", str(file)])
    return Backup(file, _runs(url), status(url).revision)


def _runs(url: str | None) -> int:
    """How many runs are in a warehouse; 0 for one without tables."""
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            if not sa.inspect(connection).has_table(_RUNS):
                return 0
            return int(connection.execute(sa.select(sa.func.count()).select_from(sa.table(_RUNS))).scalar_one())
    finally:
        engine.dispose()


@contextmanager
def _written(file: Path) -> Iterator[Path]:
    """A backup that broke off is not taken for one, and nobody else may read what the tool writes meanwhile."""
    try:
        with whole_file(file, mode=0o600, durable=True) as aside:
            yield aside
    except OSError as error:
        raise WarehouseError(f"{file} cannot be written: {error.strerror or error}") from error


def _copy_sqlite(source: Path, target: Path) -> None:
    """One transaction of the target: whoever reads it sees the old content or the new one."""
    with (
        translated(URL.create("sqlite", database=str(target))),
        closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True, timeout=60)) as origin,
        closing(sqlite3.connect(target, timeout=60)) as copy,
    ):
        origin.backup(copy)


def _check_sqlite(file: Path) -> None:
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            (answer,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [VERSION_TABLE]).fetchone()
    except sqlite3.Error as error:
        raise WarehouseError(f"{file} is no usable SQLite database: {error}") from error
    if answer != "ok":
        raise WarehouseError(f"{file} is damaged: {answer}", remedy="use an older backup")
    if known is None:
        raise WarehouseError(f"{file} is a SQLite database, and no warehouse")


def _tool(url: URL, command: list[str]) -> None:
    """Run a PostgreSQL tool against the warehouse; the password travels in the environment, never in the arguments."""
    if shutil.which(command[0]) is None:
        raise WarehouseError(
            f"{command[0]} is not installed here",
            remedy="install postgresql-client, or run it where the server is: see docs/operator.md",
        )
    try:
        result = subprocess.run(
            command,
            env={**os.environ, **_environment(url)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise WarehouseError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    if result.returncode != 0:
        said = [line for line in secrets.mask(result.stderr).splitlines() if line.strip()]
        first = next((line for line in said if "error" in line.lower()), said[0] if said else "it said nothing")
        raise WarehouseError(
            f"{command[0]} failed for the warehouse {shown(url)}: {first.strip()}", remedy="nothing was changed"
        )


def _environment(url: URL) -> Mapping[str, str]:
    query = {name: value if isinstance(value, str) else value[0] for name, value in url.query.items()}
    found = {
        "PGHOST": url.host or query.get("host"),
        "PGPORT": str(url.port) if url.port else query.get("port"),
        "PGUSER": url.username,
        "PGPASSWORD": str(url.password) if url.password else None,
        "PGDATABASE": url.database,
        "PGSSLMODE": query.get("sslmode"),
        "PGSSLROOTCERT": query.get("sslrootcert"),
    }
    return {name: value for name, value in found.items() if value}
