"""Every page from a PostgreSQL warehouse: the same values, whichever database holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.pages.reading import warehouse
from benchgate.pages.render import as_json
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
        from benchgate.pages import reading

        for engine in reading._engines.values():
            engine.dispose()

    one, other = said.values()
    assert len(one) == len(other) > 20
    for (name, ours, html), (_, theirs, their_html) in zip(one, other, strict=True):
        assert ours == theirs, name
        assert html == their_html, name
