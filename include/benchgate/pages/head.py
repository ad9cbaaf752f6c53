"""What a page says of a run at its top: which it is, whether it goes on, and what Airflow tells and asks about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchgate.names import run_key
from benchgate.pages.run_rows import RunRows
from benchgate.pages.words import day, iso, seconds_between


@dataclass(frozen=True)
class DagRunState:
    """What Airflow knows of a run, for the caller to tell."""

    campaign: str
    run_id: str
    state: str  # queued, running, success or failed
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def alive(self) -> bool:
        """Whether it may still change."""
        return self.state in ("queued", "running")


@dataclass(frozen=True)
class Pending:
    """A question that Airflow is asking a person about this run: in its own DAG run, or in a report of it."""

    dag_id: str
    run_id: str
    task_id: str
    subject: str


@dataclass(frozen=True)
class Head:
    """The run itself."""

    campaign: str
    run_id: str  # Airflow's
    run: str  # run key: the warehouse's and the artifact store's name
    night: str | None
    started_at: str | None
    ended_at: str | None
    duration_s: float | None
    state: str  # queued, running, success, failed or nothing_new
    loaded: bool
    expectation_met: bool | None
    expectation_reason: str | None
    nothing_new_reason: str | None
    trigger: Mapping[str, Any]
    version: str | None
    in_airflow: bool = True  # whether Airflow has this run: one by hand, imported or cleaned up has no tasks to lead to


def is_alive(found: RunRows, known: DagRunState | None) -> bool:
    """Whether the run may still change. Airflow knows best; without it, a run that is not loaded and not ended."""
    if found.loaded:
        return False
    return known.alive if known is not None else found.run["ended_at"] is None


def head_of(found: RunRows, alive: bool, known: DagRunState | None) -> Head:
    """The run itself, from its row; ``known`` is what Airflow says of it."""
    run = found.run
    state = run["state"]
    if not found.loaded:
        state = "running" if alive else "failed" if state == "running" else state
    return Head(
        campaign=run["campaign"],
        run_id=run["airflow_run_id"],
        run=run["run"],
        night=day(run["night"]),
        started_at=iso(run["started_at"]),
        ended_at=iso(run["ended_at"]),
        duration_s=seconds_between(run["started_at"], run["ended_at"]),
        state=state,
        loaded=found.loaded,
        expectation_met=run["expectation_met"],
        expectation_reason=run["expectation_reason"],
        nothing_new_reason=run["nothing_new_reason"],
        trigger=run["trigger_parameters"] or {},
        version=run["benchgate_version"],
        in_airflow=known is not None,
    )


def bare_head(known: DagRunState) -> Head:
    """A run of which only Airflow knows yet."""
    return Head(
        campaign=known.campaign,
        run_id=known.run_id,
        run=run_key(known.campaign, known.run_id),
        night=day(known.started_at),
        started_at=known.started_at,
        ended_at=known.ended_at,
        duration_s=seconds_between(known.started_at, known.ended_at),
        state=known.state,
        loaded=False,
        expectation_met=None,
        expectation_reason=None,
        nothing_new_reason=None,
        trigger={},
        version=None,
    )
