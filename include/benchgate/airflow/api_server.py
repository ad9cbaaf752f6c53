"""An API server for one DAG run: with it, tasks are processes of an executor and run at the same time.

``dag.test()`` alone runs one task after the other; two arms on two placements would only take turns.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from benchgate.errors import BenchgateError
from benchgate.hosts import process_child

_START_S = 180.0  # 15 s on an idle machine
_END_S = 5.0


def use_a_server_of_its_own() -> int:
    """Point this process, and what it starts, at an API server on a free port of this machine; gives the port.

    Call it before Airflow is imported: the address and the key that signs tokens come from the environment.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    os.environ.update(
        {
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
            "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
            # one server process on a machine that is measuring: 5 s, the default, failed tasks for being slow
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "60",
        }
    )
    return port


@contextmanager
def api_server(port: int) -> Iterator[None]:
    """The server, for as long as the ``with`` block lasts; it dies with this process.

    Raises:
        BenchgateError: it ended, or did not answer in time.
    """
    server = subprocess.Popen(
        [
            *(sys.executable, process_child.__file__, str(os.getpid()), "-"),
            *(sys.executable, "-m", "airflow", "api-server"),
        ],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING"},
    )
    try:
        _wait(server, port)
        yield
    finally:
        server.terminate()
        try:
            server.wait(_END_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_S
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy between us and this machine
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise BenchgateError(f"Airflow's API server ended with exit code {server.returncode} before it answered")
        try:
            with opener.open(f"http://127.0.0.1:{port}/api/v2/monitor/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise BenchgateError(f"Airflow's API server did not answer on port {port} within {_START_S:g} s")
