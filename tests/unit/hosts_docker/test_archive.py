"""Archives that come out of containers are read as if they were hostile; what goes in arrives as it was."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.errors import HostError
from benchgate.hosts.docker_archive import ArchiveLimits, extract, member_path, pack_bytes, pack_file


def tar(*members: tuple[str, bytes | None, bytes]) -> bytes:
    """A tar of (name, data, type); data None makes an entry without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data, kind in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.size = len(data or b"")
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(data or b""))
    return buffer.getvalue()


def pieces(data: bytes, size: int = 700) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def test_files_and_folders_arrive_below_the_output(tmp_path: Path) -> None:
    data = tar(
        ("out/", None, tarfile.DIRTYPE),
        ("out/summary.json", b"{}", tarfile.REGTYPE),
        ("out/r1/", None, tarfile.DIRTYPE),
        ("out/r1/requests.parquet", b"x" * 5000, tarfile.REGTYPE),
    )

    written = extract(pieces(data), tmp_path)

    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["summary.json", "r1/requests.parquet"]
    assert (tmp_path / "r1" / "requests.parquet").read_bytes() == b"x" * 5000
    assert sorted(path.name for path in tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize("name", ["/etc/cron.d/x", "out/../../x", "../x", "out/a\\..\\b", "out/r1/../../../x"])
def test_a_name_that_leaves_the_output_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="unsafe file name"):
        extract(pieces(tar((name, b"x", tarfile.REGTYPE))), tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_what_is_not_a_plain_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(ValueError, match="is not a plain file"):
        extract(pieces(tar(("out/summary.json", None, kind))), tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_limits_hold_for_files_sizes_and_the_total(tmp_path: Path) -> None:
    two = tar(("out/a", b"a" * 100, tarfile.REGTYPE), ("out/b", b"b" * 100, tarfile.REGTYPE))

    with pytest.raises(ValueError, match="more than 1 files"):
        extract(pieces(two), tmp_path, limits=ArchiveLimits(max_files=1))
    with pytest.raises(ValueError, match="size limit"):
        extract(pieces(two), tmp_path, limits=ArchiveLimits(max_file_bytes=99))
    with pytest.raises(ValueError, match="size limit"):
        extract(pieces(two), tmp_path, limits=ArchiveLimits(max_total_bytes=199))


def test_a_cut_archive_is_an_error_and_no_half_file_is_seen(tmp_path: Path) -> None:
    whole = tar(("out/summary.json", b"s" * 50_000, tarfile.REGTYPE))

    with pytest.raises(ValueError, match="broken archive"):
        extract(pieces(whole[:20_000]), tmp_path)

    assert not (tmp_path / "summary.json").exists()


@given(st.lists(st.sampled_from(["..", ".", "a", "b.json", "", "/", "\\"]), max_size=6))
def test_no_name_ever_leads_out(parts: list[str]) -> None:
    try:
        relative = member_path("/".join(parts))
    except ValueError:
        return

    assert relative is None or (not relative.is_absolute() and ".." not in relative.parts)


@given(st.binary(max_size=3000), st.integers(min_value=1, max_value=4096))
def test_what_is_packed_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int) -> None:
    folder = tmp_path_factory.mktemp("packed")
    source = folder / "source"
    source.write_bytes(data)

    packed = b"".join(pack_file("seed/file", source, len(data)))
    extract(pieces(packed, size), folder / "out")

    assert (folder / "out" / "file").read_bytes() == data
    with tarfile.open(fileobj=io.BytesIO(pack_bytes({"a": data}))) as archive:
        member = archive.extractfile("a")
        assert member is not None
        assert member.read() == data


@pytest.mark.parametrize("size", [3, 5])
def test_a_file_that_changes_while_it_is_sent_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"1234")

    with pytest.raises(HostError, match="changed while it was sent"):
        list(pack_file("x", path, size))
