"""Every page of a warehouse, made the way the application makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy.engine import Connection

from benchgate.pages.campaign_view import campaign_view
from benchgate.pages.campaigns_view import campaign_names, campaigns_view
from benchgate.pages.cell_view import cell_view
from benchgate.pages.compare_view import NIGHTS, Asked, compare_view
from benchgate.pages.head import Pending
from benchgate.pages.hosts_view import hosts_view
from benchgate.pages.launch_page import launch_page, log_page
from benchgate.pages.links import Links
from benchgate.pages.not_run_view import not_run_view
from benchgate.pages.render import render
from benchgate.pages.report_view import report_view
from benchgate.pages.run_view import run_view

EXTRA: dict[str, dict[str, Any]] = {
    "run": {"show": "decode_tok_s"},
    "campaign": {"in_airflow": True},
    "not_run": {"in_airflow": {"kernels"}},
}


def views(connection: Connection, campaign: str, run_id: str) -> Iterator[tuple[str, Any]]:
    """Template and view of every page about a campaign and one of its runs."""
    allowed = set(campaign_names(connection))
    yield "campaigns", campaigns_view(connection, allowed, in_airflow=allowed)
    yield "campaign", campaign_view(connection, campaign)
    run = run_view(connection, campaign, run_id)
    assert run is not None
    assert run.grid is not None
    yield "run", run
    for launch in run.launches:
        yield "launch", launch_page(connection, campaign, run_id, launch.launch)
        yield "log", log_page(connection, campaign, run_id, launch.launch)
    for row in run.grid.rows:
        yield "cell", cell_view(connection, campaign, run_id, row.boxes[0][0].cell)
    yield "compare", compare_view(connection, allowed, Asked(campaign, run=run_id))
    yield "compare", compare_view(connection, allowed, Asked(campaign, NIGHTS, run=run_id))
    yield "not_run", not_run_view(connection, allowed, campaign=campaign, everything=True)
    yield "hosts", hosts_view(connection, allowed)
    asked = Pending("report", "manual__report", "approve_announcement", "Announce what moved?")
    keys = [run.head.run, "nobody.knows"]
    yield "report", report_view(connection, allowed, "manual__report", keys=keys, pending=[asked])


def page(template: str, view: Any) -> str:
    """The page of a view."""
    return render(
        template,
        Links(),
        here="campaigns",
        view=view,
        json="/benchgate/api/",
        page_address=lambda number: f"?page={number}",
        **EXTRA.get(template, {}),
    )
