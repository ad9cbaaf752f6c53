"""A server that is killed while a cell is measured on it, with the real load generator."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from benchgate.errors import MeasureFailed
from benchgate.hosts.process import ProcessHost
from benchgate.hosts.process_table import ProcessId
from benchgate.steps import server_life
from benchgate.steps.context import CampaignRun
from benchgate.steps.measuring import measure_cell
from benchgate.steps.planning import plan_run
from benchgate.steps.server_request import begin_launch
from tests.integration.process_host.conftest import answers, eventually, marked, spec

HOSTS = "hosts: {local: {kind: process, placements: {cpu: {}}}}\n"
CAMPAIGN = """
campaign: c
engine: llamacpp
model: {id: m, source: {folder: /models}}
arms: {a: {placement: local/cpu}}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 8, max_tokens: 4, users: [1], requests: 100000, warmup_requests: 0}
"""
ROOT = Path(__file__).resolve().parents[3]


def test_the_cell_ends_with_the_server_and_says_what_ended_it(
    host: ProcessHost, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (benchgate_home / "hosts.yaml").write_text(HOSTS)
    (benchgate_home / "c.yaml").write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_HOSTS", str(benchgate_home / "hosts.yaml"))
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: host)
    monkeypatch.setattr(server_life, "_LOOK_EVERY_S", 0.5)
    run = plan_run(benchgate_home / "c.yaml", "night-1")
    server = [sys.executable, "-m", "benchmarks.reference_server", "--port", "{port}", "--ttft-ms", "5"]
    handle = host.start(spec(argv=server, env={"PYTHONPATH": str(ROOT)}))
    eventually(lambda: answers(host, handle))
    begin_launch(run, "a@local/cpu")
    run.store.write_json(run.store.launch_path("a@local/cpu", "handle.json"), asdict(handle))
    cell = run.ledger.cells[0].cell
    progress = run.store.cell_path(cell, "progress.json")

    def kill_it(*_: object) -> None:
        state = host._state(handle)
        assert isinstance(state.server, ProcessId)
        os.kill(state.server.pid, signal.SIGKILL)

    monkeypatch.setattr("benchgate.steps.watching.in_words", kill_it)  # once requests are being answered

    with pytest.raises(MeasureFailed, match="the server ended while it was measured: killed: SIGKILL"):
        measure_cell(run, cell, say=lambda _text: None)

    record = run.cell_record(cell)
    assert record is not None
    assert record.state == "failed"
    assert run.store.exists(progress)
    assert run.store.exists(run.store.cell_path(cell, "requests.parquet"))
    host.stop(handle)
    assert marked(benchgate_home) == []
