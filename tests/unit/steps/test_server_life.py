"""A server that ends while a cell is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchgate.errors import HostError, MeasureFailed
from benchgate.hosts.base import ServerHandle, ServerStatus
from benchgate.records import CellRecord, ExitInfo, FailureKind, LaunchRecord
from benchgate.steps import launching, server_life
from benchgate.steps.context import CampaignRun
from benchgate.steps.measuring import measure_cell
from benchgate.warehouse.bundle import read_bundle
from tests.support.runs import all_published, requests_file, summary
from tests.unit.steps.test_starting_again import LAUNCH, run
from tests.unit.steps.test_tokenizing import Host as SilentHost
from tests.unit.steps.test_tokenizing import launch

__all__ = ["run"]  # the fixture
OOM = ExitInfo(exit_code=137, signal="SIGKILL", oom_killed=True)
Client = Callable[..., int]


class Host(SilentHost):
    """A host whose server ends when a test says so, and whose engine answers no question for a while."""

    def __init__(self) -> None:
        self.ended: ExitInfo | None = None
        self.unreachable = 0  # questions that are not answered yet
        self.log_is_gone = False
        self.log: list[bytes] = []
        self.refused = threading.Event()
        self.client_asked_to_stop = threading.Event()

    def status(self, _handle: ServerHandle) -> ServerStatus:
        if self.unreachable:
            self.unreachable -= 1
            if not self.unreachable:
                self.refused.set()
            raise HostError("the Docker Engine cannot be used: nothing listens there")
        return ServerStatus(self.ended is None, self.ended or ExitInfo())

    def log_lines(self, _handle: ServerHandle) -> Iterator[bytes]:
        if self.log_is_gone:
            raise HostError("the container is gone, and its log with it")
        return iter(self.log)

    def stop_client(self, _handle: ServerHandle) -> None:
        self.client_asked_to_stop.set()

    def stop(self, _handle: ServerHandle, grace_s: float = 0.0) -> ExitInfo:
        return ExitInfo()  # somebody removed it from outside


@pytest.fixture
def host(run: CampaignRun, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: made)
    monkeypatch.setattr(server_life, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(server_life, "_ASK_AGAIN_S", 0.01)
    launch(run)
    return made


def write_results(output: Path) -> None:
    (output / "summary.json").write_text(summary().model_dump_json())
    requests_file(output / "requests.parquet", 2)


def measured(run: CampaignRun, client: Client) -> tuple[CellRecord, LaunchRecord]:
    cell = run.ledger.cells[0].cell
    with suppress(MeasureFailed):
        measure_cell(run, cell, client=client, say=lambda _: None)
    record, launched = run.cell_record(cell), run.launch_record(LAUNCH)
    assert record is not None
    assert launched is not None
    return record, launched


def dying(host: Host, ended: ExitInfo, code: int = 0) -> Client:
    """A load generator under which the server ends; it goes on until it is asked to finish."""

    def client(_host: object, _handle: ServerHandle, _args: list[str], output: Path, **_: Any) -> int:
        host.ended = ended
        assert host.client_asked_to_stop.wait(10), "nobody ended the load generator"
        write_results(output)
        return code

    return client


@pytest.mark.parametrize("code", [0, 1, 130])
def test_its_load_generator_is_ended_and_the_cell_says_how_the_server_ended(
    run: CampaignRun, host: Host, code: int
) -> None:
    cell, launched = measured(run, dying(host, OOM, code))

    assert cell.state == "failed"
    assert str(cell.reason).startswith("the server ended while it was measured: host_oom: ")
    assert str(cell.reason).endswith("(exit code 137, OOMKilled, SIGKILL)")
    assert launched.exit == OOM
    assert launched.failure is not None
    assert launched.failure.kind is FailureKind.HOST_OOM


def test_the_exit_that_was_seen_stays_when_the_container_is_removed_before_its_stop(
    run: CampaignRun, host: Host
) -> None:
    measured(run, dying(host, OOM))
    host.log_is_gone = True

    launching.stop_server(run, LAUNCH, say=lambda _: None)

    launched = run.launch_record(LAUNCH)
    assert launched is not None
    assert launched.exit == OOM
    assert launched.stopped_at is not None


def test_what_was_measured_until_then_is_kept_and_not_loaded(run: CampaignRun, host: Host) -> None:
    cell, _ = measured(run, dying(host, OOM))

    assert run.store.exists(run.store.cell_path(cell.cell, "requests.parquet"))
    assert run.store.exists(run.store.cell_path(cell.cell, "summary.json"))
    assert read_bundle(run.store, gates=all_published(run.ledger)).requests == {}


def test_the_line_of_the_log_that_names_the_cause_is_told(run: CampaignRun, host: Host) -> None:
    host.log = [b"main: server is listening on http://127.0.0.1:1\n", b"CUDA error: out of memory\n"]

    cell, launched = measured(run, dying(host, ExitInfo(exit_code=1)))

    assert str(cell.reason).endswith("(exit code 1); log line 2: CUDA error: out of memory")
    assert launched.failure is not None
    assert launched.failure.evidence is not None
    assert (launched.failure.evidence.line, launched.failure.evidence.text) == (2, "CUDA error: out of memory")


def test_a_load_generator_that_fails_with_it_does_not_hide_the_server(run: CampaignRun, host: Host) -> None:
    def client(*_args: object, **_: object) -> int:
        host.ended = ExitInfo(exit_code=0)
        raise HostError("cannot join the network of a container that does not run")

    cell, _ = measured(run, client)

    assert "the server ended while it was measured: unknown: " in str(cell.reason)
    assert str(cell.reason).count("exit code 0") == 1


def test_a_server_that_ends_after_the_last_request_is_no_less_gone(run: CampaignRun, host: Host) -> None:
    def client(_host: object, _handle: ServerHandle, _args: list[str], output: Path, **_: Any) -> int:
        write_results(output)
        host.ended = ExitInfo(signal="SIGTERM")
        return 0

    cell, _ = measured(run, client)

    assert (cell.state, str(cell.reason).partition(";")[0]) == (
        "failed",
        "the server ended while it was measured: killed: SIGTERM ended the server from outside and its log names no "
        "cause",
    )


def test_one_that_was_removed_with_its_log_ended_and_nobody_knows_how(run: CampaignRun, host: Host) -> None:
    host.log_is_gone = True

    cell, _ = measured(run, dying(host, ExitInfo()))

    assert "the server ended while it was measured: unknown: " in str(cell.reason)


def test_the_next_cell_says_of_the_server_that_is_gone_how_it_ended(run: CampaignRun, host: Host) -> None:
    host.ended = OOM

    cell, launched = measured(run, dying(host, OOM))

    assert "the server is gone: host_oom: " in str(cell.reason)
    assert launched.failure is not None
    assert launched.failure.kind is FailureKind.HOST_OOM


def test_a_server_that_we_stopped_ourselves_died_of_nothing(run: CampaignRun, host: Host) -> None:
    def client(_host: object, _handle: ServerHandle, _args: list[str], output: Path, **_: Any) -> int:
        launching.stop_server(run, LAUNCH, say=lambda _: None)  # somebody marked the run as failed
        host.ended = ExitInfo(exit_code=0)
        write_results(output)
        return 0

    cell, launched = measured(run, client)

    assert cell.reason == "the server ended while it was measured: it was stopped, because its run was ended"
    assert launched.failure is None


def test_an_engine_that_restarts_is_no_server_that_ended(run: CampaignRun, host: Host) -> None:
    def client(_host: object, _handle: ServerHandle, _args: list[str], output: Path, **_: Any) -> int:
        host.unreachable = 3
        assert host.refused.wait(10), "nobody looked at the server while it was measured"
        write_results(output)
        host.unreachable = 2  # and again as the load generator has just ended
        return 0

    cell, _ = measured(run, client)

    assert cell.state == "measured"
    assert not host.client_asked_to_stop.is_set()


def test_a_load_generator_that_fails_beside_a_server_that_runs_says_so_itself(run: CampaignRun, host: Host) -> None:
    def client(*_args: object, **_: object) -> int:
        raise MeasureFailed("the load generator ran longer than 4 s and was stopped")

    cell, launched = measured(run, client)

    assert cell.reason == "the load generator ran longer than 4 s and was stopped"
    assert launched.exit is None
