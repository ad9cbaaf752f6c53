"""One warehouse a test, on SQLite and on PostgreSQL: what holds on one must hold on the other."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.warehouse.migrate import migrate
from tests.support.postgres import fresh_database


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite warehouse that nobody writes to."""
    path = tmp_path_factory.mktemp("warehouse") / "warehouse.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """SQLAlchemy URL of a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/warehouse.db"
    else:
        with fresh_database() as url:
            yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> Iterator[str]:
    """SQLAlchemy URL of a migrated, empty warehouse."""
    if request.param == "sqlite":
        shutil.copy(migrated_file, tmp_path / "warehouse.db")
        yield f"sqlite:///{tmp_path}/warehouse.db"
    else:
        with fresh_database() as url:
            migrate(url)
            yield url


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """A migrated warehouse on PostgreSQL only."""
    with fresh_database() as url:
        migrate(url)
        yield url
