"""A reference server as a subprocess on a free port, and its truth."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reference_server.truth import RequestTruth, from_json

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class RunningServer:
    """A reference server that answers. ``base_url`` has no ``/v1``."""

    base_url: str
    process: subprocess.Popen[str]

    def _call(self, path: str, method: str = "GET", body: object = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base_url + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never through a proxy
        with opener.open(request, timeout=120) as response:
            return bytes(response.read())

    def truth(self) -> list[RequestTruth]:
        """Every completion request so far, in order of arrival."""
        return from_json(self._call("/truth"))

    def wait_for_truth(self, requests: int, timeout_s: float = 10.0) -> list[RequestTruth]:
        """The truth once so many requests have ended on the server's side."""
        deadline = time.monotonic() + timeout_s
        while True:
            found = self.truth()
            if sum(request.ended is not None for request in found) >= requests or time.monotonic() > deadline:
                return found
            time.sleep(0.02)

    def forget(self) -> None:
        """Start the truth afresh."""
        self._call("/truth", "DELETE")

    def post(self, path: str, body: object) -> bytes:
        """A plain POST, for tests of the server itself."""
        return self._call(path, "POST", body)

    def get(self, path: str) -> bytes:
        """A plain GET."""
        return self._call(path)

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(*options: str, prefix: tuple[str, ...] = ()) -> RunningServer:
    """Start a server with command-line options; the caller stops it.

    Args:
        prefix: what stands before the command, e.g. ``("taskset", "-c", "0")``.

    Raises:
        RuntimeError: it did not come up.
    """
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'include'}"}
    command = [*prefix, sys.executable, "-m", "benchmarks.reference_server", *options]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline() if process.stdout else ""
    if not line.startswith("simulated server on "):
        process.kill()
        raise RuntimeError(f"the reference server did not start: {line!r}")
    return RunningServer(line.split()[-1], process)
