"""A file is whole or not there, whatever happens while it is written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from benchgate.whole_file import whole_file, write_whole


class Broken(Exception):
    pass


def write_half(target: Path) -> None:
    with whole_file(target) as aside:
        aside.write_text("ha")
        raise Broken


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nobody_sees_a_file_before_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    write_whole(target, "old")

    with whole_file(target) as aside:
        aside.write_text("ne")
        seen = target.read_text()
        aside.write_text("new")

    assert (seen, target.read_text()) == ("old", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize("before", ["old", None])
def test_what_broke_off_leaves_everything_as_it_was(tmp_path: Path, before: str | None) -> None:
    target = tmp_path / "r.json"
    if before is not None:
        target.write_text(before)

    with pytest.raises(Broken):
        write_half(target)

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == ({"r.json": before} if before else {})


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    target = tmp_path / "r.json"

    with whole_file(target) as first:
        first.write_text("first")
        with whole_file(target) as second:
            second.write_text("second")
        between = target.read_text()

    assert (between, target.read_text()) == ("second", "first")


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_text("old")
    target.chmod(0o440)

    write_whole(target, "new")

    assert mode_of(target) == 0o440


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "r.json", b"new")
    finally:
        os.umask(before)

    assert mode_of(tmp_path / "r.json") == 0o640


def test_nobody_else_can_read_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / "dump", mode=0o600) as aside:
        meanwhile = mode_of(aside)

    assert (meanwhile, mode_of(tmp_path / "dump")) == (0o600, 0o600)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "data" / "r.json", tmp_path / "latest.json"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)

    write_whole(link, "new")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert [path.name for path in real.parent.iterdir()] == ["r.json"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "through")
        said = os.read(reader, 100)
    finally:
        os.close(reader)

    assert said == b"through"
    assert pipe.is_fifo()


def test_a_folder_in_its_place_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "r.json").mkdir()

    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "r.json", "new")

    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_durable_file_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "r.json"
    synced: list[tuple[str, bool]] = []
    inner = os.fsync

    def note(descriptor: int) -> None:
        synced.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), target.exists()))
        inner(descriptor)

    monkeypatch.setattr(os, "fsync", note)

    write_whole(target, "new", durable=True)

    assert [Path(name).suffix for name, _ in synced] == [".part", ""]
    assert [placed for _, placed in synced] == [False, True]
    assert synced[1][0] == str(tmp_path)
