"""What is kept of servers whose containers are gone."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from benchgate.hosts import docker_ended
from benchgate.records import ExitInfo


def test_the_newest_launches_of_a_placement_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
    for number in range(docker_ended.KEEP + 1):
        docker_ended.keep("lease", f"c{number}", [b"said\n"], ExitInfo(exit_code=number))

    assert docker_ended.exit_of("lease", "c0") is None
    assert docker_ended.log_of("lease", "c0") is None
    assert docker_ended.exit_of("lease", f"c{docker_ended.KEEP}") == ExitInfo(exit_code=docker_ended.KEEP)


def test_what_just_ended_is_kept_where_the_clock_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGATE_HOME", str(tmp_path))
    for number in range(docker_ended.KEEP):
        docker_ended.keep("lease", f"c{number}", [], ExitInfo(exit_code=0))
    ahead = time.time() + 7200
    for path in tmp_path.rglob("*.json"):
        os.utime(path, (ahead, ahead))

    docker_ended.keep("lease", "now", [b"last words\n"], ExitInfo(exit_code=1))

    assert docker_ended.exit_of("lease", "now") == ExitInfo(exit_code=1)
    assert list(docker_ended.log_of("lease", "now") or ()) == [b"last words\n"]
