"""Model snapshots against a local hub: resolved, verified, resumed, and refused in words."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.errors import SeedError
from benchgate.records import SeedFact
from benchgate.seeding import seed_model
from benchgate.seeding.model_hub import seed_hub_model
from benchgate.seeding.verify import reading_again, seed_tree
from benchgate.spec.campaign import ModelSpec
from tests.support.hub_server import Hub, the_only_hub

WEIGHTS = os.urandom(3_000_000)
FILES = {"config.json": b'{"a": 1}', "model.safetensors": WEIGHTS, "sub/tokenizer.json": b"{}"}
MODEL = ModelSpec(id="acme/tiny")


@pytest.fixture
def hub(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with the_only_hub(monkeypatch) as hub:
        yield hub


def content(fact: SeedFact) -> dict[str, bytes]:
    folder = Path(str(fact.path))
    return {file.relpath: (folder / file.relpath).read_bytes() for file in seed_tree(folder)}


def test_a_snapshot_is_fetched_verified_and_named_by_its_commit(hub: Hub):
    commit = hub.push("acme/tiny", FILES)

    fact = seed_model(MODEL)

    assert fact.digest == commit
    assert fact.kind == "model"
    assert fact.source == f"{hub.url}/acme/tiny"
    assert content(fact) == FILES


def test_seeding_again_downloads_nothing(hub: Hub):
    hub.push("acme/tiny", FILES)
    first = seed_model(MODEL)
    before = len(hub.downloads())

    assert seed_model(MODEL) == first
    assert len(hub.downloads()) == before


def test_a_pinned_commit_that_is_there_needs_no_hub(hub: Hub):
    commit = hub.push("acme/tiny", FILES)
    pinned = ModelSpec(id="acme/tiny", revision=commit)
    first = seed_model(pinned)
    hub.down = True

    assert seed_model(pinned) == first


def test_a_branch_that_moved_is_another_seed_and_the_old_one_stays(hub: Hub):
    hub.push("acme/tiny", FILES)
    old = seed_model(MODEL)
    hub.push("acme/tiny", FILES | {"config.json": b'{"a": 2}'})

    new = seed_model(MODEL)

    assert new.digest != old.digest
    assert content(new)["config.json"] == b'{"a": 2}'
    assert content(old)["config.json"] == b'{"a": 1}'


def test_a_transfer_that_breaks_off_is_resumed_where_it_stopped(hub: Hub):
    large = FILES | {"model.safetensors": WEIGHTS * 5}  # the library writes 10 MB at a time
    hub.push("acme/tiny", large)
    hub.cut_after["model.safetensors"] = 12_000_000

    fact = seed_model(MODEL)

    assert content(fact) == large
    ranges = [given for _, path, given in hub.requests if path.startswith("/cdn/") and given]
    assert ranges, "the second try asked for the rest only"
    assert all(int(given.removeprefix("bytes=").rstrip("-")) > 0 for given in ranges)


def test_a_file_that_is_not_what_the_hub_says_is_refused_with_both_digests(hub: Hub):
    hub.push("acme/tiny", FILES)
    hub.altered.add("model.safetensors")

    with pytest.raises(SeedError) as refused:
        seed_model(MODEL)

    expected = hashlib.sha256(WEIGHTS).hexdigest()
    found = hashlib.sha256(WEIGHTS[:-1] + bytes([WEIGHTS[-1] ^ 1])).hexdigest()
    assert expected in str(refused.value)
    assert found in str(refused.value)
    hub.altered.clear()
    assert content(seed_model(MODEL)) == FILES, "and the next attempt heals it"


def test_a_small_file_that_is_not_what_the_hub_says_is_refused(hub: Hub):
    hub.push("acme/tiny", FILES)
    hub.altered.add("config.json")

    with pytest.raises(SeedError, match=r"config\.json has wrong content: git blob id is"):
        seed_model(MODEL)


@pytest.mark.parametrize("damage", [b"x" * len(WEIGHTS), WEIGHTS[:-1], None], ids=["altered", "cut", "gone"])
def test_a_file_that_was_damaged_on_disk_is_found_and_it_alone_is_fetched_again(hub: Hub, damage: bytes | None):
    hub.push("acme/tiny", FILES)
    path = Path(str(seed_model(MODEL).path)) / "model.safetensors"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    before = len(hub.downloads())

    with pytest.raises(SeedError, match=r"model\.safetensors (has|is)"):
        seed_model(MODEL)
    not_offered = not path.exists()
    healed = seed_model(MODEL)

    assert not_offered, "nobody must take a damaged snapshot for a whole one"
    assert content(healed) == FILES
    assert {name.rpartition("/")[2] for name in hub.downloads()[before:]} == {"model.safetensors"}


def test_a_change_that_hides_its_time_is_found_when_files_are_read_again(hub: Hub):
    hub.push("acme/tiny", FILES)
    path = Path(str(seed_model(MODEL).path)) / "model.safetensors"
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"x" * len(WEIGHTS))
    os.utime(path, ns=times)

    with reading_again(), pytest.raises(SeedError, match="wrong content"):
        seed_model(MODEL)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (ModelSpec(id="acme/none"), "no such model for us"),
        (ModelSpec(id="acme/tiny", revision="v9"), "no such revision"),
        (ModelSpec(id="acme/tiny", revision="0" * 40), "no such revision"),
        (ModelSpec(id="not an id/"), "owner/name"),
    ],
)
def test_what_the_hub_does_not_have_is_said_in_words(hub: Hub, model: ModelSpec, told: str):
    hub.push("acme/tiny", FILES)

    with pytest.raises(SeedError, match=told):
        seed_model(model)


def test_a_gated_model_names_the_remedy(hub: Hub):
    hub.push("acme/tiny", FILES)
    hub.repos["acme/tiny"].gated = True

    with pytest.raises(SeedError, match=r"gated.*accept its terms"):
        seed_model(MODEL)


def test_a_private_model_needs_its_token_and_the_token_is_told_to_nobody(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, benchgate_home: Path
):
    hub.push("acme/tiny", FILES)
    hub.repos["acme/tiny"].token = "hf_wordofthehouse"
    with pytest.raises(SeedError, match="no token was sent"):
        seed_model(MODEL)
    with pytest.raises(SeedError) as refused:
        seed_model(MODEL, token="hf_notthewordofthehouse")
    assert "hf_not" not in str(refused.value)
    monkeypatch.setenv("HF_TOKEN", "hf_wordofthehouse")

    fact = seed_model(MODEL)

    assert content(fact) == FILES
    assert "hf_wordofthehouse" not in fact.model_dump_json()
    notes = [path for path in benchgate_home.rglob("*") if path.is_file() and path.name != "model.safetensors"]
    assert not any("hf_wordofthehouse" in path.read_text() for path in notes)


def test_a_hub_that_is_down_fails_unless_the_last_commit_may_be_used(hub: Hub):
    commit = hub.push("acme/tiny", FILES)
    seed_model(MODEL)
    hub.down = True

    with pytest.raises(SeedError, match="pin a commit hash"):
        seed_model(MODEL)
    fact = seed_hub_model(MODEL, on_hub_failure="use_last")

    assert fact.digest == commit
    assert commit in str(fact.note)


def test_a_hub_nobody_listens_on_is_a_clear_error(hub: Hub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    with pytest.raises(SeedError, match=r"model acme/tiny@main: http://127\.0\.0\.1:9"):
        seed_model(MODEL)


def test_weights_in_other_formats_are_left_out(hub: Hub):
    hub.push("acme/tiny", FILES | {"original/model.safetensors": b"again", "metal/model.bin": b"and again"})

    fact = seed_model(MODEL)

    assert sorted(content(fact)) == ["config.json", "model.safetensors", "sub/tokenizer.json"]


def _seed_in_process(_number: int) -> str:
    return str(seed_model(MODEL).digest)


def test_two_runs_at_once_fetch_once(hub: Hub):
    commit = hub.push("acme/tiny", FILES)

    with multiprocessing.get_context("spawn").Pool(2) as pool:
        digests = pool.map(_seed_in_process, range(2))

    assert digests == [commit, commit]
    assert len([path for path in hub.downloads() if path.endswith("model.safetensors") and "/cdn/" in path]) == 1
