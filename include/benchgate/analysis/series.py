"""A cell's history: one value a night for one arm on one placement at one workload, load and metric."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, stdev

from benchgate.analysis.cells import MeasuredCell, measures_of, with_launches
from benchgate.analysis.measures import Measure


@dataclass(frozen=True)
class Night:
    """One night of a series: the median of its repeats."""

    night: str  # when the run started, UTC, ISO 8601
    run: str
    value: float
    repeats: int = 1
    spread: float | None = None  # standard error of the night's value on the additive scale; None for a single run
    fingerprint: Mapping[str, str | None] = field(default_factory=dict)
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True)
class NightlySeries:
    """Nights in order of time. Nights without a published value are missing, not zero."""

    campaign: str
    arm: str
    placement: str
    workload: str
    users: int | None
    request_rate: float | None
    measure: Measure
    nights: tuple[Night, ...]

    def until(self, count: int) -> NightlySeries:
        """The series as it was after its first ``count`` nights."""
        return NightlySeries(
            self.campaign,
            self.arm,
            self.placement,
            self.workload,
            self.users,
            self.request_rate,
            self.measure,
            self.nights[:count],
        )


def nightly(cells: Iterable[MeasuredCell]) -> list[NightlySeries]:
    """Published cells of any number of runs as one series for each arm, placement, workload, load and metric."""
    groups: dict[tuple[str, str, str, str, int | None, float | None], dict[str, list[MeasuredCell]]] = defaultdict(dict)
    for cell in with_launches(cells):
        if cell.end_state == "published":
            key = (cell.campaign, cell.arm, cell.placement, cell.workload, cell.users, cell.request_rate)
            groups[key].setdefault(cell.run, []).append(cell)
    found = []
    for key, runs in groups.items():
        in_order = sorted(runs.values(), key=lambda rows: (rows[0].night, rows[0].run))
        for measure in measures_of(in_order[0][0]):
            nights = tuple(night for rows in in_order if (night := _night(measure, rows)) is not None)
            if nights:
                found.append(NightlySeries(*key, measure, nights))
    return found


def _night(measure: Measure, rows: Sequence[MeasuredCell]) -> Night | None:
    values = [v for cell in rows if (v := cell.value(measure)) is not None]
    if not values:
        return None
    scaled = [math.log(v) for v in values] if measure.effect == "ratio" else values
    first = rows[0]
    return Night(
        night=first.night,
        run=first.run,
        value=median(values),
        repeats=len(values),
        spread=stdev(scaled) / math.sqrt(len(values)) if len(values) > 1 else None,
        fingerprint=first.fingerprint,
        facts=first.facts,
    )
