"""What one arm does at one workload and load: the median over its repeats, with an interval when there are several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from benchgate.analysis import intervals
from benchgate.analysis.cells import MeasuredCell, measures_of, with_launches
from benchgate.analysis.measures import Measure


@dataclass(frozen=True)
class Level:
    """One metric of one arm at one workload and load, in the metric's unit."""

    arm: str
    workload: str
    users: int | None
    request_rate: float | None
    metric: str
    basis: str  # published | unpublishable
    middle: float  # median over repeats (and placements)
    low: float | None  # 95 % interval of the median; None for a single run
    high: float | None
    repeats: int
    placements: tuple[str, ...]
    method: str | None


def levels(cells: Iterable[MeasuredCell]) -> list[Level]:
    """Levels of every arm, workload, load and metric; refused cells only where an arm has no published one."""
    groups: dict[tuple[str, str, int | None, float | None], list[MeasuredCell]] = defaultdict(list)
    for cell in with_launches(cells):
        if cell.end_state in ("published", "unpublishable"):
            groups[(cell.arm, cell.workload, cell.users, cell.request_rate)].append(cell)
    found = []
    for group in groups.values():
        published = [cell for cell in group if cell.end_state == "published"]
        basis = "published" if published else "unpublishable"
        for measure in measures_of(group[0]):
            level = _level(measure, basis, published or group)
            if level is not None:
                found.append(level)
    return found


def _level(measure: Measure, basis: str, cells: list[MeasuredCell]) -> Level | None:
    values = [v for cell in cells if (v := cell.value(measure)) is not None]
    if not values:
        return None
    logs = measure.effect == "ratio"
    estimate = intervals.level([math.log(v) for v in values] if logs else values)
    first = cells[0]
    back = math.exp if logs else float
    return Level(
        arm=first.arm,
        workload=first.workload,
        users=first.users,
        request_rate=first.request_rate,
        metric=measure.name,
        basis=basis,
        middle=median(values),
        low=None if estimate is None else back(estimate.low),
        high=None if estimate is None else back(estimate.high),
        repeats=len(values),
        placements=tuple(sorted({cell.placement for cell in cells})),
        method=None if estimate is None else estimate.method,
    )
