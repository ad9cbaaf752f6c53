"""Servers that seeds come from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.seeding.file_server import Files, file_server


@pytest.fixture
def files() -> Iterator[Files]:
    with file_server() as served:
        yield served
