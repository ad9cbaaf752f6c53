"""Creating and upgrading the warehouse."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from benchgate.errors import WarehouseError
from benchgate.warehouse import migrate as module
from benchgate.warehouse.connect import open_warehouse, reading, writing
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import VERSION_TABLE, head_revision, migrate, status
from benchgate.warehouse.tables import metadata
from benchgate.warehouse.views import VIEWS, view_sql
from tests.support.runs import campaign, ledger_of
from tests.support.warehouses import bundle, rows, with_requests

HERE = Path(module.__file__).parent


def test_migrating_makes_exactly_the_tables_of_the_model(empty_url: str) -> None:
    migrate(empty_url)

    with reading(open_warehouse(empty_url)) as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        differences = [
            difference
            for difference in compare_metadata(context, metadata)
            # SQLite keeps no comments
            if connection.dialect.name == "postgresql" or "comment" not in str(difference[0])
        ]
    assert differences == []


def test_migrating_again_changes_nothing(empty_url: str) -> None:
    first, second = migrate(empty_url), migrate(empty_url)

    assert (first.before, first.after) == (None, head_revision())
    assert (second.before, second.views_recreated) == (head_revision(), False)
    assert status(empty_url).current


def test_every_view_answers_on_both_databases(url: str) -> None:
    for view in VIEWS:
        assert rows(url, f"SELECT * FROM {view}") == []


def test_every_sql_file_is_a_view_and_every_view_has_one() -> None:
    files = {path.stem for path in (HERE / "views").glob("*.sql")}

    assert files == set(VIEWS)
    for view in VIEWS:
        assert view_sql(view).startswith("-- ")
        assert f"CREATE VIEW {view} AS" in view_sql(view)


def test_a_view_whose_text_changed_is_made_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load_run(bundle(), url)
    changed = view_sql("published_cell").replace("c.end_state = 'published'", "c.end_state = 'nothing'")
    monkeypatch.setattr(module, "view_sql", lambda name: changed if name == "published_cell" else view_sql(name))
    monkeypatch.setattr(module, "view_sha256", lambda name: f"other {name}")
    assert not status(url).current

    report = migrate(url)

    assert report.views_recreated
    assert rows(url, "SELECT * FROM published_cell") == []
    assert len(rows(url, "SELECT * FROM cell")) == 12


def test_going_down_and_up_again_works(url: str) -> None:
    from alembic import command

    with writing(open_warehouse(url)) as connection:
        module._drop_views(connection)
        config = module._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
        assert set(sa.inspect(connection).get_table_names()) == {VERSION_TABLE}

    assert migrate(url).before is None
    assert load_run(bundle(), url).changed


def test_request_rows_of_an_older_warehouse_get_their_percentiles(url: str, tmp_path: Path) -> None:
    from alembic import command

    load_run(with_requests(tmp_path, count=37), url)
    made = rows(url, "SELECT * FROM request_percentile ORDER BY cell_id")
    with writing(open_warehouse(url)) as connection:
        module._drop_views(connection)
        config = module._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0003")

    migrate(url)

    again = rows(url, "SELECT * FROM request_percentile ORDER BY cell_id")
    assert len(again) == 12
    assert again == [pytest.approx(row, rel=1e-12) for row in made]


@pytest.mark.parametrize("swapped", [True, False])
def test_medians_of_an_older_warehouse_learn_how_they_are_paired(url: str, swapped: bool) -> None:
    from alembic import command

    ledger = ledger_of(campaign())
    if swapped:
        launches = [one.model_copy(update={"launch": f"{one.arm}@h200/both"}) for one in ledger.launches]
        here = {"host": "h200", "placement": "both"}
        cells = [
            one.model_copy(
                update={**here, "launch": f"{one.arm}@h200/both", "cell": one.cell.replace("quad-b", "both")}
            )
            for one in ledger.cells
        ]
        ledger = ledger.model_copy(update={"launches": [o.model_copy(update=here) for o in launches], "cells": cells})
    load_run(bundle(ledger=ledger), url)
    made = rows(url, "SELECT * FROM cell_median ORDER BY arm, placement, workload, load_label")
    with writing(open_warehouse(url)) as connection:
        module._drop_views(connection)
        config = module._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")

    migrate(url)

    words = "paired by placement" if swapped else "confounded by placement"
    assert {(row["arm"], row["pairing"]) for row in made} == {("triton", None), ("marlin", words)}
    assert rows(url, "SELECT * FROM cell_median ORDER BY arm, placement, workload, load_label") == made


@pytest.mark.parametrize(
    ("revision", "message"),
    [("9999", "which this Benchgate"), ("0001", "is at migration 0001"), (None, "has no tables yet")],
)
def test_a_load_into_another_migration_says_what_to_do(url: str, revision: str | None, message: str) -> None:
    with writing(open_warehouse(url)) as connection:
        connection.execute(sa.text(f"DELETE FROM {VERSION_TABLE}"))
        if revision:
            connection.execute(sa.text(f"INSERT INTO {VERSION_TABLE} VALUES (:revision)"), {"revision": revision})

    with pytest.raises(WarehouseError, match=message):
        load_run(bundle(), url)


def test_a_newer_warehouse_is_never_migrated_back(url: str) -> None:
    with writing(open_warehouse(url)) as connection:
        connection.execute(sa.text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))

    with pytest.raises(WarehouseError, match="upgrade this one"):
        migrate(url)


def test_a_migration_that_breaks_leaves_nothing(empty_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> str:
        return "CREATE VIEW nonsense AS SELECT * FROM no_such_table_at_all; SELECT"

    monkeypatch.setattr(module, "view_sql", broken)
    with pytest.raises((WarehouseError, sa.exc.SQLAlchemyError)):
        migrate(empty_url)
    monkeypatch.undo()

    with reading(open_warehouse(empty_url)) as connection:
        assert sa.inspect(connection).get_table_names() == []


def test_processes_that_migrate_at_once_all_succeed(empty_url: str) -> None:
    code = f"from benchgate.warehouse.migrate import migrate; print(migrate({empty_url!r}).after)"
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    results = [(process.communicate(timeout=120), process.returncode) for process in processes]

    assert [(out.strip(), code) for (out, _), code in results] == [(head_revision(), 0)] * 4, results
    assert status(empty_url).current


@pytest.mark.postgres
def test_postgres_explains_every_column(postgres_url: str) -> None:
    undocumented = rows(
        postgres_url,
        """SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relkind IN ('r', 'v') AND c.relnamespace = 'public'::regnamespace AND NOT a.attisdropped
        AND c.relname <> :own AND col_description(c.oid, a.attnum) IS NULL""",
        own=VERSION_TABLE,
    )
    assert undocumented == []
