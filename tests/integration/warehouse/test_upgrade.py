"""A warehouse that began with the first release, and was filled at every migration, is whole at this one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from benchgate.warehouse import migrate as module
from benchgate.warehouse.connect import open_warehouse, writing
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import head_revision, migrate, status
from benchgate.warehouse.rows import build_rows
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views import VIEWS
from tests.support.warehouses import bundle, rows, with_requests


def revisions() -> list[str]:
    """Every migration, the first one first."""
    scripts = ScriptDirectory.from_config(module._config())
    return [script.revision for script in reversed(list(scripts.walk_revisions()))]


def fill(connection: sa.Connection, made: dict[str, list[dict[str, Any]]], full: set[str]) -> None:
    """Rows of one run into the tables that are new at this migration, in the columns that they have now."""
    present = sa.MetaData()
    present.reflect(connection)
    for table in present.sorted_tables:
        if table.name in full or not made.get(table.name):
            continue
        known = metadata.tables[table.name]  # its types: JSON and times as they are written
        columns = [column.name for column in table.columns if column.name in known.columns]
        insert = sa.insert(sa.table(table.name, *(sa.column(name, known.columns[name].type) for name in columns)))
        connection.execute(insert, [{name: row.get(name) for name in columns} for row in made[table.name]])
        full.add(table.name)


def test_rows_of_every_release_are_there_after_the_upgrade(empty_url: str, tmp_path: Path) -> None:
    old = bundle("kernels.first-release")
    made = build_rows(old)
    made["campaign_run"][0] |= {"content_sha256": "0" * 64, "loaded_at": made["campaign_run"][0]["started_at"]}
    full: set[str] = set()
    open_warehouse(empty_url, create=True).dispose()
    for revision in revisions():
        with writing(open_warehouse(empty_url, create=True)) as connection:
            config = module._config()
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            fill(connection, made, full)
    assert {"campaign_run", "launch", "proof", "cell"} <= full

    report = migrate(empty_url)

    assert (report.after, status(empty_url).current) == (head_revision(), True)
    counts = {name: rows(empty_url, f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in full}
    assert counts == {name: len(made[name]) for name in full}
    assert len(rows(empty_url, "SELECT * FROM published_cell WHERE run = 'kernels.first-release'")) == 12
    for view in VIEWS:
        rows(empty_url, f"SELECT * FROM {view}")
    # and it goes on: the old run is loaded again in place, a new one beside it
    assert load_run(old, empty_url).replaced
    assert load_run(with_requests(tmp_path, run="kernels.tonight"), empty_url).requests == 240


@pytest.mark.parametrize("revision", revisions()[:-1])
def test_each_older_migration_is_brought_to_this_one_in_one_step(tmp_path: Path, revision: str) -> None:
    url = f"sqlite:///{tmp_path}/w.db"
    with writing(open_warehouse(url, create=True)) as connection:
        config = module._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    report = migrate(url)

    assert (report.before, report.after) == (revision, head_revision())
    assert load_run(bundle(), url).changed
