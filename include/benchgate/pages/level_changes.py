"""Where a series of nights changed its level: the marks in the charts, found the way the report finds them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchgate.analysis.change_points import change_points, without_spikes
from benchgate.analysis.findings import IMPROVED, REGRESSED
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.night_noise import least_noise
from benchgate.pages.reading import Row, rows
from benchgate.warehouse import tables as t

if TYPE_CHECKING:
    from benchgate.pages.trend import TrendSeries

LEVEL = "LEVEL CHANGE"  # seen in the line afterwards; REGRESSED and IMPROVED are the analysis' own words
_SAME = 2  # nights: a change whose first night is told apart better later on


@dataclass(frozen=True)
class LevelChange:
    """The first night of a new level. ``change`` is relative (error rates: a difference); None when nobody said."""

    place: int  # of the night among the points of its series, from 0
    answer: str
    better: bool
    change: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def level_changes(values: Sequence[float], metric: str) -> tuple[LevelChange, ...]:
    """Changes of level of one line, oldest first; a level has three nights at least."""
    measure = BY_NAME[metric]
    ratio = measure.effect == "ratio"
    if ratio and any(value <= 0 for value in values):
        return ()
    scaled = [math.log(value) for value in values] if ratio else list(values)
    usual = without_spikes(scaled, least_noise(measure))
    starts = [0, *change_points(usual, least_noise(measure)), len(usual)]
    found = []
    for before, here, after in zip(starts, starts[1:], starts[2:], strict=False):
        step = median(usual[here:after]) - median(usual[before:here])
        better = (step > 0) == (measure.better == "higher")
        found.append(LevelChange(here, LEVEL, better, math.expm1(step) if ratio else step))
    return tuple(found)


def with_changes(
    connection: Connection,
    series: Iterable[TrendSeries],
    newest: Row,
    *,
    workload: str,
    load_label: str,
    metric: str,
) -> list[TrendSeries]:
    """The series with their changes of level, and with what the analysis said as of the ``newest`` run."""
    finding = t.regression_finding
    query = sa.select(finding).where(
        finding.c.run_id == newest["run_id"],
        finding.c.workload == workload,
        finding.c.load_label == load_label,
        finding.c.metric == metric,
        finding.c.answer.in_((REGRESSED, IMPROVED)),
    )
    said = {(row["arm"], f"{row['host']}/{row['placement']}"): row for row in rows(connection, query)}
    return [_marked(one, metric, said.get((one.arm, one.place))) for one in series]


def _marked(one: TrendSeries, metric: str, said: Mapping[str, Any] | None) -> TrendSeries:
    found = level_changes([point.value for point in one.points], metric)
    place = next((i for i, point in enumerate(one.points) if said and point.run == said["changed_since_run"]), None)
    if said is None or place is None:
        return replace(one, changes=found)
    judged = LevelChange(
        place,
        said["answer"],
        said["answer"] == IMPROVED,
        said["change"],
        said["change_low"],
        said["change_high"],
        said["reason"],
    )
    others = (change for change in found if abs(change.place - place) > _SAME)
    return replace(one, changes=tuple(sorted((*others, judged), key=lambda change: change.place)))
