"""The page *Campaigns*: each with its last run and its trend."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.read import campaign_text
from benchgate.pages.head import DagRunState
from benchgate.pages.level_changes import LevelChange
from benchgate.pages.nights import Night, count_runs, newest_runs, nights_of, not_loaded
from benchgate.pages.reading import Row, pages_of, rows
from benchgate.pages.trend import trend
from benchgate.pages.written import read_written
from benchgate.warehouse import tables as t

CAMPAIGNS_A_PAGE = 20
TREND_NIGHTS = 30
SPARK_METRIC = "decode_tok_s"


@dataclass(frozen=True)
class Spark:
    """One metric of one arm over the last nights, as a small line: what it is says its title."""

    title: str
    values: tuple[float, ...]  # oldest first
    changes: tuple[LevelChange, ...] = ()


@dataclass(frozen=True)
class CampaignLine:
    """One campaign of the list."""

    campaign: str
    description: str
    runs: int
    last: Night | None  # the newest run, loaded or not
    nights: tuple[Night, ...]  # oldest first, the newest last
    spark: Spark | None
    regressed: int
    improved: int
    in_airflow: bool


@dataclass(frozen=True)
class CampaignsView:
    """The page *Campaigns*."""

    campaigns: tuple[CampaignLine, ...]
    total: int
    page: int
    pages: int


def campaign_names(connection: Connection | None) -> list[str]:
    """Every campaign in the warehouse, found by skipping through the index instead of reading every run."""
    if connection is None:
        return []
    column = t.campaign_run.c.campaign
    first = sa.select(sa.func.min(column).label("name")).cte("name", recursive=True)
    following = sa.select(sa.func.min(column)).where(column > first.c.name).scalar_subquery()
    names = first.union_all(sa.select(following).where(first.c.name.is_not(None)))
    return [row["name"] for row in rows(connection, sa.select(names.c.name)) if row["name"] is not None]


def campaigns_view(
    connection: Connection | None,
    allowed: Collection[str],
    *,
    in_airflow: Collection[str] = (),
    recent: Mapping[str, Sequence[DagRunState]] | None = None,
    page: int = 1,
) -> CampaignsView:
    """Campaigns that the reader may see.

    Args:
        connection: the warehouse; None while there is none.
        allowed: campaigns that the reader may read, whether loaded or not.
        in_airflow: those of them that have a DAG.
        recent: their newest DAG runs, newest first; a run that is not loaded is shown from here.
        page: from 1.
    """
    names = sorted(allowed)
    pages = pages_of(len(names), CAMPAIGNS_A_PAGE)
    page = min(page, pages)
    shown = names[(page - 1) * CAMPAIGNS_A_PAGE : page * CAMPAIGNS_A_PAGE]
    lines = [_line(connection, name, name in in_airflow, (recent or {}).get(name, ())) for name in shown]
    return CampaignsView(tuple(lines), len(names), page, pages)


def _line(
    connection: Connection | None, campaign: str, in_airflow: bool, recent: Sequence[DagRunState]
) -> CampaignLine:
    runs = newest_runs(connection, campaign, TREND_NIGHTS) if connection is not None else []
    nights = nights_of(connection, runs) if connection is not None else []
    waiting = not_loaded(recent, nights)
    last = waiting[0] if waiting and _later(waiting[0], nights) else nights[0] if nights else None
    answers: dict[str, int] = {}
    written = read_written(campaign_text(connection, runs[0]["run_id"]) if connection is not None and runs else "")
    if connection is not None and runs:
        finding = t.regression_finding
        query = sa.select(finding.c.answer, sa.func.count().label("number")).where(
            finding.c.run_id == runs[0]["run_id"], finding.c.answer.in_(("REGRESSED", "IMPROVED"))
        )
        answers = {row["answer"]: row["number"] for row in rows(connection, query.group_by(finding.c.answer))}
    return CampaignLine(
        campaign=campaign,
        description=written.description.split("\n")[0],
        runs=count_runs(connection, campaign) if connection is not None else 0,
        last=last,
        nights=tuple(reversed(nights)),
        spark=_spark(connection, runs) if connection is not None and runs else None,
        regressed=answers.get("REGRESSED", 0),
        improved=answers.get("IMPROVED", 0),
        in_airflow=in_airflow,
    )


def _later(night: Night, nights: Sequence[Night]) -> bool:
    if not nights:
        return True
    return night.started_at is None or str(night.started_at) >= str(nights[0].started_at)


def _spark(connection: Connection, runs: Sequence[Row]) -> Spark | None:
    """Decode throughput of the baseline arm where the campaign loads it most. A name, not a summary of the campaign."""
    best = _heaviest(connection, runs)
    if best is None:
        return None
    arm, workload, load_label = best
    found = trend(connection, runs, workload=workload, load_label=load_label, metric=SPARK_METRIC, arms=[arm])
    if not found:
        return None
    series = max(found, key=lambda one: len(one.points))
    title = f"decode tok/s of {arm} on {series.place}, {workload} {load_label}"
    return Spark(title, tuple(point.value for point in series.points), series.changes)


def _heaviest(connection: Connection, runs: Sequence[Row]) -> tuple[str, str, str] | None:
    cell, launch = t.cell, t.launch
    for run in runs[:5]:  # the newest night that published something of its baseline
        query = (
            sa.select(cell.c.arm, cell.c.workload, cell.c.load_label)
            .join(launch, launch.c.launch_id == cell.c.launch_id)
            .where(cell.c.run_id == run["run_id"], cell.c.end_state == "published", launch.c.baseline_arm == cell.c.arm)
            .order_by(cell.c.users.desc(), cell.c.workload)
            .limit(1)
        )
        found = rows(connection, query)
        if found:
            return found[0]["arm"], found[0]["workload"], found[0]["load_label"]
    return None
