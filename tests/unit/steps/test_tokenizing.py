"""A server that cannot tokenize is asked by the first cell of a launch, and by no later one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.hosts.base import ServerHandle, ServerStatus
from benchgate.records import ExitInfo
from benchgate.steps.context import CampaignRun
from benchgate.steps.measuring import measure_cell
from benchgate.steps.server_request import begin_launch
from tests.support.runs import requests_file, summary
from tests.unit.steps.test_starting_again import LAUNCH, run

__all__ = ["run"]  # the fixture
HANDLE = ServerHandle("here", "cpu", "lease", "2", "http://127.0.0.1:1", "2026-11-30T00:00:00Z")
WHY = "it answered 500: Integer exceeds 64-bit range"


class Host:
    """A host with a server that says nothing."""

    def status(self, _handle: ServerHandle) -> ServerStatus:
        return ServerStatus(True, ExitInfo())

    def log_lines(self, _handle: ServerHandle) -> Iterator[bytes]:
        return iter(())

    def log_tail(self, _handle: ServerHandle, lines: int) -> list[bytes]:
        return []

    def http_get(self, _handle: ServerHandle, _path: str, **_: object) -> tuple[int, bytes]:
        return 404, b""


def measured(run: CampaignRun, says: str | None) -> list[str]:
    """The arguments with which a load generator was started that met a server saying this."""
    started: list[str] = []

    def client(_host: object, _handle: ServerHandle, args: list[str], output: Path, **_: object) -> int:
        started.extend(args)
        (output / "summary.json").write_text(summary(tokenize_refused=says).model_dump_json())
        requests_file(output / "requests.parquet", 2)
        return 0

    measure_cell(run, run.ledger.cells[0].cell, client=client, say=lambda _: None)
    return started


def launch(run: CampaignRun) -> None:
    """An attempt that started its server."""
    begin_launch(run, LAUNCH)
    run.store.write_json(run.store.launch_path(LAUNCH, "handle.json"), HANDLE.__dict__)


@pytest.fixture
def launched(run: CampaignRun, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: Host())
    launch(run)
    return run


def test_what_the_server_said_is_kept_for_the_launch_and_given_to_later_cells(launched: CampaignRun) -> None:
    first, second = measured(launched, WHY), measured(launched, WHY)

    assert "--tokenize-refused" not in first
    assert second[second.index("--tokenize-refused") + 1] == WHY
    record = launched.launch_record(LAUNCH)
    assert record is not None
    assert record.tokenize_refused == WHY


def test_a_new_attempt_asks_again(launched: CampaignRun) -> None:
    measured(launched, WHY)
    launch(launched)

    assert "--tokenize-refused" not in measured(launched, None)


def test_a_server_that_counts_is_asked_by_every_cell(launched: CampaignRun) -> None:
    measured(launched, None)

    assert "--tokenize-refused" not in measured(launched, None)
