"""Opening the warehouse, and what people are told when it cannot be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import sqlalchemy as sa

from benchgate.errors import WarehouseError
from benchgate.warehouse.connect import open_warehouse, parse_url, reading, shown, translated, writing


@pytest.mark.parametrize(
    ("url", "driver"),
    [
        ("sqlite:////tmp/w.db", "sqlite"),
        ("postgresql://u:p@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg2://u:p@h/d", "postgresql+psycopg"),
    ],
)
def test_drivers_are_the_ones_we_bring(url: str, driver: str) -> None:
    assert parse_url(url).drivername == driver


@pytest.mark.parametrize(
    ("url", "message"),
    [("mysql://u@h/d", "cannot be a mysql database"), ("nonsense", "cannot be read"), ("sqlite://", "must be a file")],
)
def test_other_databases_are_refused(url: str, message: str) -> None:
    with pytest.raises(WarehouseError, match=message):
        open_warehouse(url)


def test_the_default_is_a_file_in_the_home_folder(benchgate_home: Path) -> None:
    assert parse_url().database == str(benchgate_home / "warehouse.db")


def test_a_missing_file_is_not_created_by_looking(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="there is no warehouse"):
        open_warehouse(f"sqlite:///{tmp_path}/none.db")
    assert not list(tmp_path.iterdir())


def test_passwords_are_never_shown() -> None:
    url = "postgresql://loader:s3cret-word@127.0.0.1:1/warehouse"
    assert "s3cret-word" not in shown(parse_url(url))
    with pytest.raises(WarehouseError, match="does not answer") as raised, reading(open_warehouse(url)):
        pass
    assert "s3cret-word" not in str(raised.value)


def test_a_transaction_that_fails_leaves_nothing_not_even_a_table(tmp_path: Path) -> None:
    engine = open_warehouse(f"sqlite:///{tmp_path}/w.db", create=True)

    def begin_and_fail() -> None:
        with writing(engine) as connection:
            connection.execute(sa.text("CREATE TABLE half (done int)"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        begin_and_fail()
    with reading(engine) as connection:
        assert sa.inspect(connection).get_table_names() == []


def test_a_writer_that_waits_too_long_is_told_who_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.warehouse.connect.SQLITE_WAIT_S", 0.05)
    path = tmp_path / "w.db"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("CREATE TABLE t (x)")
    holder.execute("BEGIN IMMEDIATE")
    try:
        with (
            pytest.raises(WarehouseError, match="is locked by another writer"),
            writing(open_warehouse(f"sqlite:///{path}")),
        ):
            pass
    finally:
        holder.close()


def test_a_full_disk_is_called_one(tmp_path: Path) -> None:
    engine = open_warehouse(f"sqlite:///{tmp_path}/w.db", create=True)
    # SQLite's own limit gives the very error that a full disk gives

    def fill() -> None:
        with writing(engine) as connection:
            connection.execute(sa.text("PRAGMA max_page_count = 4"))
            connection.execute(sa.text("CREATE TABLE big (text)"))
            connection.execute(sa.text("INSERT INTO big VALUES (zeroblob(100000))"))

    with pytest.raises(WarehouseError, match="has no space left on its disk"):
        fill()


def test_a_file_that_is_no_database_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "w.db").write_bytes(b"certainly not a database" * 100)
    with (
        pytest.raises(WarehouseError, match="is not a usable SQLite database"),
        reading(open_warehouse(f"sqlite:///{tmp_path}/w.db")) as connection,
    ):
        connection.execute(sa.text("SELECT * FROM sqlite_master"))


def test_a_read_only_database_is_called_so(tmp_path: Path) -> None:
    engine = open_warehouse(f"sqlite:///{tmp_path}/w.db", create=True)

    def write() -> None:
        with writing(engine) as connection:
            connection.execute(sa.text("PRAGMA query_only = 1"))
            connection.execute(sa.text("CREATE TABLE t (x)"))

    with pytest.raises(WarehouseError, match="is read-only"):
        write()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("unable to open database file", "cannot be opened"),
        ("no such table: cell", "lacks a table or column"),
        ("something new", "refused: something new"),
    ],
)
def test_driver_messages_become_advice(said: str, words: str) -> None:
    with pytest.raises(WarehouseError, match=words), translated(parse_url("sqlite:////tmp/w.db")):
        raise sqlite3.OperationalError(said)
