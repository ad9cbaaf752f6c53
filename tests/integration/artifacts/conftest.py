"""An S3-compatible server, and an environment that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.s3_server import S3Server, s3_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One server for the tests of a module."""
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture
def s3_artifacts(server: S3Server, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """BENCHGATE_ARTIFACTS is the bucket of a real server."""
    for name, value in {**server.environment, "BENCHGATE_ARTIFACTS": server.url}.items():
        monkeypatch.setenv(name, value)
    return server
