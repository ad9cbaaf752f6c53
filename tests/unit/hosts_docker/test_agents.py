"""The scripts that run inside helper containers, run here on folders of our own."""

from __future__ import annotations

import http.server
import json
import mmap
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.hosts import docker_agent_look as look
from benchgate.hosts import docker_agent_request as request
from benchgate.hosts import docker_agent_seeds as seeds
from benchgate.seeding import volume_agent as volume


@pytest.fixture
def answering() -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.end_headers()
            self.wfile.write(b"not yet")

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(data[::-1])

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_a_request_leaves_status_and_body(answering: int, tmp_path: Path) -> None:
    (tmp_path / "t1.in").write_bytes(b"abc")

    request.main("t1", "POST", str(answering), "/x", "5", str(tmp_path))
    request.main("t2", "GET", str(answering), "/health", "5", str(tmp_path))

    assert (tmp_path / "t1.out").read_bytes() == b"200\ncba"
    assert (tmp_path / "t2.out").read_bytes() == b"503\nnot yet"
    assert list(tmp_path.glob("*.tmp")) == []


def test_no_answer_is_status_0_with_the_reason(tmp_path: Path) -> None:
    request.main("t", "GET", "9", "/health", "2", str(tmp_path))

    assert (tmp_path / "t.out").read_bytes().startswith(b"0\nConnectionRefusedError")


def test_only_the_newest_answers_that_nobody_fetched_are_kept(answering: int, tmp_path: Path) -> None:
    for number in range(request.KEEP + 3):
        (tmp_path / f"{number}.out").write_bytes(b"x")

    request.main("t", "GET", str(answering), "/", "5", str(tmp_path))

    assert not (tmp_path / "0.out").exists()
    assert len(list(tmp_path.iterdir())) == request.KEEP + 1


def test_a_worker_whose_clock_is_hours_behind_gets_its_answer(answering: int, tmp_path: Path) -> None:
    for name in ("t.in", "other.in"):  # they come from the worker, with its time
        (tmp_path / name).write_bytes(b"abc")
        os.utime(tmp_path / name, (1, 1))

    request.main("t", "POST", str(answering), "/x", "5", str(tmp_path))

    assert (tmp_path / "t.out").read_bytes() == b"200\ncba"
    assert (tmp_path / "other.in").exists()


def test_a_segment_is_held_while_it_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "psm_1"
    path.write_bytes(b"x" * mmap.PAGESIZE)
    with path.open("r+b") as file:
        held = mmap.mmap(file.fileno(), 0)
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / str(os.getpid())).symlink_to(f"/proc/{os.getpid()}")

    while_mapped, _ = look.holders(proc, tmp_path)
    kept = look.remove(tmp_path, ["psm_1"], while_mapped)
    held.close()
    after, _ = look.holders(proc, tmp_path)
    gone = look.remove(tmp_path, ["psm_1", "../outside", "never-there"], after)

    assert list(while_mapped) == ["psm_1"]
    assert kept == []
    assert after == {}
    assert gone == ["psm_1"]
    assert not path.exists()


def test_segments_are_counted_by_the_memory_they_take(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "nccl").write_bytes(b"x" * 8192)

    found = look.segments(tmp_path, {"sub/nccl": {"pid 1"}})

    assert [(item["name"], item["holders"]) for item in found] == [("sub/nccl", ["pid 1"])]
    assert int(str(found[0]["bytes"])) >= 8192


def test_fields_are_read_once() -> None:
    assert look.fields("MemTotal: 5 kB\nmodel name\t: A\nmodel name\t: B\nnonsense\n") == {
        "MemTotal": "5 kB",
        "model name": "A",
    }


def test_a_mount_is_checked_against_its_manifest(tmp_path: Path) -> None:
    (tmp_path / ".benchgate").mkdir()
    (tmp_path / "a").write_text("12345")
    manifest = {"a": {"size": 5, "sha256": "x"}, "b": {"size": 1, "sha256": "y"}}
    (tmp_path / ".benchgate" / "manifest.json").write_text(json.dumps(manifest))

    assert seeds.check(tmp_path) == {"files": 1, "checked": 2, "wrong": ["b"]}
    assert seeds.check(tmp_path / "a")["files"] == 1


def entry(data: bytes) -> dict[str, object]:
    import hashlib

    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def arrive(seed: Path, data: bytes, *, cut: int | None = None) -> str:
    """Put an upload into the staging folder of a volume, whole or cut."""
    staging = seed / ".benchgate" / "in"
    staging.mkdir(parents=True, exist_ok=True)
    facts = entry(data)
    (staging / f"{facts['sha256']}.{len(data)}.token.up").write_bytes(data[:cut])
    return str(facts["sha256"])


def test_a_commit_puts_whole_files_in_place_and_names_the_others(tmp_path: Path) -> None:
    arrive(tmp_path, b"whole")
    arrive(tmp_path, b"broken", cut=3)
    wanted = {"a/one": entry(b"whole"), "a/two": entry(b"whole"), "b": entry(b"broken")}

    missing = volume.commit(tmp_path, wanted)

    assert missing == ["b"]
    assert (tmp_path / "a" / "one").read_bytes() == (tmp_path / "a" / "two").read_bytes() == b"whole"
    assert not (tmp_path / "b").exists()
    assert sorted(volume.read_manifest(tmp_path)) == ["a/one", "a/two"]


def test_an_altered_upload_is_not_accepted_and_goes_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = arrive(tmp_path, b"12345")
    upload = next((tmp_path / ".benchgate" / "in").glob(f"{sha256}*"))
    upload.write_bytes(b"12x45")

    fresh = volume.verify_arrivals(tmp_path)
    still_there = upload.exists()
    monkeypatch.setattr(volume, "ABANDONED_S", -1.0)
    volume.verify_arrivals(tmp_path)

    assert fresh == set()
    assert still_there
    assert not upload.exists()


def test_a_manifest_forgets_a_file_that_was_cut(tmp_path: Path) -> None:
    arrive(tmp_path, b"12345")
    volume.commit(tmp_path, {"a": entry(b"12345")})

    (tmp_path / "a").write_bytes(b"123")

    assert volume.read_manifest(tmp_path) == {}
