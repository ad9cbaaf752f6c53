"""What a worker asks the hub about a model that a host fetches by itself, and what it refuses to pass on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate import settings
from benchgate.errors import SeedError
from benchgate.seeding import host_fetch
from benchgate.seeding.host_fetch import snapshot_of
from benchgate.seeding.hub_listing import HubFile
from benchgate.spec.campaign import ModelSpec
from tests.support.hub_server import Hub, blob_id, the_only_hub

FILES = {"config.json": b"{}", "model.safetensors": b"weights", "original/model.safetensors": b"weights"}


@pytest.fixture
def hub(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with the_only_hub(monkeypatch) as hub:
        yield hub


def test_a_snapshot_is_a_commit_and_its_files_without_other_formats_and_nothing_is_downloaded(hub: Hub) -> None:
    commit = hub.push("acme/tiny", FILES)

    snapshot = snapshot_of(ModelSpec(id="acme/tiny"))

    assert snapshot.commit == commit
    assert [file.path for file in snapshot.files] == ["config.json", "model.safetensors"]
    assert snapshot.files[0].blob_id == blob_id(b"{}")
    assert hub.downloads() == []
    assert list(settings.seeds_dir().rglob("*.safetensors")) == []


def test_the_list_of_a_pinned_commit_is_asked_for_once(hub: Hub) -> None:
    pinned = ModelSpec(id="acme/tiny", revision=hub.push("acme/tiny", FILES))
    first = snapshot_of(pinned)
    hub.down = True

    assert snapshot_of(pinned) == first
    with pytest.raises(SeedError, match=r"HTTP.*503|503"):
        snapshot_of(ModelSpec(id="acme/tiny"))


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (HubFile("../etc/passwd", 1, "0" * 40, None), "no place in a folder"),
        (HubFile("/etc/passwd", 1, "0" * 40, None), "no place in a folder"),
        (HubFile(".benchgate/manifest.json", 1, "0" * 40, None), "no place in a folder"),
        (HubFile("a.bin", None, "0" * 40, None), "does not say the size of a.bin"),
        (HubFile("a.bin", 1, None, None), "does not say the digest of a.bin"),
        (HubFile("a.bin", 1, "0" * 40, "../../x"), "does not say the digest of a.bin"),
    ],
)
def test_files_that_no_host_may_be_asked_for_are_refused(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, file: HubFile, told: str
) -> None:
    hub.push("acme/tiny", FILES)
    monkeypatch.setattr(host_fetch, "files_of", lambda *_: [file])

    with pytest.raises(SeedError, match=told):
        snapshot_of(ModelSpec(id="acme/tiny"))
