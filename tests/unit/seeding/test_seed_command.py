"""``benchgate seed``: each seed with its digest and path, every failure told."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from benchgate.cli import main

CAMPAIGN = """
campaign: tiny
engine: llamacpp
model: {{id: tiny, source: {{folder: {folder}, file: m.gguf}}}}
arms:
  plain: {{placement: local/cpu}}
  other: {{placement: local/cpu, model: {{id: other, source: {{folder: {folder}, file: {other}}}}}}}
workloads:
  short: {{dataset: synthetic, prompt_tokens: 64, users: [1]}}
  file: {{dataset: {folder}/d.json, users: [1]}}
"""

CONTENTS = {"m.gguf": "m.gguf", "o.gguf": "o.gguf", "d.json": '[{"conversations": []}]'}


@pytest.fixture
def folder(benchgate_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_text(content)
    hosts = tmp_path / "hosts.yaml"
    hosts.write_text("hosts:\n  local: {kind: process, placements: {cpu: {}}}\n")
    monkeypatch.setenv("BENCHGATE_HOSTS", str(hosts))
    return folder


def campaign(folder: Path, other: str = "o.gguf") -> str:
    path = folder.parent / "tiny.yaml"
    path.write_text(CAMPAIGN.format(folder=folder, other=other))
    return str(path)


def test_every_seed_is_printed_with_digest_and_path(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["seed", campaign(folder)]) == 0

    printed = capsys.readouterr().out
    for name, content in CONTENTS.items():
        assert f"digest sha256:{hashlib.sha256(content.encode()).hexdigest()}" in printed
        assert f"path   {folder / name}" in printed


def test_one_failure_hides_no_other_seed(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["seed", campaign(folder, "gone.gguf")]) == 1

    told = capsys.readouterr()
    assert f"there is no file {folder / 'gone.gguf'}" in told.err
    assert f"path   {folder / 'm.gguf'}" in told.out
    assert f"path   {folder / 'd.json'}" in told.out


def test_a_host_that_no_arm_uses_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["seed", campaign(folder), "--host", "elsewhere"]) == 1

    assert "no arm of" in capsys.readouterr().err


def test_fresh_reads_files_again(folder: Path, capsys: pytest.CaptureFixture[str]):
    main(["seed", campaign(folder)])
    times = (folder / "m.gguf").stat().st_atime_ns, (folder / "m.gguf").stat().st_mtime_ns
    (folder / "m.gguf").write_bytes(b"x.gguf")
    os.utime(folder / "m.gguf", ns=times)

    main(["seed", campaign(folder), "--fresh"])

    assert hashlib.sha256(b"x.gguf").hexdigest() in capsys.readouterr().out
