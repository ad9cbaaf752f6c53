"""Create and upgrade the warehouse. Safe when several processes start at once; all of it or nothing.

``migrate(url) -> MigrationReport``   bring tables, views and column comments to this version
``status(url) -> WarehouseStatus``    which migration it is at, without changing it
``require_current(connection, ..)``   refuse a warehouse that is older or newer than this code
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from benchgate.errors import WarehouseError
from benchgate.names import stable_id
from benchgate.warehouse.connect import open_warehouse, reading, shown, sqlite_path, translated, writing
from benchgate.warehouse.tables import metadata, view_text
from benchgate.warehouse.views import VIEWS, view_sha256, view_sql
from benchgate.warehouse.views.meaning import column_meaning

MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "benchgate_migration"
_LOCK = stable_id("benchgate", "warehouse", "migrate")


@dataclass(frozen=True)
class MigrationReport:
    """What :func:`migrate` did. ``before`` is None for a new warehouse."""

    before: str | None
    after: str
    views_recreated: bool


@dataclass(frozen=True)
class WarehouseStatus:
    """Where a warehouse stands. ``revision`` is None when it was never migrated."""

    url: str  # without password
    revision: str | None
    head: str
    views_current: bool

    @property
    def current(self) -> bool:
        """Whether this version of Benchgate can load into it and read from it."""
        return self.revision == self.head and self.views_current


def head_revision() -> str:
    """The migration that this version of Benchgate needs."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None, "the package ships at least one migration"
    return head


def migrate(url: str | None = None) -> MigrationReport:
    """Create the warehouse or bring it to this version: tables, then views, then comments, in one transaction.

    A second process that migrates at the same time waits, then finds nothing to do.

    Raises:
        WarehouseError: it cannot be reached or written, or was migrated by a newer Benchgate.
    """
    engine = open_warehouse(url, create=True)
    path = sqlite_path(engine.url)
    try:
        with _file_lock(path):
            if path is not None:
                _use_wal(path, shown(engine.url))
            with writing(engine) as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
                return _migrate(connection, shown(engine.url))
    finally:
        engine.dispose()


def status(url: str | None = None) -> WarehouseStatus:
    """Read the state of a warehouse. Raises WarehouseError when there is none."""
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            revision = _revision(connection)
            views_current = revision is not None and _views_current(connection)
        return WarehouseStatus(shown(engine.url), revision, head_revision(), views_current)
    finally:
        engine.dispose()


def require_current(connection: Connection, where: str) -> str:
    """Refuse a warehouse at another migration; returns the revision.

    Raises:
        WarehouseError: never migrated, older (migrate it) or newer (upgrade Benchgate) than this code.
    """
    revision, head = _revision(connection), head_revision()
    if revision == head:
        return head
    migrate_it = "run: python -m benchgate warehouse migrate"
    if revision is None:
        raise WarehouseError(f"the warehouse {where} has no tables yet", remedy=migrate_it)
    _refuse_unknown(revision, head, where)
    raise WarehouseError(f"the warehouse {where} is at migration {revision}, this needs {head}", remedy=migrate_it)


def _refuse_unknown(revision: str, head: str, where: str) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}
    if revision not in known:
        raise WarehouseError(
            f"the warehouse {where} is at migration {revision}, which this Benchgate (migration {head}) does not know",
            remedy="a newer Benchgate migrated it: upgrade this one",
        )


def _migrate(connection: Connection, where: str) -> MigrationReport:
    before, head = _revision(connection), head_revision()
    if before is not None:
        _refuse_unknown(before, head, where)
    if before == head and _views_current(connection):
        return MigrationReport(before, head, views_recreated=False)
    if before != head:
        _drop_views(connection)  # neither database alters a table under a view
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        _comment(connection)
    _drop_views(connection)
    for name in VIEWS:
        connection.exec_driver_sql(view_sql(name).replace("%", "%%") if _formats(connection) else view_sql(name))
        connection.execute(sa.insert(view_text).values(view=name, sha256=view_sha256(name)))
    _comment_views(connection)
    return MigrationReport(before, head, views_recreated=True)


def _formats(connection: Connection) -> bool:
    """Whether the driver reads ``%`` in a statement as a placeholder."""
    return connection.dialect.name == "postgresql"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def _revision(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _views_current(connection: Connection) -> bool:
    rows = connection.execute(sa.select(view_text.c.view, view_text.c.sha256)).all()
    return {row.view: row.sha256 for row in rows} == {name: view_sha256(name) for name in VIEWS}


def _drop_views(connection: Connection) -> None:
    existing = sa.inspect(connection)
    ours = set(VIEWS)
    if existing.has_table(view_text.name):
        ours |= set(connection.execute(sa.select(view_text.c.view)).scalars())
        connection.execute(sa.delete(view_text))
    present = [name for name in existing.get_view_names() if name in ours]
    if connection.dialect.name == "postgresql" and present:
        # in one statement, so that the order in which they build on each other does not matter
        connection.execute(sa.text(f"DROP VIEW {', '.join(present)}"))
    elif present:
        for name in present:
            connection.execute(sa.text(f"DROP VIEW {name}"))


def _comment(connection: Connection) -> None:
    """Put the tables' and columns' meanings into the database itself (PostgreSQL keeps comments)."""
    if connection.dialect.name != "postgresql":
        return
    for table in metadata.sorted_tables:
        connection.execute(sa.schema.SetTableComment(table))
        for column in table.columns:
            connection.execute(sa.schema.SetColumnComment(column))


def _comment_views(connection: Connection) -> None:
    if connection.dialect.name != "postgresql":
        return
    for view in VIEWS:
        for column in sa.inspect(connection).get_columns(view):
            meaning = column_meaning(view, column["name"])
            if meaning:
                text = meaning.replace("'", "''").replace("%", "%%")
                connection.exec_driver_sql(f"COMMENT ON COLUMN {view}.{column['name']} IS '{text}'")


@contextmanager
def _file_lock(path: Path | None) -> Iterator[None]:
    """One migration of a SQLite file at a time, also across processes."""
    if path is None:
        yield
        return
    lock = path.with_name(f"{path.name}.migrate-lock")
    try:
        handle = lock.open("w")
    except OSError as error:
        raise WarehouseError(
            f"the folder of the warehouse {path} cannot be written: {error.strerror}",
            remedy="set BENCHGATE_WAREHOUSE or BENCHGATE_HOME to a folder that this user may write",
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _use_wal(path: Path, where: str) -> None:
    """Readers and one writer at the same time. A property of the file, so setting it once is enough."""
    import sqlite3

    from sqlalchemy.engine import make_url

    del where
    with translated(make_url(f"sqlite:///{path}")):
        connection = sqlite3.connect(path, timeout=60)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
