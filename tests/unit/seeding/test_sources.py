"""Which source a model comes from, and folders and datasets that are there already."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from benchgate.errors import SeedError
from benchgate.seeding import seed_model
from benchgate.seeding.dataset import seed_dataset
from benchgate.seeding.places import locked
from benchgate.spec.campaign import ModelSource, ModelSpec

CONVERSATIONS = b'[{"conversations": []}]'


def model(**source) -> ModelSpec:
    return ModelSpec(id="tiny", source=ModelSource(**source))


def test_a_file_in_a_folder_is_verified_where_it_is(tmp_path: Path):
    (tmp_path / "m.gguf").write_bytes(b"weights")
    sha256 = hashlib.sha256(b"weights").hexdigest()

    fact = seed_model(model(folder=str(tmp_path), file="m.gguf", sha256=sha256))

    assert fact.path == str(tmp_path / "m.gguf")
    assert fact.digest == f"sha256:{sha256}"


def test_a_folder_has_a_digest_over_all_of_it(tmp_path: Path):
    (tmp_path / "config.json").write_bytes(b"{}")
    before = seed_model(model(folder=str(tmp_path))).digest
    (tmp_path / "more.json").write_bytes(b"{}")

    assert seed_model(model(folder=str(tmp_path))).digest != before


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(SeedError, match="there is no folder /no/such/folder"):
        seed_model(model(folder="/no/such/folder"))


def test_an_empty_folder_or_another_content_is_refused(tmp_path: Path):
    with pytest.raises(SeedError, match="is empty"):
        seed_model(model(folder=str(tmp_path)))
    (tmp_path / "m.gguf").write_bytes(b"weights")
    with pytest.raises(SeedError, match=r"there is no file .*other\.gguf"):
        seed_model(model(folder=str(tmp_path), file="other.gguf"))
    for file in ("m.gguf", None):
        with pytest.raises(SeedError, match=f"wrong content.*{'0' * 64}"):
            seed_model(model(folder=str(tmp_path), file=file, sha256="0" * 64))


def test_a_model_on_the_host_is_taken_as_it_is_and_said_to_be(tmp_path: Path):
    fact = seed_model(model(host_path="/mnt/models/tiny/", file="m.gguf"))

    assert fact.path == "/mnt/models/tiny/m.gguf"
    assert fact.digest is None
    assert "not read there yet" in str(fact.note)


def test_a_dataset_by_path_is_verified_where_it_is(tmp_path: Path):
    (tmp_path / "d.json").write_bytes(CONVERSATIONS)

    fact = seed_dataset(str(tmp_path / "d.json"))

    assert fact is not None
    assert fact.path == str(tmp_path / "d.json")
    assert fact.digest == f"sha256:{hashlib.sha256(CONVERSATIONS).hexdigest()}"


def test_the_synthetic_dataset_needs_nothing():
    assert seed_dataset("synthetic") is None


def test_a_dataset_that_is_not_there_or_another_is_refused(tmp_path: Path):
    with pytest.raises(SeedError, match="there is no file"):
        seed_dataset(str(tmp_path / "none.json"))
    (tmp_path / "d.json").write_bytes(CONVERSATIONS)
    with pytest.raises(SeedError, match="wrong content"):
        seed_dataset(str(tmp_path / "d.json"), sha256="0" * 64)


def test_a_seed_that_somebody_else_fetches_is_waited_for_and_said_so(tmp_path: Path):
    told: list[str] = []
    entered = threading.Event()

    def second() -> None:
        with locked(tmp_path / "seed", "thing", told.append):
            entered.set()

    with locked(tmp_path / "seed", "thing"):
        thread = threading.Thread(target=second)
        thread.start()
        while not told:
            pass
        assert not entered.is_set()
    thread.join()

    assert entered.is_set()
    assert told == ["thing: another process is fetching it; waiting"]


def test_waiting_for_a_seed_ends_with_a_clear_error(tmp_path: Path):
    with (
        locked(tmp_path / "seed", "thing"),
        pytest.raises(SeedError, match="another process has been fetching it"),
        locked(tmp_path / "seed", "thing", wait_s=0.1),
    ):
        pass
