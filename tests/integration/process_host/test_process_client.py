"""The load generator as a child: its lines, its exit code, and every way in which it must not outlive its caller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchgate import secrets
from benchgate.errors import MeasureFailed
from benchgate.hosts import process_client
from benchgate.hosts.base import ServerHandle
from benchgate.hosts.process import ProcessHost
from tests.integration.process_host.conftest import eventually, marked


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Takes every request and never answers the ones that matter."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"data": [{"id": "m"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            over.wait(120)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    over.set()
    server.shutdown()
    server.server_close()


def handle(base_url: str) -> ServerHandle:
    return ServerHandle("local", "cpu", "benchgate-local-cpu", "1-1", base_url, "2026-11-30T00:00:00Z")


def bench(base_url: str, seconds: int = 60) -> list[str]:
    return [
        *("bench", "--base-url", base_url, "--dataset", "synthetic", "--prompt-tokens", "64", "--max-tokens", "8"),
        *("--concurrency", "1", "--max-seconds", str(seconds), "--warmup", "0", "--progress", "json"),
    ]


def test_lines_arrive_masked_and_the_exit_code_comes_back(host: ProcessHost, tmp_path: Path):
    lines: list[str] = []
    secrets.register("http-word-hush")

    code = host.run_client(
        handle("http://127.0.0.1:1"),
        ["bench", "--base-url", "http://127.0.0.1:1/http-word-hush", "--no-such-option"],
        tmp_path / "out",
        on_line=lines.append,
        timeout_s=60,
    )

    assert code == 2
    assert any("unrecognized arguments: --no-such-option" in line for line in lines)
    assert not any("http-word-hush" in line for line in lines)
    assert (tmp_path / "out").is_dir()


def test_a_client_that_runs_too_long_is_ended_and_said_so(
    host: ProcessHost, silent_server: str, tmp_path: Path, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process_client, "WIND_DOWN_S", 3.0)

    with pytest.raises(MeasureFailed, match="ran longer than 4 s"):
        host.run_client(
            handle(silent_server), bench(silent_server), tmp_path / "out", on_line=lambda _line: None, timeout_s=4
        )

    assert marked(benchgate_home) == []


def test_an_interrupted_caller_leaves_no_client(
    host: ProcessHost, silent_server: str, tmp_path: Path, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(process_client, "WIND_DOWN_S", 3.0)

    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        host.run_client(handle(silent_server), bench(silent_server), tmp_path / "out", on_line=interrupt, timeout_s=60)

    assert marked(benchgate_home) == []


def test_a_killed_caller_takes_its_client_along(silent_server: str, tmp_path: Path, benchgate_home: Path):
    script = (
        "import sys; from pathlib import Path\n"
        "from benchgate.hosts.process import ProcessHost\n"
        "from tests.integration.process_host.test_process_client import bench, handle\n"
        "url = sys.argv[1]\n"
        "ProcessHost('local').run_client(handle(url), bench(url), Path(sys.argv[2]), on_line=print, timeout_s=60)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    caller = subprocess.Popen([sys.executable, "-c", script, silent_server, str(tmp_path / "out")], env=env)
    eventually(lambda: marked(benchgate_home), within_s=60)

    os.kill(caller.pid, signal.SIGKILL)
    caller.wait()

    eventually(lambda: marked(benchgate_home) == [])
