"""The page *Campaign*: all its nights, and one metric of one workload and load over the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.read import campaign_text
from benchgate.pages.grid import MEASURE_NAMES
from benchgate.pages.head import DagRunState
from benchgate.pages.nights import Night, count_runs, newest_runs, nights_of, not_loaded
from benchgate.pages.reading import Row, pages_of, rows
from benchgate.pages.trend import TrendSeries, trend
from benchgate.pages.written import Written, read_written
from benchgate.warehouse import tables as t

NIGHTS_A_PAGE = 25
TREND_NIGHTS = 90
FIRST_METRIC = "decode_tok_s"


@dataclass(frozen=True)
class Choice:
    """A workload and load that a campaign's newest run measured."""

    workload: str
    load_label: str

    @property
    def key(self) -> str:
        """How a form sends it."""
        return f"{self.workload}/{self.load_label}"


@dataclass(frozen=True)
class CampaignView:
    """The page *Campaign*."""

    campaign: str
    description: str
    nights: tuple[Night, ...]  # newest first
    total: int
    page: int
    pages: int
    choices: tuple[Choice, ...]
    chosen: Choice | None
    metric: str
    series: tuple[TrendSeries, ...]


def campaign_view(
    connection: Connection | None,
    campaign: str,
    *,
    recent: Sequence[DagRunState] = (),
    page: int = 1,
    choice: str | None = None,
    metric: str | None = None,
) -> CampaignView:
    """One campaign's nights and its trend. ``choice`` and ``metric`` come from a form; unknown ones are ignored."""
    metric = metric if metric in MEASURE_NAMES else FIRST_METRIC
    if connection is None:
        nights = not_loaded(recent, [])
        return CampaignView(campaign, "", tuple(nights), len(nights), 1, 1, (), None, metric, ())
    total = count_runs(connection, campaign)
    pages = pages_of(total, NIGHTS_A_PAGE)
    page = min(page, pages)
    runs = newest_runs(connection, campaign, TREND_NIGHTS)
    listed = (
        runs[:NIGHTS_A_PAGE]
        if page == 1
        else newest_runs(connection, campaign, NIGHTS_A_PAGE, (page - 1) * NIGHTS_A_PAGE)
    )
    nights = nights_of(connection, listed)
    written = read_written(campaign_text(connection, runs[0]["run_id"]) if runs else "")
    choices = _choices(connection, runs, written)
    chosen = next((one for one in choices if one.key == choice), choices[0] if choices else None)
    series = (
        trend(connection, runs, workload=chosen.workload, load_label=chosen.load_label, metric=metric) if chosen else []
    )
    waiting = not_loaded(recent, nights) if page == 1 else []
    return CampaignView(
        campaign=campaign,
        description=written.description,
        nights=(*waiting, *nights),
        total=total,
        page=page,
        pages=pages,
        choices=tuple(choices),
        chosen=chosen,
        metric=metric,
        series=tuple(series),
    )


def _choices(connection: Connection, runs: Sequence[Row], written: Written) -> list[Choice]:
    if not runs:
        return []
    cell = t.cell
    query = (
        sa.select(cell.c.workload, cell.c.load_label, cell.c.users, cell.c.request_rate)
        .where(cell.c.run_id == runs[0]["run_id"])
        .distinct()
    )
    found = sorted(
        rows(connection, query),
        key=lambda row: (written.by_workload(row["workload"]), row["users"] or 0, row["request_rate"] or 0),
    )
    return [Choice(row["workload"], row["load_label"]) for row in found]
