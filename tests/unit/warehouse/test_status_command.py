"""``benchgate warehouse status`` and where a warehouse may be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.warehouse import migrate as module
from benchgate.warehouse.migrate import head_revision, migrate


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/w.db"
    migrate(url)
    return url


def status(url: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    code = cli.main(["warehouse", "--url", url, "status"])
    return code, capsys.readouterr().out.splitlines()


def test_a_warehouse_of_this_version_says_so(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = status(url, capsys)

    assert code == 0
    assert said[1:4] == [
        f"migration  {head_revision()} (this version needs {head_revision()})",
        "views      of this version",
        "runs       0",
    ]


def test_views_alone_that_are_old_are_named_and_not_the_migration(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "view_sha256", lambda name: f"other {name}")

    code, said = status(url, capsys)

    assert code == 1
    assert said[1:] == [
        f"migration  {head_revision()} (this version needs {head_revision()})",
        "views      of another version, or incomplete",
        "run: python -m benchgate warehouse migrate   (brings its views to this version)",
    ]


def test_a_newer_warehouse_asks_for_a_newer_benchgate(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "head_revision", lambda: "0000")

    code, said = status(url, capsys)

    assert code == 1
    assert said[-1] == "a newer Benchgate migrated it: upgrade this one"


def test_no_folder_is_made_for_a_url_with_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = tmp_path / "typo" / "deeper" / "w.db"

    assert cli.main(["warehouse", "--url", f"sqlite:///{where}", "migrate"]) == 1

    assert f"there is no folder {where.parent} for the warehouse" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_our_own_home_is_made(benchgate_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    benchgate_home.rmdir()

    assert cli.main(["warehouse", "migrate"]) == 0

    assert (benchgate_home / "warehouse.db").exists()
