"""Every page from a PostgreSQL warehouse: the same values, whichever database holds them."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from benchgate.pages import reading
from benchgate.pages.reading import warehouse
from benchgate.pages.render import as_json
from benchgate.pages.run_view import run_view
from benchgate.warehouse.migrate import migrate
from tests.support.postgres import fresh_database
from tests.unit.pages.every_page import page, views
from tests.unit.pages.fabricated import load_nights, run_id_of
from tests.unit.pages.hostile import load_hostile

pytestmark = pytest.mark.postgres


def test_pages_say_the_same_on_both_databases(tmp_path: Path, benchgate_home: Path) -> None:
    said = {}
    with fresh_database() as postgres:
        for url in (postgres, f"sqlite:///{tmp_path / 'warehouse.db'}"):
            migrate(url)
            load_nights(url, range(6))
            load_hostile(url)
            with warehouse(url) as connection:
                assert connection is not None
                said[url] = [
                    (name, as_json(view), page(name, view))
                    for campaign, run in (("kernels", run_id_of(4)), ("hostile", "manual__hostile"))
                    for name, view in views(connection, campaign, run)
                ]
        _close_kept()

    one, other = said.values()
    assert len(one) == len(other) > 20
    for (name, ours, html), (_, theirs, their_html) in zip(one, other, strict=True):
        assert ours == theirs, name
        assert html == their_html, name


def test_a_page_is_shown_after_the_database_was_restarted(benchgate_home: Path) -> None:
    with fresh_database() as url:
        migrate(url)
        load_nights(url, range(2))
        with warehouse(url) as connection:
            assert connection is not None
            connection.execute(sa.text("SELECT 1"))
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as other:  # what a restart does to the rest
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

        with warehouse(url) as connection:
            assert connection is not None
            assert run_view(connection, "kernels", run_id_of(1)) is not None
        _close_kept()


def _close_kept() -> None:
    """Kept connections hold a database that is to be dropped."""
    for engine in reading._engines.values():
        engine.dispose()
