"""The effect of an arm against its baseline in one metric, as the design of the campaign lets it be estimated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchgate.analysis import intervals
from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.counted import Counting, counting_of_difference, with_counting
from benchgate.analysis.findings import CONFOUNDED, PAIRED, SAME_PLACEMENT
from benchgate.analysis.intervals import Estimate, TwoWay
from benchgate.analysis.launch_noise import LaunchNoise, NightNoise, with_launches_of_few_nights, with_nights
from benchgate.analysis.measures import Measure

INTERACTION_LEVEL = 0.05


@dataclass(frozen=True)
class Effect:
    """An estimate on the additive scale, together with what the design says about it."""

    design: str
    placements: tuple[str, ...]
    point: float
    estimate: Estimate | None  # None for a single run
    two_way: TwoWay | None = None
    launches: tuple[int, int] = (1, 1)  # of the baseline and of the arm
    counting: Counting | None = None  # of shares: what counting alone makes them differ by

    @property
    def depends_on_placement(self) -> bool:
        """The arms differ differently on the placements, more than the repeats' noise explains."""
        p = None if self.two_way is None else self.two_way.interaction_p
        return p is not None and p < INTERACTION_LEVEL

    def bounds(self) -> tuple[float, float, float] | None:
        """Low, high and p value; where the effect depends on the placement, an interval that spans all of them."""
        if self.estimate is None:
            return None
        low, high, p_value = self.estimate.low, self.estimate.high, self.estimate.p_value
        own = [e for e in self.two_way.by_placement.values() if e is not None] if self.two_way else []
        if self.depends_on_placement and own:
            low, high = min([low, *(e.low for e in own)]), max([high, *(e.high for e in own)])
            signs = {math.copysign(1, e.effect) for e in own}
            p_value = max(p_value, *(e.p_value for e in own)) if len(signs) == 1 else 1.0
        return low, high, p_value


def design_of(base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell]) -> tuple[str, tuple[str, ...]]:
    """How placement enters: paired where both arms ran on it; otherwise it cannot be told from the arm."""
    ours, theirs = {cell.placement for cell in base}, {cell.placement for cell in arm}
    common = tuple(sorted(ours & theirs))
    if not common:
        return CONFOUNDED, tuple(sorted(ours | theirs))
    return (SAME_PLACEMENT if len(common) == 1 else PAIRED), common


def by_placement(measure: Measure, cells: Sequence[MeasuredCell]) -> dict[str, list[float]]:
    """Values on the additive scale (logs for ratios), by placement."""
    result: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        value = cell.value(measure)
        if value is not None:
            result[cell.placement].append(math.log(value) if measure.effect == "ratio" else value)
    return dict(result)


def effect_of(measure: Measure, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell]) -> Effect:
    """Paired over the placements that both arms ran on; unpaired, and confounded, where there is none."""
    ours, theirs = by_placement(measure, base), by_placement(measure, arm)
    common = tuple(sorted(set(ours) & set(theirs)))
    effect = _effect(ours, theirs, common)
    if measure.effect == "ratio":
        return effect
    return replace(effect, counting=counting_of_difference(_on(effect.placements, base), _on(effect.placements, arm)))


def _effect(
    ours: Mapping[str, Sequence[float]], theirs: Mapping[str, Sequence[float]], common: tuple[str, ...]
) -> Effect:
    if not common:
        pooled = [v for values in ours.values() for v in values], [v for values in theirs.values() for v in values]
        apart = unpaired(CONFOUNDED, tuple(sorted({*ours, *theirs})), *pooled)
        return replace(apart, launches=(len(ours), len(theirs)))
    if len(common) == 1:
        return unpaired(SAME_PLACEMENT, common, ours[common[0]], theirs[common[0]])
    fit = intervals.two_way(ours, theirs)
    if fit is None:  # one run on each placement: a paired point, and no knowledge of the noise
        point = sum(_mean(theirs[place]) - _mean(ours[place]) for place in common) / len(common)
        return Effect(PAIRED, common, point, None)
    return Effect(PAIRED, common, fit.arm.effect, fit.arm, fit, (len(common), len(common)))


def unswapped_effect(
    measure: Measure, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell], here: str, there: str
) -> Effect:
    """The baseline on placement ``here`` against the arm on ``there``, as if neither had run anywhere else."""
    effect = effect_of(measure, _on((here,), base), _on((there,), arm))
    return replace(effect, placements=(here, there))


def _on(places: Sequence[str], cells: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    return [cell for cell in cells if cell.placement in places]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def unpaired(design: str, placements: tuple[str, ...], ours: Sequence[float], theirs: Sequence[float]) -> Effect:
    """One group of values against another."""
    estimate = intervals.difference(ours, theirs)
    point = _mean(theirs) - _mean(ours)
    return Effect(design, placements, point, estimate)


def between_launches(
    measure: Measure, effect: Effect, estimate: Estimate, nights: NightNoise | None, assumed: LaunchNoise
) -> Estimate:
    """``estimate`` of ``effect`` with what differs from launch to launch: known from ``nights``, or ``assumed``.

    Facts of a launch have it in them already. Of error rates nobody knows it, and a rate of 0 is 0 on every launch;
    what counting makes them differ by is known.
    """
    estimate = with_counting(estimate, effect.counting)
    if nights is not None:
        return with_nights(estimate, nights, effect.launches)
    if measure.of == "launch" or measure.effect == "difference":
        return estimate
    return with_launches_of_few_nights(estimate, assumed, effect.launches)


def settled(
    measure: Measure, effect: Effect, estimate: Estimate, nights: NightNoise | None, assumed: LaunchNoise
) -> Effect:
    """``effect`` with what the run knows of its noise (``estimate``), and it and the placements' own effects with what
    differs from launch to launch.
    """
    two_way = effect.two_way
    if two_way is not None:
        of_place = replace(effect, launches=(2, 2))  # both arms ran on either placement
        places = {
            place: between_launches(measure, of_place, own, nights, assumed)
            for place, own in two_way.placements.items()
        }
        two_way = replace(two_way, placements=places)
    return replace(effect, estimate=between_launches(measure, effect, estimate, nights, assumed), two_way=two_way)
