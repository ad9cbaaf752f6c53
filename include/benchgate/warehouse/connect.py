"""Opening the warehouse: SQLite or PostgreSQL behind one engine, and database errors in words a person can act on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import NullPool

from benchgate import secrets, settings
from benchgate.errors import WarehouseError

SQLITE_WAIT_S = 60  # how long a writer waits for another one
_WRITES = "benchgate_writes"


def parse_url(url: str | None = None) -> URL:
    """The warehouse URL (default: settings), with the drivers this package brings.

    Raises:
        WarehouseError: it cannot be read, or names a database that is neither SQLite nor PostgreSQL.
    """
    text = url or settings.warehouse_url()
    try:
        parsed = make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:
        raise WarehouseError(
            f"the warehouse URL {secrets.mask(text)!r} cannot be read",
            remedy="write sqlite:////path/file.db or postgresql://user:password@host:5432/database",
        ) from error
    if parsed.password:
        secrets.register(str(parsed.password))
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend == "sqlite":
        return parsed.set(drivername="sqlite")
    raise WarehouseError(
        f"the warehouse cannot be a {backend} database", remedy="use SQLite (a file) or PostgreSQL 15 or newer"
    )


def shown(url: URL) -> str:
    """The URL as messages may show it: without the password."""
    return url.render_as_string(hide_password=True)


def sqlite_path(url: URL) -> Path | None:
    """The file of a SQLite warehouse; None for PostgreSQL."""
    if url.get_backend_name() != "sqlite":
        return None
    if not url.database or url.database == ":memory:":
        raise WarehouseError("the warehouse must be a file", remedy="write sqlite:////path/file.db")
    return Path(url.database)


def open_warehouse(url: str | None = None, *, create: bool = False, keep_connections: bool = False) -> Engine:
    """An engine for the warehouse; nothing is opened yet. Dispose of it when done.

    Args:
        url: SQLAlchemy URL; default is ``BENCHGATE_WAREHOUSE`` or the SQLite file in the home folder.
        create: make the SQLite file (and its folder) when it is missing; otherwise a missing file is an error.
        keep_connections: pool them, for a process that serves many reads. Off: each one closes after use.
    """
    parsed = parse_url(url)
    path = sqlite_path(parsed)
    if path is not None:
        if create:
            _make_folder(path)
        elif not path.exists():
            raise WarehouseError(
                f"there is no warehouse at {path}", remedy="create it: python -m benchgate warehouse migrate"
            )
    # a kept connection may be one to a server that was restarted since
    pool: dict[str, Any] = {"pool_pre_ping": True} if keep_connections else {"poolclass": NullPool}
    connect: dict[str, Any] = {"timeout": SQLITE_WAIT_S} if path is not None else {"connect_timeout": 10}
    engine = sa.create_engine(parsed, connect_args=connect, **pool)
    if path is not None:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "connect", _prepare_postgres)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that only reads: a consistent picture, also while a load is running."""
    with translated(engine.url), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that writes: all of it or nothing. On SQLite it holds the write lock from the start."""
    with (
        translated(engine.url),
        engine.connect().execution_options(**{_WRITES: True}) as connection,
        connection.begin(),
    ):
        yield connection


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Database errors become :class:`WarehouseError` that says what to do."""
    try:
        yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        raise _explain(error, url) from error


def _make_folder(path: Path) -> None:
    """The folder of a new warehouse: made inside our own home, expected to be there anywhere else.

    A URL with a typing mistake would otherwise begin an empty warehouse beside the true one.
    """
    folder = path.parent
    if not folder.is_dir() and not folder.absolute().is_relative_to(settings.home()):
        raise WarehouseError(
            f"there is no folder {folder} for the warehouse {path}", remedy=f"correct the URL, or: mkdir -p {folder}"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WarehouseError(
            f"the folder of the warehouse {path} cannot be made: {error.strerror}",
            remedy="set BENCHGATE_WAREHOUSE or BENCHGATE_HOME to a folder that this user may write",
        ) from error


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The driver would begin a transaction before some statements only and commit before DDL; we begin ourselves.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = NORMAL")  # safe with WAL: a power cut loses no committed load's integrity


def _prepare_postgres(connection: Any, _record: object) -> None:
    # Compiling a query costs more than any of the views takes: a second for what is counted in a tenth.
    connection.execute("SET jit = off")
    connection.commit()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    # A deferred transaction that reads and then writes fails at once when another writer came between.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


# (words in the driver's message or its SQLSTATE) -> (what it means, what to do)
_MEANINGS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("database is locked", "55P03"), "is locked by another writer", "wait for it to end and load again"),
    (("readonly database", "25006"), "is read-only", "make it writable for this user, or point at a primary"),
    (("database or disk is full", "53100"), "has no space left on its disk", "free space and load again"),
    (("file is not a database", "malformed"), "is not a usable SQLite database", "restore it from a backup"),
    (("unable to open database file",), "cannot be opened", "check that folder and file may be read and written"),
    (("28P01", "28000", "authentication failed"), "refused the login", "check user and password of the warehouse"),
    (("3D000", "fatal:  database"), "does not exist", "create the database, then: benchgate warehouse migrate"),
    (("42501", "permission denied"), "denied permission", "grant the role what it needs: benchgate warehouse roles"),
    (("53300", "too many clients"), "has no free connection", "raise max_connections or run fewer loads at once"),
    (("40P01", "40001"), "broke off a conflicting transaction", "nothing was kept; load again"),
    (
        ("no such table", "no such column", "42P01", "42703"),
        "lacks a table or column",
        "run: python -m benchgate warehouse migrate",
    ),
    (
        ("connection failed", "connection refused", "could not connect", "57P01", "server closed"),
        "does not answer",
        "check that PostgreSQL runs and is reachable from here",
    ),
)


def _explain(error: sa.exc.DBAPIError | sqlite3.Error, url: URL) -> WarehouseError:
    original = error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig is not None else error
    said = secrets.mask(str(original)).strip()
    clues = f"{said}\n {getattr(original, 'sqlstate', '') or ''}".lower()
    where = f"the warehouse {shown(url)}"
    first_line = said.splitlines()[0] if said else type(original).__name__
    for words, meaning, remedy in _MEANINGS:
        if any(word.lower() in clues for word in words):
            return WarehouseError(f"{where} {meaning}: {first_line}", remedy=remedy)
    return WarehouseError(f"{where} refused: {first_line}", remedy="nothing of this transaction was kept")
