"""A warehouse that was lost comes back from its backup, on both databases; a backup that cannot help says so."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from benchgate import cli
from benchgate.errors import WarehouseError
from benchgate.warehouse.backup import backup, restore
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import head_revision, migrate, status
from tests.support.postgres import fresh_database
from tests.support.warehouses import bundle, rows, snapshot, with_requests


def loaded(url: str, folder: Path) -> None:
    load_run(with_requests(folder), url)
    load_run(bundle("kernels.night-2"), url)


def test_everything_comes_back_into_an_empty_database(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded(url, tmp_path)
    before, file = snapshot(url), tmp_path / "backup"

    assert cli.main(["warehouse", "--url", url, "backup", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}: 2 runs at migration {head_revision()}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    if url.startswith("sqlite"):
        empty = f"sqlite:///{tmp_path}/other/warehouse.db"
        (tmp_path / "other").mkdir()
        assert cli.main(["warehouse", "--url", empty, "restore", str(file)]) == 0
        assert snapshot(empty) == before
        assert status(empty).current
    else:
        with fresh_database() as empty:
            assert cli.main(["warehouse", "--url", empty, "restore", str(file)]) == 0
            assert snapshot(empty) == before
            assert status(empty).current
            # and goes on as a warehouse: comments and views are there, loads replace what they find
            assert load_run(bundle("kernels.night-2"), empty).changed is False
    assert "restored 2 runs" in capsys.readouterr().out


def test_what_was_loaded_after_the_backup_is_only_lost_when_asked_for(url: str, tmp_path: Path) -> None:
    loaded(url, tmp_path)
    before, file = snapshot(url), tmp_path / "backup"
    backup(file, url)
    load_run(bundle("kernels.night-3"), url)

    with pytest.raises(WarehouseError, match=r"holds 3 runs \(restore into an empty one, or give --replace"):
        restore(file, url)
    assert len(rows(url, "SELECT * FROM campaign_run")) == 3

    assert restore(file, url, replace=True).runs == 2
    assert snapshot(url) == before


def test_a_backup_never_replaces_another(url: str, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("the only good one")

    with pytest.raises(WarehouseError, match="is there already"):
        backup(file, url)
    assert file.read_text() == "the only good one"


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\x01" * 500])
def test_a_file_that_is_no_backup_changes_nothing(url: str, tmp_path: Path, content: bytes) -> None:
    loaded(url, tmp_path)
    before, file = snapshot(url), tmp_path / "broken"
    file.write_bytes(content)

    with pytest.raises(WarehouseError, match="broken"):
        restore(file, url, replace=True)

    assert snapshot(url) == before


@pytest.mark.postgres
def test_a_dump_that_was_cut_off_changes_nothing(postgres_url: str, tmp_path: Path) -> None:
    loaded(postgres_url, tmp_path)
    before, file = snapshot(postgres_url), tmp_path / "backup"
    backup(file, postgres_url)
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 2 // 3])

    with pytest.raises(WarehouseError, match="pg_restore failed"):
        restore(file, postgres_url, replace=True)

    assert snapshot(postgres_url) == before


def test_another_sqlite_database_is_no_warehouse(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE x (y)")

    with pytest.raises(WarehouseError, match="no warehouse"):
        restore(other, f"sqlite:///{tmp_path}/w.db")


@pytest.mark.postgres
def test_a_missing_tool_is_named(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)

    with pytest.raises(WarehouseError, match="pg_dump is not installed here"):
        backup(tmp_path / "b", postgres_url)
    assert not (tmp_path / "b").exists()


@pytest.mark.postgres
def test_the_password_is_in_no_message(postgres_url: str, tmp_path: Path) -> None:
    wrong = make_url(postgres_url).set(username="nobody_here", password="a-wrong-password")

    with pytest.raises(WarehouseError) as caught:
        backup(tmp_path / "b", wrong.render_as_string(hide_password=False))
    assert "a-wrong-password" not in str(caught.value)


def test_a_backup_while_a_load_goes_on_is_whole(tmp_path: Path, migrated_file: Path) -> None:
    shutil.copy(migrated_file, tmp_path / "w.db")
    url = f"sqlite:///{tmp_path}/w.db"
    loaded(url, tmp_path)
    writer = sqlite3.connect(tmp_path / "w.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("DELETE FROM request")

    backup(tmp_path / "copy.db", url)

    writer.execute("ROLLBACK")
    assert rows(f"sqlite:///{tmp_path}/copy.db", "SELECT count(*) AS n FROM request") == [{"n": 240}]
    migrate(f"sqlite:///{tmp_path}/copy.db")
