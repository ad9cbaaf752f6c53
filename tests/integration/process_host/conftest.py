"""A process host with private state, and nothing left running after a test."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchgate.errors import HostError
from benchgate.hosts.base import ServerHandle, ServerSpec
from benchgate.hosts.process import ProcessHost
from benchgate.hosts.process_table import LEASE_MARK, environment, every

DUMMY = Path(__file__).with_name("dummy_server.py")


def eventually(what: Callable[[], object], within_s: float = 15.0) -> object:
    """Wait until ``what`` is true; a limit for hangs, not a claim about speed."""
    deadline = time.monotonic() + within_s
    while not (value := what()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return value


def marked(home: Path) -> list[int]:
    """Processes that carry the mark of a lease under ``home``."""
    return [p.id.pid for p in every() if str(home) in environment(p.id.pid).get(LEASE_MARK, "")]


@pytest.fixture
def host(benchgate_home: Path) -> Iterator[ProcessHost]:
    host = ProcessHost("local")
    yield host
    host.reap(run_is_over=lambda _run: True)
    left = marked(benchgate_home)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == [], "the test left processes that reap did not find"


def spec(*flags: str, **changes) -> ServerSpec:
    """A dummy server on any free port."""
    values = {
        "campaign": "tiny",
        "run": "tiny.night-1",
        "arm": "plain",
        "placement": "cpu",
        "argv": [sys.executable, str(DUMMY), "--port", "{port}", *flags],
        "env": {},
        "port": 0,
        "owner_pid": os.getpid(),
    }
    return ServerSpec(**(values | changes))


def answers(host: ProcessHost, handle: ServerHandle) -> bool:
    try:
        return host.http_get(handle, "/health", timeout_s=2)[0] == 200
    except HostError:
        assert host.status(handle).running, b"".join(host.log_lines(handle)).decode()
        return False
