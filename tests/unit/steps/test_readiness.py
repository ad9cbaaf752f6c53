"""Waiting for a server: what ends it, what it is waited for, and what the launch's record says then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchgate.errors import HostError, LaunchFailed
from benchgate.hosts.base import OUTAGE_S, ServerHandle, ServerStatus
from benchgate.records import ExitInfo, LaunchRecord
from benchgate.steps import readiness
from benchgate.steps.context import CampaignRun
from benchgate.steps.server_request import begin_launch
from tests.unit.steps.test_starting_again import LAUNCH, run

__all__ = ["run"]  # the fixture
HANDLE = ServerHandle("here", "cpu", "lease", "2", "http://127.0.0.1:1", "2026-11-30T00:00:00Z")
CHAT = b'{"choices": [{"message": {"content": "hello"}}]}'
GONE = HostError("host here: container lease is gone, and its log with it")
AWAY = HostError("host here: the Docker Engine cannot be used: nothing listens there", remedy="start Docker")


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Host:
    """A host on which a test decides what happens when."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._began = clock, clock.now
        self.state: Callable[[float], bool] = lambda _after: True
        self.health: Callable[[float], int] = lambda _after: 200
        self.chat: Callable[[float], tuple[int, bytes]] = lambda _after: (200, CHAT)
        self.log: list[bytes] = [b"starting\n"]
        self.exit = ExitInfo()
        self.log_error: HostError | None = None

    def _after(self) -> float:
        return self._clock.now - self._began

    def status(self, _handle: ServerHandle) -> ServerStatus:
        running = self.state(self._after())
        return ServerStatus(running, ExitInfo() if running else self.exit)

    def log_lines(self, _handle: ServerHandle) -> Iterator[bytes]:
        if self.log_error is not None:
            raise self.log_error
        return iter(self.log)

    def log_tail(self, _handle: ServerHandle, lines: int) -> list[bytes]:
        return self.log[-lines:]

    def http_get(self, _handle: ServerHandle, _path: str, *, timeout_s: float) -> tuple[int, bytes]:
        assert timeout_s > 0
        return self.health(self._after()), b""

    def http_post(self, _handle: ServerHandle, _path: str, body: bytes, *, timeout_s: float) -> tuple[int, bytes]:
        assert b'"messages"' in body
        assert timeout_s > 0
        return self.chat(self._after())


@pytest.fixture
def host(run: CampaignRun, monkeypatch: pytest.MonkeyPatch) -> Host:
    """The host of a launch that was started."""
    clock = Clock()
    made = Host(clock)
    monkeypatch.setattr(readiness, "time", clock)
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: made)
    begin_launch(run, LAUNCH)
    run.store.write_json(run.store.launch_path(LAUNCH, "handle.json"), HANDLE.__dict__)
    return made


def failed(run: CampaignRun) -> tuple[LaunchRecord, LaunchFailed]:
    """The record of a launch that does not become ready, and its error."""
    with pytest.raises(LaunchFailed) as caught:
        readiness.wait_ready(run, LAUNCH, say=lambda _: None)
    record = run.launch_record(LAUNCH)
    assert record is not None
    assert record.failure is not None
    assert record.end_state == "failed"
    return record, caught.value


def test_a_server_is_ready_when_a_chat_came_back(run: CampaignRun, host: Host) -> None:
    host.health = lambda after: 200 if after >= 3 else 503
    host.chat = lambda after: (200, CHAT) if after >= 7 else (503, b"loading")

    record = readiness.wait_ready(run, LAUNCH, say=lambda _: None)

    assert (record.end_state, record.startup_s) == ("ready", 7.0)


def test_a_healthy_server_whose_first_chat_fails_never_is_ready(run: CampaignRun, host: Host) -> None:
    missing = b'{"error": {"message": "error downloading or loading vocab file: failed to download", "code": 500}}'
    host.chat = lambda _after: (500, missing)

    record, _ = failed(run)

    assert record.failure is not None
    assert record.failure.kind == "timeout"
    assert "last seen: the first chat answered 500" in record.failure.reason
    assert "vocab file" in record.failure.reason


def test_a_server_that_ends_ends_the_wait_at_once_with_its_root_cause(run: CampaignRun, host: Host) -> None:
    host.health = lambda _after: 503
    host.state = lambda after: after < 2
    host.exit = ExitInfo(exit_code=1)
    host.log = [b"starting\n", b"error: unrecognized arguments: --moe-backend\n"]

    record, error = failed(run)

    assert record.failure is not None
    assert record.failure.kind == error.kind == "bad_flag"
    assert error.line == "error: unrecognized arguments: --moe-backend"
    assert record.exit == ExitInfo(exit_code=1)
    assert run.store.exists(run.store.launch_path(LAUNCH, "server.log.gz"))


def test_an_engine_that_restarts_is_waited_for(run: CampaignRun, host: Host) -> None:
    def state(after: float) -> bool:
        if 2 <= after < 2 + OUTAGE_S / 2:
            raise AWAY
        return True

    host.state = state
    host.health = lambda after: 200 if after >= OUTAGE_S else 503

    assert readiness.wait_ready(run, LAUNCH, say=lambda _: None).end_state == "ready"


def test_a_host_that_stays_away_is_given_up_and_named(run: CampaignRun, host: Host) -> None:
    def state(after: float) -> bool:
        if after >= 2:
            raise AWAY
        return True

    host.state, host.health = state, lambda _after: 503

    record, _ = failed(run)

    assert record.failure is not None
    assert record.failure.reason == str(AWAY)
    assert host._after() < OUTAGE_S + 10


@pytest.mark.parametrize("how", ["removed", "away"])
def test_a_server_of_which_nobody_can_tell_is_told_of_all_the_same(run: CampaignRun, host: Host, how: str) -> None:
    host.health = lambda _after: 503
    host.state = lambda after: after < 2
    host.log_error = GONE if how == "removed" else AWAY

    record, _ = failed(run)

    assert record.failure is not None
    assert record.failure.reason == str(host.log_error)


def test_a_harmony_parser_that_dislikes_an_answer_is_ready(run: CampaignRun, host: Host) -> None:
    words: Any = b'{"error": {"message": "Unexpected token 200002 while expecting start token 200006", "code": 500}}'
    host.chat = lambda _after: (500, words)

    assert readiness.wait_ready(run, LAUNCH, say=lambda _: None).end_state == "ready"
