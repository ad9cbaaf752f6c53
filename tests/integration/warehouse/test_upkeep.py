"""Retention, roles and the command line."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from benchgate import cli
from benchgate.artifacts import RunStore
from benchgate.errors import WarehouseError
from benchgate.warehouse.connect import open_warehouse, reading, writing
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import head_revision, migrate
from benchgate.warehouse.retention import retain
from benchgate.warehouse.roles import LOADER, READER, create_roles, role_statements
from tests.support.runs import campaign
from tests.support.warehouses import bundle, rows, with_requests

TODAY = date(2026, 12, 31)


def load_nights(url: str, folder: Path, *nights: str, keep: int | None = None) -> None:
    spec = campaign() if keep is None else campaign(keep_requests_nights=keep)
    for night in nights:
        made = with_requests(
            folder, run=f"kernels.{night}", spec=spec, run_changes={"started_at": f"{night}T02:00:00Z"}
        )
        load_run(made, url)


def test_request_rows_go_and_percentiles_stay(url: str, tmp_path: Path) -> None:
    load_nights(url, tmp_path, "2026-11-30", "2026-12-01", "2026-12-30")

    removed = retain(url, today=TODAY)

    assert [(entry.run, entry.requests) for entry in removed] == [("kernels.2026-11-30", 240)]
    assert rows(url, "SELECT count(*) AS n FROM request")[0]["n"] == 480
    old = rows(url, "SELECT ttft_p99_ms FROM published_cell WHERE run = 'kernels.2026-11-30'")
    assert {row["ttft_p99_ms"] for row in old} == {160.0}
    assert retain(url, today=TODAY) == []


def test_what_retention_removed_is_not_loaded_again(url: str, tmp_path: Path) -> None:
    load_nights(url, tmp_path, "2026-11-01")
    retain(url, today=TODAY)

    load_nights(url, tmp_path, "2026-11-01")

    assert rows(url, "SELECT count(*) AS n FROM request")[0]["n"] == 0


@pytest.mark.parametrize(("keep", "left"), [(60, 480), (0, 0), (None, 240)])
def test_each_campaign_keeps_what_its_file_says(url: str, tmp_path: Path, keep: int | None, left: int) -> None:
    load_nights(url, tmp_path, "2026-11-20", "2026-12-20", keep=keep)

    retain(url, today=TODAY)

    assert rows(url, "SELECT count(*) AS n FROM request")[0]["n"] == left


def login(url: str, role: str, password: str) -> str:
    return make_url(url).set(username=role, password=password).render_as_string(hide_password=False)


@pytest.mark.postgres
def test_the_loader_loads_and_the_reader_reads_and_neither_does_more(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHGATE_LOADER_PASSWORD", "loader-pass-word")
    monkeypatch.setenv("BENCHGATE_READER_PASSWORD", "reader-pass-word")
    assert cli.main(["warehouse", "--url", postgres_url, "roles"]) == 0
    assert create_roles(postgres_url) == {LOADER: True, READER: True}  # again changes nothing
    assert "pass-word" not in capsys.readouterr().out
    loader, reader = login(postgres_url, LOADER, "loader-pass-word"), login(postgres_url, READER, "reader-pass-word")

    assert not migrate(loader).views_recreated  # the publish step may always ask
    assert load_run(with_requests(tmp_path), loader).requests == 240
    assert load_run(bundle(), loader).replaced
    assert len(rows(reader, "SELECT * FROM published_cell")) == 12
    with pytest.raises(WarehouseError, match="denied permission"):
        load_run(bundle("kernels.night-2"), reader)
    for url, statement in (
        (reader, "DELETE FROM cell"),
        (loader, "DROP TABLE cell CASCADE"),
        (loader, "CREATE TABLE mine (x int)"),
        (loader, "UPDATE benchgate_migration SET version_num = '1'"),
        (loader, "DELETE FROM view_text"),
    ):
        with (
            pytest.raises(WarehouseError, match=r"denied permission|must be owner"),
            writing(open_warehouse(url)) as connection,
        ):
            connection.exec_driver_sql(statement)


@pytest.mark.postgres
def test_views_made_later_are_granted_too(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchgate.warehouse import migrate as module

    monkeypatch.setenv("BENCHGATE_READER_PASSWORD", "reader-pass-word")
    create_roles(postgres_url)
    monkeypatch.setattr(module, "view_sha256", lambda name: f"other {name}")

    assert migrate(postgres_url).views_recreated

    assert rows(login(postgres_url, READER, "reader-pass-word"), "SELECT * FROM published_cell") == []


@pytest.mark.postgres
def test_passwords_reach_the_server_hashed(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_READER_PASSWORD", "reader-pass-word")
    create_roles(postgres_url)

    with reading(open_warehouse(postgres_url)) as connection:
        stored = connection.exec_driver_sql(f"SELECT rolpassword FROM pg_authid WHERE rolname = '{READER}'").scalar()
    assert str(stored).startswith("SCRAM-SHA-256$")


def test_sqlite_has_no_roles(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path}/w.db")

    with pytest.raises(WarehouseError, match="has no roles"):
        create_roles(f"sqlite:///{tmp_path}/w.db")


def test_role_sql_quotes_names() -> None:
    assert 'ON DATABASE "a""b"' in "\n".join(role_statements('a"b'))


def test_a_postgres_that_is_away_is_said_to_be() -> None:
    with pytest.raises(WarehouseError, match="does not answer"):
        migrate("postgresql://nobody@127.0.0.1:1/none")


@pytest.mark.postgres
def test_a_database_that_does_not_exist_is_said_not_to(postgres_url: str) -> None:
    missing = make_url(postgres_url).set(database="no_such_database_here").render_as_string(hide_password=False)

    with pytest.raises(WarehouseError, match="does not exist"):
        migrate(missing)


@pytest.mark.postgres
def test_a_lost_connection_keeps_nothing(postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from benchgate.warehouse import load as load_module

    inner = load_module.write_requests

    def cut(connection: object, tables: object) -> int:
        admin = make_url(os.environ["BENCHGATE_TEST_POSTGRES"]).set(drivername="postgresql")
        with psycopg.connect(admin.render_as_string(hide_password=False), autocommit=True) as other:
            name = make_url(postgres_url).database
            other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        return inner(connection, tables)  # type: ignore[arg-type]

    monkeypatch.setattr(load_module, "write_requests", cut)
    with pytest.raises(WarehouseError):
        load_run(with_requests(tmp_path), postgres_url)
    assert rows(postgres_url, "SELECT * FROM campaign_run") == []


def run_cli(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = cli.main(["warehouse", *args])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_line_creates_loads_and_queries(
    benchgate_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run_cli(capsys, "status")
    assert (code, "warehouse migrate" in err) == (1, True)
    assert run_cli(capsys, "migrate")[1] == f"created the warehouse at migration {head_revision()}\n"

    made = with_requests(tmp_path)
    store = RunStore(made.run.run)
    store.write(store.path("run.json"), made.run)
    store.write(store.path("ledger.json"), made.ledger)
    for launch in made.launches:
        store.write(store.launch_path(launch.launch, "launch.json"), launch)
    for cell in made.cells:
        store.write(store.cell_path(cell.cell, "cell.json"), cell)
        store.put(store.cell_path(cell.cell, "requests.parquet"), tmp_path / "requests.parquet")
    code, _, err = run_cli(capsys, "load", made.run.run)
    assert (code, "no gates.json" in err) == (1, True)
    store.write(store.path("gates.json"), made.gates)
    assert run_cli(capsys, "load", made.run.run)[1] == f"loaded {made.run.run}: 12 cells, 240 requests\n"
    assert "nothing changed" in run_cli(capsys, "load", made.run.run)[1]
    assert rows(f"sqlite:///{benchgate_home}/warehouse.db", "SELECT expectation_met AS met FROM campaign_run") == [
        {"met": 1}
    ]

    code, out, err = run_cli(capsys, "query", "published_cell", "--limit", "3", "--format", "csv")
    assert (code, len(out.splitlines())) == (0, 4)
    assert "there are more rows" in err
    answer = json.loads(run_cli(capsys, "query", "arm_comparison", "--campaign", "kernels", "--format", "json")[1])
    assert {row["arm"] for row in answer} == {"marlin"}
    assert run_cli(capsys, "query", "did_not_run")[1] == "no rows\n"
    assert "runs       1" in run_cli(capsys, "status")[1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["query", "published_cel"], "did you mean published_cell?"),
        (["query", "cell; DROP TABLE cell"], "no view or table"),
        (["query", "proof", "--campaign", "x"], "proof has no column campaign"),
        (["load", "nowhere"], "no gates.json"),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    benchgate_home: Path, capsys: pytest.CaptureFixture[str], args: list[str], message: str
) -> None:
    run_cli(capsys, "migrate")

    code, _, err = run_cli(capsys, *args)

    assert code == 1
    assert message in err
    assert "Traceback" not in err
