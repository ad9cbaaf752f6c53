"""What Airflow's own database tells the pages: which campaigns have a DAG, their newest runs, who is being asked."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from airflow.models.dag import DagModel, DagTag
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XCOM_RETURN_KEY, XComModel
from airflow.utils.session import create_session
from airflow.utils.state import TaskInstanceState
from sqlalchemy import and_, func, or_, select

from benchgate.airflow.report_dag import REPORT, WRITE
from benchgate.names import run_key
from benchgate.pages.head import DagRunState, Pending
from benchgate.pages.words import iso

TAGS = ("benchgate", "campaign")  # every campaign's DAG carries both
NEWEST = 10
_LIVING = ("queued", "running")
_WAITING = (TaskInstanceState.AWAITING_INPUT, TaskInstanceState.DEFERRED)


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
    """What Airflow is asking people about a run right now: in its own DAG run, or in a report of it."""
    with create_session() as session:
        query = (
            select(TaskInstance.dag_id, TaskInstance.run_id, TaskInstance.task_id, HITLDetail.subject)
            .join(TaskInstance, TaskInstance.id == HITLDetail.ti_id)
            .where(
                # a task that was marked as failed keeps its question, and nobody waits for the answer
                TaskInstance.state.in_(_WAITING),
                HITLDetail.responded_at.is_(None),
                or_(
                    and_(TaskInstance.dag_id == campaign, TaskInstance.run_id == run_id),
                    TaskInstance.dag_id == REPORT,
                ),
            )
            .order_by(TaskInstance.task_id)
        )
        asked = session.execute(query).all()
    key = run_key(campaign, run_id)
    return [
        Pending(row.dag_id, row.run_id, row.task_id, row.subject)
        for row in asked
        if (row.dag_id, row.run_id) == (campaign, run_id) or key in reported_runs(row.run_id)
    ]


def reported_runs(run_id: str) -> list[str]:
    """Keys of the campaign runs that a run of the DAG ``report`` is about; empty when it did not write any (yet)."""
    query = XComModel.get_many(run_id=run_id, dag_ids=REPORT, task_ids=WRITE, key=XCOM_RETURN_KEY)
    with create_session() as session:
        found = session.scalars(query).first()
        value = None if found is None else XComModel.deserialize_value(found)
    return [str(key) for key in value] if isinstance(value, list) else []


_COLUMNS = (DagRun.dag_id, DagRun.run_id, DagRun.state, DagRun.start_date, DagRun.end_date)


def _state(row: Any) -> DagRunState:
    return DagRunState(
        campaign=row.dag_id,
        run_id=row.run_id,
        state=str(getattr(row.state, "value", row.state)),
        started_at=iso(row.start_date),
        ended_at=iso(row.end_date),
    )
