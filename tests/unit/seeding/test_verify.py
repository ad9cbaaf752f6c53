"""Digests of files and trees, and the memory of what was verified."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.errors import SeedError
from benchgate.seeding.dataset import whole_items, write_whole
from benchgate.seeding.verify import (
    check_sha256,
    file_digest,
    git_blob_sha1,
    reading_again,
    seed_tree,
    tree_digest,
    verified_sha256,
)


@given(content=st.binary(max_size=300))
def test_digests_are_those_of_the_standard_tools(tmp_path_factory: pytest.TempPathFactory, content: bytes):
    path = tmp_path_factory.mktemp("d") / "f"
    path.write_bytes(content)

    assert file_digest(path) == verified_sha256(path) == hashlib.sha256(content).hexdigest()


def test_a_git_blob_id_is_gits(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}\n')

    asked = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True)

    assert git_blob_sha1(path) == asked.stdout.strip()


def test_a_changed_file_is_read_again(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    verified_sha256(path)
    path.write_bytes(b"two")

    assert verified_sha256(path) == hashlib.sha256(b"two").hexdigest()


def test_an_unchanged_file_is_not_read_twice_unless_asked(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b"one")
    first = verified_sha256(path)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"two")
    os.utime(path, ns=times)

    assert verified_sha256(path) == first
    with reading_again():
        assert verified_sha256(path) == hashlib.sha256(b"two").hexdigest()


@pytest.mark.parametrize("memory", ["", "[]", "{", '{"f": 3}', '{"f": [1]}'])
def test_a_damaged_memory_is_no_memory(tmp_path: Path, memory: str):
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / ".benchgate-verified.json").write_text(memory)

    assert verified_sha256(tmp_path / "f") == hashlib.sha256(b"x").hexdigest()


def test_a_folder_that_cannot_be_written_is_still_verified(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / ".benchgate-verified.json").mkdir()  # root may write anywhere: what stands in the way is no file

    assert verified_sha256(tmp_path / "f") == hashlib.sha256(b"x").hexdigest()


def test_wrong_content_names_both_digests_and_the_file(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"x")

    with pytest.raises(SeedError) as refused:
        check_sha256(tmp_path / "f", "0" * 64, "thing")

    for told in ("thing", "0" * 64, hashlib.sha256(b"x").hexdigest(), str(tmp_path / "f")):
        assert told in str(refused.value)


def test_a_tree_lists_what_a_host_needs_and_nothing_of_ours(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_bytes(b"bb")
    (tmp_path / "a").write_bytes(b"a")
    for ours in (".benchgate-hub.json", "x.part", "sub/.benchgate-verified.json"):
        (tmp_path / ours).write_bytes(b"{}")
    (tmp_path / ".cache" / "huggingface").mkdir(parents=True)
    (tmp_path / ".cache" / "huggingface" / "note").write_bytes(b"n")

    files = list(seed_tree(tmp_path))

    assert [(file.relpath, file.size) for file in files] == [("a", 1), ("sub/b", 2)]
    assert files[1].sha256 == hashlib.sha256(b"bb").hexdigest()


def test_a_single_file_is_a_tree_of_one(tmp_path: Path):
    (tmp_path / "other").write_bytes(b"o")
    (tmp_path / "f").write_bytes(b"x")

    assert [file.relpath for file in seed_tree(tmp_path / "f")] == ["f"]


def test_a_tree_digest_sees_names_and_contents_not_order(tmp_path: Path):
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode())
    files = list(seed_tree(tmp_path))

    digest = tree_digest(files)

    assert tree_digest(files[::-1]) == digest
    (tmp_path / "c").rename(tmp_path / "d")
    assert tree_digest(list(seed_tree(tmp_path))) != digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
CONVERSATIONS = st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=5)


@given(CONVERSATIONS, st.data())
def test_what_is_whole_of_a_cut_off_file_is_kept_in_order(conversations: list, data: st.DataObject):
    text = json.dumps(conversations).encode()
    cut = data.draw(st.integers(0, len(text)))

    kept = list(whole_items(io.BytesIO(text[:cut])))

    assert kept == conversations[: len(kept)]
    if cut == len(text):
        assert kept == conversations


@given(CONVERSATIONS)
def test_what_is_written_is_json_again(conversations: list):
    target = io.BytesIO()

    count = write_whole(io.BytesIO(json.dumps(conversations).encode()), target)

    assert json.loads(target.getvalue()) == conversations
    assert count == len(conversations)
