"""A kind of store whose client library is not installed is told, not traced, by every command that needs it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchgate import cli


@pytest.mark.skipif(importlib.util.find_spec("gcsfs") is not None, reason="gcsfs is installed here")
@pytest.mark.parametrize("command", [["warehouse", "load", "x.y"], ["housekeeping"]])
def test_a_store_without_its_library_is_one_line(
    command: list[str], benchgate_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BENCHGATE_ARTIFACTS", "gs://bucket/prefix")
    hosts = benchgate_home / "hosts.yaml"
    hosts.write_text("hosts: {here: {kind: process, placements: {one: {}}}}\n")
    if command == ["housekeeping"]:
        command = ["housekeeping", "--hosts", str(hosts)]

    assert cli.main(command) == 1

    said = capsys.readouterr().err
    assert "cannot be opened" in said
    assert "gcsfs" in said
    assert said.count("\n") == 1
