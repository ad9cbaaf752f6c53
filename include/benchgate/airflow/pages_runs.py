"""What Airflow's own database tells the pages: which campaigns have a DAG, their newest runs, who is being asked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session
from sqlalchemy import func, select

from benchgate.pages.run_view import DagRunState, Pending
from benchgate.pages.words import iso

TAGS = ("benchgate", "campaign")  # every campaign's DAG carries both
NEWEST = 10
_LIVING = ("queued", "running")


def campaigns_in_airflow() -> set[str]:
    """Campaigns that have a DAG which is not gone."""
    with create_session() as session:
        query = (
            select(DagModel.dag_id)
            .join(DagTag, DagTag.dag_id == DagModel.dag_id)
            .where(DagTag.name.in_(TAGS), DagModel.is_stale.is_(False))
            .group_by(DagModel.dag_id)
            .having(func.count() == len(TAGS))
        )
        return set(session.scalars(query))


def newest_runs(campaign: str, limit: int = NEWEST) -> list[DagRunState]:
    """The newest DAG runs of a campaign, newest first."""
    with create_session() as session:
        query = select(*_COLUMNS).where(DagRun.dag_id == campaign).order_by(DagRun.run_after.desc()).limit(limit)
        return [_state(row) for row in session.execute(query)]


def dag_run(campaign: str, run_id: str) -> DagRunState | None:
    """One DAG run; None when Airflow does not know it (any more)."""
    with create_session() as session:
        query = select(*_COLUMNS).where(DagRun.dag_id == campaign, DagRun.run_id == run_id)
        row = session.execute(query).first()
        return None if row is None else _state(row)


def living_runs(campaigns: Collection[str]) -> list[DagRunState]:
    """DAG runs of these campaigns that are not over."""
    with create_session() as session:
        query = select(*_COLUMNS).where(DagRun.dag_id.in_(campaigns), DagRun.state.in_(_LIVING))
        return [_state(row) for row in session.execute(query)]


def pending_questions(campaign: str, run_id: str) -> list[Pending]:
    """What Airflow is asking people about a run right now."""
    with create_session() as session:
        query = (
            select(TaskInstance.task_id, HITLDetail.subject)
            .join(TaskInstance, TaskInstance.id == HITLDetail.ti_id)
            .where(TaskInstance.dag_id == campaign, TaskInstance.run_id == run_id, HITLDetail.responded_at.is_(None))
            .order_by(TaskInstance.task_id)
        )
        return [Pending(row.task_id, row.subject) for row in session.execute(query)]


_COLUMNS = (DagRun.dag_id, DagRun.run_id, DagRun.state, DagRun.start_date, DagRun.end_date)


def _state(row: Any) -> DagRunState:
    return DagRunState(
        campaign=row.dag_id,
        run_id=row.run_id,
        state=str(getattr(row.state, "value", row.state)),
        started_at=iso(row.start_date),
        ended_at=iso(row.end_date),
    )
