"""The page of a run of the DAG ``report``: which campaign runs it is about, and whether it waits for a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages.head import Pending
from benchgate.pages.reading import rows
from benchgate.pages.words import iso
from benchgate.warehouse import tables as t


@dataclass(frozen=True)
class ReportedRun:
    """A campaign run that a report is about."""

    campaign: str
    run_id: str  # Airflow's
    started_at: str | None


@dataclass(frozen=True)
class ReportView:
    """The page of one report."""

    run_id: str  # Airflow's, of the report itself
    runs: tuple[ReportedRun, ...]  # those that the reader may see
    pending: tuple[Pending, ...]


def report_view(
    connection: Connection | None,
    allowed: Collection[str],
    run_id: str,
    *,
    keys: Sequence[str],
    pending: Sequence[Pending] = (),
) -> ReportView:
    """What one report is about. ``keys`` are those of the runs, ``allowed`` the campaigns that the reader may read."""
    if connection is None or not keys:
        return ReportView(run_id, (), tuple(pending))
    run = t.campaign_run
    query = (
        sa.select(run.c.campaign, run.c.airflow_run_id, run.c.started_at)
        .where(run.c.run.in_(list(keys)), run.c.campaign.in_(sorted(allowed)))
        .order_by(run.c.campaign, run.c.started_at)
    )
    found = (
        ReportedRun(row["campaign"], row["airflow_run_id"], iso(row["started_at"])) for row in rows(connection, query)
    )
    return ReportView(run_id, tuple(found), tuple(pending))
