"""The end of a running server's log, kept for whoever watches the run."""

from __future__ import annotations

import json
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from benchgate import secrets
from benchgate.errors import HostError
from benchgate.hosts.base import ServerHandle
from benchgate.steps.context import CampaignRun
from benchgate.steps.log_tail import FILE, LINES, LONGEST_LINE, keeping_log_tail, shown

HANDLE = ServerHandle(host="here", placement="cpu", name="c", id="1", base_url="", started_at="")


class Talking:
    """A host whose server says one more thing at each look; ``refuse`` looks fail first."""

    def __init__(self, refuse: int = 0) -> None:
        self.looks, self.refuse, self.asked = 0, refuse, set[int]()
        self.three = threading.Event()

    def log_tail(self, handle: ServerHandle, lines: int) -> list[bytes]:
        self.looks += 1
        self.asked.add(lines)
        if self.looks >= 3:
            self.three.set()
        if self.looks <= self.refuse:
            raise HostError("the engine does not answer")
        return [b"look %d\n" % self.looks]


def _kept(home: Path) -> Any:
    files = list(home.rglob(FILE))
    return json.loads(files[0].read_text()) if files else None


def _watch(host: Any) -> AbstractContextManager[None]:
    return keeping_log_tail(CampaignRun("mini.run"), "arm@here/cpu", host, HANDLE, every_s=0.01)


def test_it_is_renewed_while_something_goes_on_and_once_more_at_the_end(benchgate_home: Path) -> None:
    host = Talking()
    with _watch(host):
        assert host.three.wait(10)
        before = host.looks

    kept = _kept(benchgate_home)
    assert kept["lines"] == [f"look {host.looks}"]
    assert host.looks > before
    assert host.asked == {LINES}
    assert kept["at"].startswith("20")


def test_a_host_that_does_not_answer_disturbs_nothing_and_is_asked_again(benchgate_home: Path) -> None:
    host = Talking(refuse=2)
    with _watch(host):
        assert host.three.wait(10)

    assert _kept(benchgate_home)["lines"] == [f"look {host.looks}"]


def test_what_ends_the_work_goes_on_its_way(benchgate_home: Path) -> None:
    with pytest.raises(KeyboardInterrupt), _watch(Talking()):
        raise KeyboardInterrupt


def test_secrets_are_masked_and_long_lines_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", {"s3cret-of-mine"})

    assert shown(b"token s3cret-of-mine and hf_abcdefghijkl\r\n") == "token *** and ***"
    assert shown(b"x" * (LONGEST_LINE + 1)) == "x" * LONGEST_LINE + " …"
    assert shown(b"x" * LONGEST_LINE + b"\n") == "x" * LONGEST_LINE


def test_a_progress_bar_is_its_newest_state() -> None:
    assert shown(b"  0% |    |\r 50% |##  |\r100% |####|\n") == "100% |####|"


def test_bytes_that_are_no_text_are_kept_as_replacement_signs() -> None:
    assert shown(b"\xff ok\n") == "\ufffd ok"
