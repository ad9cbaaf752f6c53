"""A cell's history: one value a night for one arm on one placement at one workload, load and metric."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchgate.analysis.cells import MeasuredCell, measures_of, with_launches
from benchgate.analysis.change_points import FEWEST_NIGHTS, noise
from benchgate.analysis.counted import counting_error
from benchgate.analysis.launch_noise import NightNoise
from benchgate.analysis.measures import Measure


@dataclass(frozen=True)
class Night:
    """One night of a series: the median of its repeats."""

    night: str  # when the run started, UTC, ISO 8601
    run: str
    value: float
    repeats: int = 1
    spread: float | None = None  # standard error of the night's value on the additive scale, where it is known
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
    first = rows[0]
    return Night(
        night=first.night,
        run=first.run,
        value=median(values),
        repeats=len(values),
        spread=_spread(measure, values, rows),
        fingerprint=first.fingerprint,
        facts=first.facts,
    )


def _spread(measure: Measure, values: Sequence[float], rows: Sequence[MeasuredCell]) -> float | None:
    """Standard error of a night's value: from its repeats, and for shares not less than counting gives."""
    scaled = [math.log(v) for v in values] if measure.effect == "ratio" else values
    repeats = _standard_error(scaled) if len(values) > 1 else None
    counted = counting_error(rows) if measure.effect == "difference" else None
    return max((one for one in (repeats, counted) if one is not None), default=None)


def _standard_error(values: Sequence[float]) -> float:
    """Of the mean. By hand: the standard library's is exact on fractions and a hundred times slower."""
    count = len(values)
    mean = sum(values) / count
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1) / count)


def night_noise(series: Iterable[NightlySeries]) -> dict[tuple[str, int | None, float | None, str], NightNoise]:
    """Noise between nights by workload, load and metric, from every arm and placement that has enough nights.

    Robust against changes of level and odd nights: it rests on differences between neighbouring nights. A night's
    value scatters by what differs between launches and by what its repeats scatter.
    """
    found: dict[tuple[str, int | None, float | None, str], list[tuple[float, int]]] = defaultdict(list)
    for one in series:
        if len(one.nights) >= FEWEST_NIGHTS:
            values = [night.value for night in one.nights]
            scaled = [math.log(v) for v in values] if one.measure.effect == "ratio" else values
            key = (one.workload, one.users, one.request_rate, one.measure.name)
            found[key].append((noise(scaled), len(values)))
    # the median absolute difference is worth about a third of the nights' degrees of freedom
    return {
        key: NightNoise(median(sigma for sigma, _ in pairs), sum(count - 1 for _, count in pairs) / 3)
        for key, pairs in found.items()
    }
