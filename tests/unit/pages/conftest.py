"""A small warehouse that all tests of the pages read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from benchgate.pages.reading import warehouse
from benchgate.warehouse.migrate import migrate
from tests.unit.pages.fabricated import load_nights, spec_of
from tests.unit.pages.hostile import load_hostile

NIGHTS = 31
OTHER_NIGHTS = 3


@pytest.fixture(scope="session")
def warehouse_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A month of nights of kernels, three of another campaign, a hostile run."""
    url = f"sqlite:///{tmp_path_factory.mktemp('warehouse') / 'warehouse.db'}"
    migrate(url)
    load_nights(url, range(NIGHTS))
    load_nights(url, range(OTHER_NIGHTS), spec_of("other"))
    load_hostile(url)
    return url


@pytest.fixture
def connection(warehouse_url: str, benchgate_home: Path) -> Iterator[Connection]:
    """A connection to it, with an empty artifact store beside it."""
    with warehouse(warehouse_url) as opened:
        assert opened is not None
        yield opened
