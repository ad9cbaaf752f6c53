"""The load generator as a child of the measuring task: its lines streamed, its end never outlived."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import benchgate
from benchgate import secrets
from benchgate.errors import MeasureFailed
from benchgate.hosts import process_child
from benchgate.hosts.process_table import LEASE_MARK

WIND_DOWN_S = 20.0  # after SIGINT the client still writes what it has measured

_running: dict[str, subprocess.Popen[bytes]] = {}  # mark of a lease -> the client that this process runs beside it


def run_client(args: list[str], output: Path, *, mark: str, on_line: Callable[[str], None], timeout_s: float) -> int:
    """Run ``python -m benchgate ARGS --output DIR`` and return its exit code.

    It is asked to finish (SIGINT) when ``timeout_s`` is over or this call is interrupted, then killed with everything
    it started. It dies with this process (the kernel sees to it) and with its lease (it carries ``mark``).

    Raises:
        MeasureFailed: it ran past ``timeout_s``.
    """
    output.mkdir(parents=True, exist_ok=True)
    package = str(Path(benchgate.__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH")
    env = os.environ | {
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": f"{package}{os.pathsep}{path}" if path else package,
        LEASE_MARK: mark,
    }
    client = subprocess.Popen(
        [
            *(sys.executable, "-I", "-S", process_child.__file__, str(os.getpid()), "-"),
            *(sys.executable, "-m", "benchgate", *args, "--output", str(output)),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env,
        start_new_session=True,  # Ctrl-C of a terminal reaches us, and we decide what the client gets
    )
    _running[mark] = client
    late = threading.Event()

    def too_late() -> None:
        late.set()
        _end(client)

    timer = threading.Timer(timeout_s, too_late)
    timer.daemon = True
    timer.start()
    try:
        assert client.stdout is not None
        for line in client.stdout:
            on_line(secrets.mask(line.decode(errors="replace").rstrip("\r\n")))
        code = client.wait()
    finally:
        timer.cancel()
        _end(client)
        _running.pop(mark, None)
    if late.is_set():
        raise MeasureFailed(
            f"the load generator ran longer than {timeout_s:g} s and was stopped",
            remedy="its own time cap (max_seconds) should end it earlier; is this machine overloaded?",
        )
    return code


def stop_own(mark: str) -> None:
    """Let the client that this process runs beside the lease with ``mark`` finish, then end it; nobody else's."""
    client = _running.get(mark)
    if client is not None:
        _end(client)


def _end(client: subprocess.Popen[bytes]) -> None:
    """Ask, wait, kill; and kill what it left in its process group."""
    if client.poll() is None:
        _signal(client.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(WIND_DOWN_S)
    _signal(client.pid, signal.SIGKILL)
    client.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
