"""The nights of campaigns: how many cells of each ended how."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages.head import DagRunState
from benchgate.pages.reading import Row, chunks, rows
from benchgate.pages.words import day, iso, seconds_between
from benchgate.warehouse import tables as t

COUNTED = ("published", "unpublishable", "failed", "not_run", "deselected")


@dataclass(frozen=True)
class Night:
    """One loaded run of a campaign, with the number of its cells in each end state."""

    campaign: str
    run_id: str  # Airflow's
    run: str
    night: str | None
    started_at: str | None
    duration_s: float | None
    state: str
    expectation_met: bool | None
    expectation_reason: str | None
    nothing_new_reason: str | None
    counts: Mapping[str, int]
    loaded: bool = True

    @property
    def planned(self) -> int:
        """Cells that were asked for."""
        return sum(number for state, number in self.counts.items() if state != "deselected")

    @property
    def verdict(self) -> str:
        """The run in one word: how its cells ended, all told."""
        if not self.loaded:
            return self.state
        if self.state == "nothing_new":
            return "nothing_new"
        for state in ("failed", "unpublishable", "not_run", "published"):
            if self.counts.get(state):
                surprised = self.expectation_met is False
                if state == "published" or surprised or self.expectation_met is None:
                    return state
        return "published" if self.counts.get("published") else self.state


_RUN_COLUMNS = [
    "run_id",
    "run",
    "campaign",
    "airflow_run_id",
    "night",
    "started_at",
    "ended_at",
    "state",
    "expectation_met",
    "expectation_reason",
    "nothing_new_reason",
]


def newest_runs(connection: Connection, campaign: str, limit: int, offset: int = 0) -> list[Row]:
    """The newest loaded runs of a campaign, newest first (by the index over campaign and night)."""
    run = t.campaign_run
    query = (
        sa.select(*(run.c[name] for name in _RUN_COLUMNS))
        .where(run.c.campaign == campaign)
        .order_by(run.c.night.desc(), run.c.started_at.desc())
        .limit(limit)
        .offset(offset)
    )
    return rows(connection, query)


def count_runs(connection: Connection, campaign: str) -> int:
    """How many loaded runs a campaign has."""
    run = t.campaign_run
    return int(connection.execute(sa.select(sa.func.count()).where(run.c.campaign == campaign)).scalar_one())


def nights_of(connection: Connection, runs: Sequence[Row]) -> list[Night]:
    """Runs with their cells counted, in the order given."""
    counts = state_counts(connection, [row["run_id"] for row in runs])
    return [_night(row, counts.get(row["run_id"], {})) for row in runs]


def state_counts(connection: Connection, run_ids: Sequence[Any]) -> dict[Any, dict[str, int]]:
    """Run -> state -> cells. Cells that nobody asked for are told apart from those that could not run."""
    cell = t.cell
    counts: dict[Any, dict[str, int]] = defaultdict(dict)
    for part in chunks(run_ids):
        number = sa.func.count().label("number")
        query = sa.select(cell.c.run_id, cell.c.end_state, number).where(cell.c.run_id.in_(part))
        for row in rows(connection, query.group_by(cell.c.run_id, cell.c.end_state)):
            counts[row["run_id"]][row["end_state"]] = row["number"]
        left_out = (
            sa.select(cell.c.run_id, number)
            .where(cell.c.run_id.in_(part), cell.c.end_state == "not_run", cell.c.deselected)
            .group_by(cell.c.run_id)
        )
        for row in rows(connection, left_out):
            of_run = counts[row["run_id"]]
            of_run["deselected"] = row["number"]
            of_run["not_run"] -= row["number"]
            if not of_run["not_run"]:
                del of_run["not_run"]
    return dict(counts)


def _night(row: Row, counts: Mapping[str, int]) -> Night:
    return Night(
        campaign=row["campaign"],
        run_id=row["airflow_run_id"],
        run=row["run"],
        night=day(row["night"]),
        started_at=iso(row["started_at"]),
        duration_s=seconds_between(row["started_at"], row["ended_at"]),
        state=row["state"],
        expectation_met=row["expectation_met"],
        expectation_reason=row["expectation_reason"],
        nothing_new_reason=row["nothing_new_reason"],
        counts={state: counts[state] for state in COUNTED if counts.get(state)},
    )


def not_loaded(recent: Sequence[DagRunState], nights: Sequence[Night]) -> list[Night]:
    """DAG runs that the warehouse does not have, as nights without cells."""
    known = {night.run_id for night in nights}
    return [_unloaded(run) for run in recent if run.run_id not in known]


def _unloaded(run: DagRunState) -> Night:
    return Night(
        campaign=run.campaign,
        run_id=run.run_id,
        run="",
        night=day(run.started_at),
        started_at=run.started_at,
        duration_s=seconds_between(run.started_at, run.ended_at),
        state=run.state,
        expectation_met=None,
        expectation_reason=None,
        nothing_new_reason=None,
        counts={},
        loaded=False,
    )
