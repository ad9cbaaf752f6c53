"""Reading the artifact store when it does not behave, without a store."""

from __future__ import annotations

from pathlib import Path

import pytest
from botocore.exceptions import FlexibleChecksumError
from upath import UPath

from benchgate import artifacts
from benchgate.artifacts import RunStore, artifacts_root
from benchgate.errors import ArtifactError


class Replaced:
    """A file that is replaced in place: its first reads do not fit its checksum."""

    protocol = "s3"
    path = "bucket/run.json"

    def __init__(self, bad_reads: int) -> None:
        self.bad_reads, self.reads = bad_reads, 0

    def __str__(self) -> str:
        return f"s3://{self.path}"

    def read_bytes(self) -> bytes:
        self.reads += 1
        if self.reads <= self.bad_reads:
            raise FlexibleChecksumError(error_msg="Expected checksum a did not match calculated checksum: b")
        return b"whole"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "_READ_AGAIN_AFTER_S", (0.0, 0.0, 0.0))


def test_a_read_that_does_not_fit_its_checksum_is_done_again() -> None:
    file = Replaced(3)

    assert artifacts.read_bytes(file) == b"whole"  # type: ignore[arg-type]
    assert file.reads == 4


def test_one_that_never_fits_is_told_in_one_line() -> None:
    with pytest.raises(ArtifactError, match="Expected checksum a did not match") as caught:
        artifacts.read_bytes(Replaced(9))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunStore("r", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(ArtifactError, match=r"file/r/run\.json"):
        store.write_text(store.path("run.json"), "x")


@pytest.mark.parametrize("url", ["s3://key:secret-value@bucket", "nothing://x"])
def test_a_store_that_cannot_be_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        artifacts_root(url)
    assert "secret-value" not in str(caught.value)


def test_names_of_files_become_one_segment_each(tmp_path: Path) -> None:
    store = RunStore("../up", str(tmp_path))

    for part in ("..", ".", "../../etc/passwd", "a/b", "", "\x00"):
        assert UPath(store.path(part)).path.startswith(str(tmp_path))
        assert ".." not in store.path("cells", part).parts
