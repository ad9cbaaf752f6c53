"""The nights of campaigns: how many cells ended how, and how a metric went from night to night."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.pages.level_changes import LevelChange, with_changes
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


@dataclass(frozen=True)
class SeriesPoint:
    """One night of one series: the median over the published repeats."""

    run_id: str
    run: str
    night: str | None
    started_at: str | None
    value: float
    repeats: int


@dataclass(frozen=True)
class TrendSeries:
    """One arm on one placement over the nights; nights without a published value are missing, not zero."""

    arm: str
    place: str
    points: tuple[SeriesPoint, ...]  # oldest first
    changes: tuple[LevelChange, ...] = ()


def trend(
    connection: Connection,
    runs: Sequence[Row],
    *,
    workload: str,
    load_label: str,
    metric: str,
    arms: Iterable[str] | None = None,
) -> list[TrendSeries]:
    """Published values of one metric at one workload and load over the given runs.

    Only numbers of one kind are joined to a line: the client and metric definition of the newest night. ``metric`` is
    a column of the cell table, chosen by the caller from a fixed list.
    """
    if not runs:
        return []
    cell, launch = t.cell, t.launch
    by_id = {row["run_id"]: row for row in runs}
    kinds = (cell.c.client_name, cell.c.metric_definition, cell.c.token_count_source)
    found: list[Row] = []
    for part in chunks(list(by_id)):
        query = (
            sa.select(cell.c.run_id, cell.c.arm, cell.c.host, cell.c.placement, *kinds, cell.c[metric].label("value"))
            .join(launch, launch.c.launch_id == cell.c.launch_id)
            .where(
                cell.c.run_id.in_(part),
                cell.c.end_state == "published",
                cell.c.workload == workload,
                cell.c.load_label == load_label,
                sa.not_(launch.c.simulated),
            )
        )
        found += rows(connection, query if arms is None else query.where(cell.c.arm.in_(list(arms))))
    values: dict[tuple[str, str], dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    order = {run_id: place for place, run_id in enumerate(by_id)}
    found.sort(key=lambda row: order[row["run_id"]])  # newest first, like the runs
    kind = tuple(found[0][column.name] for column in kinds) if found else None
    for row in found:
        if row["value"] is not None and tuple(row[column.name] for column in kinds) == kind:
            values[(row["arm"], f"{row['host']}/{row['placement']}")][row["run_id"]].append(row["value"])
    series = [TrendSeries(arm, place, tuple(_points(by_id, nights))) for (arm, place), nights in sorted(values.items())]
    return with_changes(connection, series, runs[0], workload=workload, load_label=load_label, metric=metric)


def _points(by_id: Mapping[Any, Row], nights: Mapping[Any, list[float]]) -> list[SeriesPoint]:
    oldest_first = sorted(nights, key=lambda run_id: str(iso(by_id[run_id]["started_at"])))
    return [
        SeriesPoint(
            run_id=by_id[run_id]["airflow_run_id"],
            run=by_id[run_id]["run"],
            night=day(by_id[run_id]["night"]),
            started_at=iso(by_id[run_id]["started_at"]),
            value=median(nights[run_id]),
            repeats=len(nights[run_id]),
        )
        for run_id in oldest_first
    ]
