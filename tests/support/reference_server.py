"""The reference server as a fixture: a subprocess on a free port, and what it really did.

``from tests.support.reference_server import reference_server, start_reference_server  # noqa: F401`` in a conftest or
test module makes both fixtures available.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from benchmarks.reference_server.process import RunningServer, start

__all__ = ["RunningServer", "reference_server", "start", "start_reference_server"]


@pytest.fixture
def start_reference_server() -> Iterator[Callable[..., RunningServer]]:
    """A function that starts servers with options of your choice; all are stopped after the test."""
    running: list[RunningServer] = []

    def starter(*options: str) -> RunningServer:
        running.append(start(*options))
        return running[-1]

    yield starter
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def _shared_server() -> Iterator[RunningServer]:
    server = start("--ttft-ms", "60", "--itl-ms", "10")
    yield server
    server.stop()


@pytest.fixture
def reference_server(_shared_server: RunningServer) -> RunningServer:
    """One server a module (TTFT 60 ms, ITL 10 ms by default), its truth empty at the start of each test."""
    _shared_server.forget()
    return _shared_server
