"""A start that is tried again alone: a new attempt, on nothing of the last one but what preflight saw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchgate.errors import LeaseHeld
from benchgate.hosts.base import ServerHandle, ServerSpec
from benchgate.records import CellRecord, Evidence, ExitInfo, Failure, FailureKind, HostFacts, Proof
from benchgate.steps import launching, planning
from benchgate.steps.context import CampaignRun
from benchgate.steps.server_request import begin_launch

HOSTS = "hosts: {here: {kind: process, placements: {cpu: {}}}}\n"
CAMPAIGN = """
campaign: c
engine: llamacpp
model: {id: m, source: {folder: /models}}
arms: {a: {placement: here/cpu}}
workloads: {chat: {dataset: synthetic, prompt_tokens: 8, max_tokens: 4, users: [1], requests: 2}}
"""
LAUNCH = "a@here/cpu"


class Host:
    """Holds one lease, as a host does whose worker was killed."""

    def __init__(self) -> None:
        self.held = True
        self.asked: list[tuple[str, str]] = []

    def remove_earlier(self, spec: ServerSpec) -> list[str]:
        self.asked.append((spec.run, spec.arm))
        was, self.held = self.held, False
        return ["server of before"] if was else []

    def start(self, spec: ServerSpec) -> ServerHandle:
        if self.held:
            raise LeaseHeld("held by itself")
        self.held = True
        return ServerHandle("here", "cpu", "lease", "2", "http://127.0.0.1:1", "2026-11-30T00:00:00Z")


@pytest.fixture
def run(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    """A planned run whose model is seeded."""
    (benchgate_home / "hosts.yaml").write_text(HOSTS)
    (benchgate_home / "c.yaml").write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))
    made = planning.plan_run(benchgate_home / "c.yaml", "night-1")
    made.save_seeds(made.seeds("here").model_copy(update={"models": {"m@main": "/models/m.gguf"}}))
    return made


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host()
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: made)
    return made


def test_a_start_whose_worker_was_killed_takes_its_lease_back(run: CampaignRun, host: Host) -> None:
    said: list[str] = []
    host.held = False
    launching.start_server(run, LAUNCH, say=said.append)  # and the worker is killed before it can say so

    handle = launching.start_server(run, LAUNCH, say=said.append)

    record = run.launch_record(LAUNCH)
    assert record is not None
    assert (record.attempt, record.end_state, handle.id) == (2, "starting", "2")
    assert host.asked == [(run.run, "a")] * 2
    assert [line for line in said if "left" in line] == [
        "removed what an earlier try of this launch left: server of before"
    ]


def test_nothing_that_was_proven_of_the_last_attempt_is_inherited(run: CampaignRun, host: Host) -> None:
    host.held = False
    launching.start_server(run, LAUNCH, say=lambda _: None)
    facts = HostFacts(host="here", kind="process", cpu_model="x", cpu_count=2)
    proof = Proof(name="threads", value=1, evidence=Evidence(line=1, text="n_threads = 1"))
    ended: dict[str, Any] = {
        "host_facts": facts,
        "proofs": [proof],
        "fingerprint": "fp1:x",
        "end_state": "failed",
        "failure": Failure(kind=FailureKind.KILLED, reason="killed"),
        "exit": ExitInfo(exit_code=137),
        "ready_at": "2026-11-30T00:00:00Z",
        "stopped_at": "2026-11-30T00:00:00Z",
    }
    run.update_launch(LAUNCH, **ended)

    launching.start_server(run, LAUNCH, say=lambda _: None)

    record = run.launch_record(LAUNCH)
    assert record is not None
    assert (record.end_state, record.failure, record.exit, record.fingerprint) == ("starting", None, None, None)
    assert (record.proofs, record.ready_at, record.stopped_at) == ([], None, None)
    assert record.host_facts == facts  # of its preflight


@pytest.mark.parametrize("begin", ["preflight", "start_server"])
def test_nothing_that_was_measured_in_the_last_attempt_is_inherited(run: CampaignRun, host: Host, begin: str) -> None:
    host.held = False
    launching.start_server(run, LAUNCH, say=lambda _: None)
    (cell,) = run.cells_of(LAUNCH)
    measured = CellRecord(**cell.model_dump(), state="measured")
    run.save_cell(measured)
    left = ("progress.json", "summary.json", "requests.parquet")
    for name in left:
        run.store.write_text(run.store.cell_path(cell.cell, name), "{}")

    if begin == "preflight":  # the whole launch was cleared
        begin_launch(run, LAUNCH)
    else:
        launching.start_server(run, LAUNCH, say=lambda _: None)

    record = run.launch_record(LAUNCH)
    assert record is not None
    assert record.attempt == 2
    assert run.cell_record(cell.cell) is None
    assert [name for name in left if run.store.exists(run.store.cell_path(cell.cell, name))] == []
    assert (launching.handle_of(run, LAUNCH) is None) == (begin == "preflight")


def test_a_first_start_is_the_first_attempt(run: CampaignRun, host: Host) -> None:
    host.held = False

    launching.start_server(run, LAUNCH, say=lambda _: None)

    record = run.launch_record(LAUNCH)
    assert record is not None
    assert record.attempt == 1
