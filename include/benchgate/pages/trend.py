"""How a metric went from night to night: a line for each arm and placement."""

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
from benchgate.pages.words import day, iso
from benchgate.warehouse import tables as t


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
