"""``python -m benchgate bench`` as a user starts, watches and interrupts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from benchgate.client.requests_file import read_requests
from benchgate.metrics.summary import summarise
from tests.support.reference_server import RunningServer

ROOT = Path(__file__).resolve().parents[3]
KEYS = {
    *("completed", "errors", "cut_off", "error_kinds", "prompt_tokens", "completion_tokens", "duration_s"),
    *("prefill_tok_s", "decode_tok_s", "error_rate", "ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "latency_verdict"),
    *("client_name", "client_version", "metric_definition", "token_count_source"),
}


def command(server: RunningServer, *options: str) -> list[str]:
    base = ["--base-url", server.base_url, "--model", "steady", "--prompt-tokens", "40", "--max-tokens", "16"]
    return [sys.executable, "-m", "benchgate", "bench", *base, *options]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "include"), "NO_PROXY": "127.0.0.1"}


def run(server: RunningServer, *options: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(server, *options), env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture
def endless(reference_server: RunningServer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of two processes that nobody but a signal ends, past its first seconds."""
    options = ["--num-prompts", "100000", "--concurrency", "4", "--processes", "2", "--progress", "json"]
    process = subprocess.Popen(
        command(reference_server, *options, "--output", str(tmp_path / "out")),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(2):
        assert json.loads(process.stdout.readline())["planned"] == 100000
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_the_result_folder_holds_a_summary_and_the_requests_it_comes_from(
    reference_server: RunningServer, tmp_path: Path
) -> None:
    done = run(reference_server, "--num-prompts", "12", "--concurrency", "2", "--output", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "12 completed, 0 errors" in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(summary) >= KEYS
    assert set(summary["queue_ms"]) == {"p50", "p90", "p95", "p99", "mean", "n"}
    records, facts = read_requests(tmp_path / "out" / "requests.parquet")
    again = summarise(records, facts)
    assert again.completion_tokens == summary["completion_tokens"] == 12 * 16
    assert again.latency_verdict == summary["latency_verdict"]  # whichever: the machine may be busy
    assert (again.ttft_ms is None) == (summary["ttft_ms"] is None)
    if again.ttft_ms is not None:
        assert again.ttft_ms.p99 == pytest.approx(summary["ttft_ms"]["p99"], abs=1e-3)


def test_repeats_have_a_folder_each_and_other_prompts(reference_server: RunningServer, tmp_path: Path) -> None:
    done = run(reference_server, "--num-prompts", "4", "--repeats", "2", "--warmup", "0", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r1", "r2"]


def test_json_progress_is_all_that_stdout_carries(reference_server: RunningServer) -> None:
    done = run(reference_server, "--num-prompts", "12", "--progress", "json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert set(lines[0]) == {"done", "planned", "tok_s", "errors", "elapsed_s", "eta_s"}
    assert lines[-1]["done"] == 12
    assert "12 completed" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_keeps_what_was_measured(
    endless: subprocess.Popen[str], number: signal.Signals, tmp_path: Path
) -> None:
    os.killpg(endless.pid, number)
    _, errors = endless.communicate(timeout=30)
    assert endless.returncode == 0, errors
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["stopped_by"] == "interrupt"
    assert summary["completed"] > 0
    assert summary["errors"] == 0


def test_an_interrupt_while_processes_start_is_no_failure_of_theirs(reference_server: RunningServer) -> None:
    starting = subprocess.Popen(
        command(reference_server, "--num-prompts", "100000", "--concurrency", "4", "--processes", "4"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not psutil.Process(starting.pid).children():
        time.sleep(0.001)
    os.killpg(starting.pid, signal.SIGINT)
    said, _ = starting.communicate(timeout=30)
    assert "client process" not in said
    assert "Traceback" not in said
    assert "stopped by interrupt" in said


def test_a_killed_client_leaves_no_process_behind(endless: subprocess.Popen[str]) -> None:
    children = psutil.Process(endless.pid).children(recursive=True)
    assert len(children) == 2
    endless.kill()
    endless.wait()
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []


def test_an_interrupt_before_anything_was_measured_says_so(tmp_path: Path, reference_server: RunningServer) -> None:
    silent = command(reference_server, "--num-prompts", "4", "--warmup", "0")
    silent[silent.index("steady")] = "stall_silent"
    process = subprocess.Popen(silent, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert process.returncode in (0, 130)
    assert "Traceback" not in out + errors


def test_what_failed_is_printed_by_its_kind(reference_server: RunningServer) -> None:
    options = command(reference_server, "--num-prompts", "4", "--warmup", "0")
    options[options.index("steady")] = "http_503"
    done = subprocess.run(options, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "http_5xx x 4: HTTP 503" in done.stdout


def test_a_run_in_which_nothing_succeeded_keeps_its_results_and_ends_with_1(
    reference_server: RunningServer, tmp_path: Path
) -> None:
    options = ["--num-prompts", "3", "--output", str(tmp_path), "--model", "http_500"]

    ended = run(reference_server, *options)

    assert ended.returncode == 1
    assert "error: none of 3 requests succeeded: http_5xx: HTTP 500" in ended.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["completed"], summary["errors"]) == (0, 3)
    assert (tmp_path / "requests.parquet").exists()
