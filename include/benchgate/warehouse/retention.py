"""Retention: request rows go after so many nights; the percentiles that were made of them stay in ``cell``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.errors import SpecError
from benchgate.spec.load import campaign_of
from benchgate.warehouse import tables as t
from benchgate.warehouse.connect import open_warehouse, reading, shown, writing
from benchgate.warehouse.migrate import require_current
from benchgate.warehouse.values import now

DEFAULT_NIGHTS = 30  # of a run whose campaign file says nothing, such as an imported one


@dataclass(frozen=True)
class Removed:
    """Request rows that one run lost."""

    run: str
    night: str
    requests: int


def retain(url: str | None = None, *, nights: int | None = None, today: date | None = None) -> list[Removed]:
    """Remove request rows that are older than their campaign keeps them, one transaction a run.

    Args:
        url: SQLAlchemy URL; default is the configured warehouse.
        nights: how many nights every campaign keeps; None: each what its newest run's file says
            (``keep_requests_nights``). 0 removes all but tonight's.
        today: the night that counts as tonight; default is today in UTC.

    Raises:
        WarehouseError: the warehouse refuses. Runs that were done before stay done.
    """
    tonight = today or datetime.now(timezone.utc).date()
    engine = open_warehouse(url)
    removed = []
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            due = _due(connection, nights, tonight)
        for run_id, run, night in due:
            with writing(engine) as connection:
                count = _remove_requests(connection, run_id)
            removed.append(Removed(run, night, count))
        return removed
    finally:
        engine.dispose()


def _due(connection: Connection, nights: int | None, tonight: date) -> list[tuple[int, str, str]]:
    c = t.campaign_run.c
    runs = connection.execute(
        sa.select(c.run_id, c.run, c.campaign, c.night).where(c.requests_removed_at.is_(None)).order_by(c.night, c.run)
    ).all()
    kept = _kept_nights(connection) if nights is None else {}
    due = []
    for run_id, run, campaign, night in runs:
        keep = nights if nights is not None else kept.get(campaign, DEFAULT_NIGHTS)
        if date.fromisoformat(str(night)) < tonight - timedelta(days=keep):
            due.append((run_id, run, str(night)))
    return due


def _kept_nights(connection: Connection) -> Mapping[str, int]:
    """Campaign -> ``keep_requests_nights`` of its newest run."""
    c = t.campaign_run.c
    newest = sa.select(c.campaign, sa.func.max(c.started_at).label("started_at")).group_by(c.campaign).subquery()
    rows = connection.execute(
        sa.select(c.campaign, c.campaign_yaml).join(
            newest, sa.and_(newest.c.campaign == c.campaign, newest.c.started_at == c.started_at)
        )
    )
    kept = {}
    for campaign, text in rows:
        try:
            kept[campaign] = campaign_of(text).keep_requests_nights
        except SpecError:
            continue  # imported, or written for another version: the default holds
    return kept


def _remove_requests(connection: Connection, run_id: int) -> int:
    cells = sa.select(t.cell.c.cell_id).where(t.cell.c.run_id == run_id)
    count = connection.execute(sa.delete(t.request).where(t.request.c.cell_id.in_(cells))).rowcount
    connection.execute(
        sa.update(t.campaign_run).where(t.campaign_run.c.run_id == run_id).values(requests_removed_at=now())
    )
    return int(count)
