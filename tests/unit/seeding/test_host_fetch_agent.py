"""What a host does to fetch a model by itself: the script of its container, run here on a folder and a local hub."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import ssl
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgate.seeding import host_fetch_agent as agent
from benchgate.seeding import volume_agent
from tests.support.hub_server import Hub, blob_id, hub_server

WEIGHTS = os.urandom(3_000_000)
FILES = {"config.json": b'{"a": 1}', "model.safetensors": WEIGHTS, "sub/to kenizer.json": b"{}", "empty.txt": b""}
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server() as hub:
        yield hub


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    (tmp_path / ".benchgate" / "in").mkdir(parents=True)
    return tmp_path


def listed(files: dict[str, bytes] = FILES) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "size": len(content),
            "blob_id": blob_id(content),
            "sha256": hashlib.sha256(content).hexdigest() if path.endswith(".safetensors") else None,
        }
        for path, content in files.items()
    ]


def fetch(hub: Hub, seed: Path, *, token: str = "", files: dict[str, bytes] = FILES) -> dict[str, Any]:
    commit = hub.push("acme/tiny", files)
    return agent.Fetch(seed, f"{hub.url}/acme/tiny/resolve/{commit}", token, pause_s=0).all(listed(files))


def content(seed: Path) -> dict[str, bytes]:
    """What a server would see."""
    paths = [path for path in seed.rglob("*") if path.is_file() and ".benchgate" not in path.parts]
    return {path.relative_to(seed).as_posix(): path.read_bytes() for path in paths}


def test_what_was_fetched_is_put_in_place_by_the_volumes_own_agent_and_not_fetched_twice(hub: Hub, seed: Path) -> None:
    first = fetch(hub, seed)
    before = content(seed)
    missing = volume_agent.commit(seed, first["wanted"])
    requests = len(hub.requests)
    second = fetch(hub, seed)

    assert before == {}
    assert missing == []
    assert content(seed) == FILES
    assert (first["fetched"], first["bytes"], first["in_place"]) == (4, sum(map(len, FILES.values())), False)
    assert (second["fetched"], second["in_place"], len(hub.requests)) == (0, True, requests)
    assert second["wanted"] == first["wanted"]
    assert list((seed / ".benchgate" / "in").iterdir()) == []


def test_a_download_that_breaks_off_goes_on_where_it_stopped(hub: Hub, seed: Path) -> None:
    hub.cut_after["model.safetensors"] = 1_000_000

    answer = fetch(hub, seed)

    ranges = [asked for _, path, asked in hub.requests if path.startswith("/cdn/")]
    assert ranges == [None, "bytes=1000000-"]
    assert (seed / ".benchgate" / "in" / SHA256).read_bytes() == WEIGHTS
    assert answer["bytes"] == sum(map(len, FILES.values()))


def test_what_a_killed_container_left_is_gone_on_with(hub: Hub, seed: Path) -> None:
    (seed / ".benchgate" / "in" / f"{SHA256}.{len(WEIGHTS)}.fetch.up").write_bytes(WEIGHTS[:2_000_000])

    answer = fetch(hub, seed, files={"model.safetensors": WEIGHTS})

    assert [asked for _, path, asked in hub.requests if path.startswith("/cdn/")] == ["bytes=2000000-"]
    assert (answer["fetched"], answer["bytes"]) == (1, 1_000_000)


def test_weights_that_wait_verified_are_not_fetched(hub: Hub, seed: Path) -> None:
    (seed / ".benchgate" / "in" / SHA256).write_bytes(WEIGHTS)

    answer = fetch(hub, seed, files={"model.safetensors": WEIGHTS})

    assert hub.requests == []
    assert volume_agent.commit(seed, answer["wanted"]) == []


@pytest.mark.parametrize(("path", "kind"), [("model.safetensors", "sha256"), ("config.json", "git blob id")])
def test_other_content_is_refused_with_both_digests_and_does_not_stay(
    hub: Hub, seed: Path, path: str, kind: str
) -> None:
    hub.altered.add(path)

    failed = fetch(hub, seed)["failed"]
    hub.altered.clear()
    healed = fetch(hub, seed)

    right = SHA256 if kind == "sha256" else blob_id(FILES[path])
    wrong = FILES[path][:-1] + bytes([FILES[path][-1] ^ 1])
    found = hashlib.sha256(wrong).hexdigest() if kind == "sha256" else blob_id(wrong)
    assert failed == {"kind": "content", "path": path, "said": f"{kind} is {found}, and {right} was expected"}
    assert volume_agent.commit(seed, healed["wanted"]) == []
    assert content(seed) == FILES


def test_a_small_file_that_was_altered_in_its_place_is_replaced(hub: Hub, seed: Path) -> None:
    volume_agent.commit(seed, fetch(hub, seed)["wanted"])
    (seed / "config.json").write_bytes(b'{"a": 2}')

    answer = fetch(hub, seed)

    assert answer["fetched"] == 1
    assert volume_agent.commit(seed, answer["wanted"]) == []
    assert content(seed) == FILES


def test_the_token_goes_to_the_hub_and_not_where_it_redirects_to(hub: Hub, seed: Path) -> None:
    hub.push("acme/tiny", FILES)
    hub.repos["acme/tiny"].token = "hf_thewordofthehouse"

    answer = fetch(hub, seed, token="hf_thewordofthehouse")

    assert answer["fetched"] == 4
    assert hub.authorizations == {"Bearer hf_thewordofthehouse"}
    assert [path for path in hub.authorized if path.startswith("/cdn/")] == []
    assert any(path.startswith("/cdn/") for _, path, _ in hub.requests)


def test_the_token_goes_along_when_the_hub_redirects_to_itself(hub: Hub, seed: Path) -> None:
    hub.content_url = hub.url

    fetch(hub, seed, token="hf_thewordofthehouse")

    assert any(path.startswith("/cdn/") for path in hub.authorized)


def test_a_refusal_of_the_hub_is_told_by_its_number_and_not_tried_again(hub: Hub, seed: Path) -> None:
    hub.push("acme/tiny", FILES)
    hub.repos["acme/tiny"].token = "hf_thewordofthehouse"
    unknown = fetch(hub, seed)["failed"]
    hub.repos["acme/tiny"].token = None
    hub.repos["acme/tiny"].gated = True
    gated = fetch(hub, seed)["failed"]
    asked = len(hub.requests)
    gone = agent.Fetch(seed, f"{hub.url}/acme/tiny/resolve/{'0' * 40}", pause_s=0)
    hub.repos["acme/tiny"].gated = False

    assert (unknown["kind"], gated["kind"], gone.all(listed())["failed"]["kind"]) == ("401", "403", "404")
    assert asked == 2
    assert hub.url.removeprefix("http://") in unknown["said"]


def test_a_hub_that_is_down_is_tried_some_times(hub: Hub, seed: Path) -> None:
    hub.down = True

    failed = fetch(hub, seed)["failed"]

    assert failed["kind"] == "broken"
    assert "HTTP 503" in failed["said"]
    assert len(hub.requests) == agent.TRIES


def unverified(message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, message)
    error.verify_message = message
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (urllib.error.URLError(socket.gaierror(-2, "Name or service not known")), "name"),
        (urllib.error.URLError(OSError(errno.ENETUNREACH, "Network is unreachable")), "route"),
        (urllib.error.URLError(OSError(errno.EHOSTUNREACH, "No route to host")), "route"),
        (urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")), "route"),
        (urllib.error.URLError(unverified("unable to get local issuer certificate")), "certificate"),
        (OSError(errno.ENOSPC, "No space left on device"), "space"),
    ],
)
def test_errors_that_another_try_does_not_heal_are_told_apart(error: Exception, kind: str) -> None:
    with pytest.raises(agent.Failed) as failed:
        agent.permanent(error)

    assert failed.value.kind == kind


def test_an_error_that_may_pass_is_tried_again() -> None:
    assert agent.permanent(ConnectionResetError(errno.ECONNRESET, "reset")).startswith("ConnectionResetError")
    assert agent.permanent(urllib.error.URLError(TimeoutError("timed out"))) == "TimeoutError: timed out"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this machine")
def test_a_full_disk_is_told_at_once(hub: Hub, seed: Path) -> None:
    (seed / ".benchgate" / "in" / f"{SHA256}.{len(WEIGHTS)}.fetch.up").symlink_to("/dev/full")

    failed = fetch(hub, seed)["failed"]

    assert (failed["kind"], failed["path"]) == ("space", "model.safetensors")
    assert len([path for _, path, _ in hub.requests if path.startswith("/cdn/")]) == 1
