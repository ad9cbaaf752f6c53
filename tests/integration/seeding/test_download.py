"""One file over HTTP: whole or not at all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from benchgate.errors import SeedError
from benchgate.seeding.download import download
from tests.integration.seeding.file_server import Files

CONTENT = os.urandom(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def fetch(files: Files, target: Path, sha256: str | None = SHA256, path: str = "/f") -> None:
    download(f"{files.url}{path}", target, what="thing", sha256=sha256, pause_s=0.01)


def resumed_at(files: Files) -> list[int]:
    """Where each continued transfer began. The last block of a broken one is lost with its connection."""
    return [int(given.removeprefix("bytes=").rstrip("-")) for given in files.ranges if given]


def test_a_file_is_fetched_and_nothing_else_is_left(files: Files, tmp_path: Path):
    files.content["/f"] = CONTENT

    fetch(files, tmp_path / "f")

    assert (tmp_path / "f").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_broken_connections_are_resumed_where_they_stopped(files: Files, tmp_path: Path):
    files.content["/f"] = CONTENT
    files.cut_after["/f"] = [1_200_000, 700_000]

    fetch(files, tmp_path / "f")

    assert (tmp_path / "f").read_bytes() == CONTENT
    first, second = resumed_at(files)
    assert 1_100_000 < first <= 1_200_000
    assert 1_750_000 < second <= 1_900_000


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(files: Files, tmp_path: Path):
    files.content["/f"] = CONTENT
    files.cut_after["/f"] = [400_000] * 4
    with pytest.raises(SeedError, match="thing: "):
        fetch(files, tmp_path / "f")
    assert not (tmp_path / "f").exists()

    fetch(files, tmp_path / "f")

    assert resumed_at(files)[-1] > 1_300_000
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_started_again(files: Files, tmp_path: Path):
    files.content["/f"] = b"old" * 1_000_000
    files.cut_after["/f"] = [400_000] * 4
    with pytest.raises(SeedError):
        fetch(files, tmp_path / "f", None)
    files.content["/f"] = CONTENT

    fetch(files, tmp_path / "f")

    assert (tmp_path / "f").read_bytes() == CONTENT


def test_without_a_validator_nothing_is_glued_together(files: Files, tmp_path: Path):
    files.content["/f"] = CONTENT
    files.etags = False
    files.cut_after["/f"] = [400_000]

    fetch(files, tmp_path / "f")

    assert files.ranges == [None, None]
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_wrong_content_is_refused_with_both_digests_and_not_kept(files: Files, tmp_path: Path):
    files.content["/f"] = b"<html>a proxy</html>"

    with pytest.raises(SeedError) as refused:
        fetch(files, tmp_path / "f")

    assert SHA256 in str(refused.value)
    assert hashlib.sha256(b"<html>a proxy</html>").hexdigest() in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(files: Files, tmp_path: Path):
    files.content["/f"] = CONTENT
    files.statuses["/f"] = [503, 429]

    fetch(files, tmp_path / "f")

    assert (tmp_path / "f").read_bytes() == CONTENT


@pytest.mark.parametrize(("status", "told"), [(404, "404"), (403, "wants a login")])
def test_a_refusal_is_final(files: Files, tmp_path: Path, status: int, told: str):
    files.statuses["/f"] = [status] * 9

    with pytest.raises(SeedError, match=told):
        fetch(files, tmp_path / "f")

    assert len(files.ranges) == 1


def test_a_host_nobody_knows_is_said_in_one_short_line(tmp_path: Path):
    with pytest.raises(SeedError, match=r"^thing: cannot resolve no-such-host\.invalid \(") as refused:
        download("http://no-such-host.invalid/f", tmp_path / "f", what="thing")

    assert len(str(refused.value)) < 120


def test_a_password_in_the_address_is_not_told(tmp_path: Path):
    with pytest.raises(SeedError) as refused:
        download("http://me:hush-word@127.0.0.1:9/f", tmp_path / "f", what="thing", pause_s=0.01)

    assert "hush-word" not in str(refused.value)
