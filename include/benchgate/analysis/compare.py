"""Arm against baseline, per workload and load and metric, with an interval or the reason why there is none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchgate.analysis import intervals
from benchgate.analysis.cells import MeasuredCell, measures_of, refusals, with_launches
from benchgate.analysis.findings import (
    CONFOUNDED,
    INCONCLUSIVE,
    NO_VALUE,
    ONE_RUN,
    PAIRED,
    REFUSED,
    SAME_PLACEMENT,
    Comparison,
    PlacementEffect,
    UnswappedClaim,
)
from benchgate.analysis.measures import Measure
from benchgate.analysis.multiple import FALSE_DISCOVERIES, adjusted

# The client's own error (0.1 %): a smaller effect is never called, however small its interval.
RESOLUTION = 1e-3
INTERACTION_LEVEL = 0.05

Values = Mapping[str, Sequence[float]]  # placement -> values of the repeats on the additive scale


@dataclass(frozen=True)
class _Effect:
    """An estimate together with what the design says about it."""

    design: str
    placements: tuple[str, ...]
    point: float
    estimate: intervals.Estimate | None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    method: str | None = None
    two_way: intervals.TwoWay | None = None
    note: str = ""


def compare(
    cells: Iterable[MeasuredCell],
    baseline: str | Mapping[str, str] | None = None,
    home: Mapping[str, str] | None = None,
) -> list[Comparison]:
    """Every arm of one run against its baseline, every metric apart.

    ``baseline`` is the arm that all others are divided by (default: the arm of the first cell), or maps each arm to
    its own; an arm that the map leaves out or maps to itself is compared with none.

    Published cells are compared with published cells. Where a side has none, cells that were measured and refused by
    a gate are compared with each other and the result says ``unpublishable``: for engineers, never for quoting.
    ``home`` maps arm -> host/placement as the campaign declares it, and picks the unswapped claim that is shown.
    """
    rows = [cell for cell in cells if cell.end_state in ("published", "unpublishable")]
    if not rows:
        return []
    groups: dict[tuple[str, int | None, float | None], list[MeasuredCell]] = defaultdict(list)
    for cell in with_launches(rows):
        groups[(cell.workload, cell.users, cell.request_rate)].append(cell)
    arms = list(dict.fromkeys(cell.arm for cell in rows))
    if isinstance(baseline, Mapping):
        pairs = [(arm, baseline[arm]) for arm in arms if baseline.get(arm, arm) != arm]
    else:
        one = baseline if baseline is not None else rows[0].arm
        pairs = [(arm, one) for arm in arms if arm != one]
    found = []
    for group in groups.values():
        for arm, base in pairs:
            sides = _sides(group, base, arm)
            if sides is not None:
                basis, of_base, of_arm = sides
                found += [_compare(measure, basis, of_base, of_arm, home or {}) for measure in measures_of(of_arm[0])]
    return settle([comparison for comparison in found if comparison is not None])


def _sides(
    group: Sequence[MeasuredCell], base: str, arm: str
) -> tuple[str, list[MeasuredCell], list[MeasuredCell]] | None:
    """The cells of both arms on the best basis that both have; None when one of them measured nothing."""
    for basis in ("published", "unpublishable"):
        usable = [cell for cell in group if basis == "unpublishable" or cell.end_state == "published"]
        sides = [cell for cell in usable if cell.arm == base], [cell for cell in usable if cell.arm == arm]
        if all(sides):
            return basis, *sides
    return None


def _compare(
    measure: Measure, basis: str, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell], home: Mapping[str, str]
) -> Comparison | None:
    first = arm[0]
    values = {side: [v for cell in rows if (v := cell.value(measure)) is not None] for side, rows in _named(base, arm)}
    if not values["baseline"] and not values["arm"]:
        return None
    blank = Comparison(
        run=first.run,
        campaign=first.campaign,
        workload=first.workload,
        users=first.users,
        request_rate=first.request_rate,
        metric=measure.name,
        baseline=base[0].arm,
        arm=first.arm,
        basis=basis,
        design=_design(base, arm)[0],
        placements=_design(base, arm)[1],
        effect=measure.effect,
        verdict=NO_VALUE,
        reason="",
        baseline_median=median(values["baseline"]) if values["baseline"] else None,
        arm_median=median(values["arm"]) if values["arm"] else None,
        baseline_repeats=len(values["baseline"]),
        arm_repeats=len(values["arm"]),
    )
    problems = refusals([*base, *arm], measure)
    if problems:
        return replace(blank, verdict=REFUSED, reason="not comparable: " + "; ".join(problems))
    for side, rows in _named(base, arm):
        if not values[side]:
            return replace(blank, reason=_why_unknown(measure, rows))
    if len({*values["baseline"], *values["arm"]}) == 1 and min(map(len, values.values())) > 1:
        return replace(blank, verdict=INCONCLUSIVE, reason="all values are equal", point=_shown(measure, 0.0))
    return _with_effect(blank, measure, _effect(measure, base, arm), _unswapped(measure, base, arm, home))


def _named(
    base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell]
) -> tuple[tuple[str, Sequence[MeasuredCell]], tuple[str, Sequence[MeasuredCell]]]:
    return ("baseline", base), ("arm", arm)


def _why_unknown(measure: Measure, rows: Sequence[MeasuredCell]) -> str:
    reasons = {
        str(cell.facts.get("latency_reason") or cell.facts["latency_verdict"])
        for cell in rows
        if cell.facts.get("latency_verdict") not in (None, "valid")
    }
    because = f": {'; '.join(sorted(reasons))}" if reasons else ""
    return f"{measure.name} of {rows[0].arm} is unknown{because}"


def _design(base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell]) -> tuple[str, tuple[str, ...]]:
    """How placement enters: paired where both arms ran on it; otherwise it cannot be told from the arm."""
    ours, theirs = {cell.placement for cell in base}, {cell.placement for cell in arm}
    common = tuple(sorted(ours & theirs))
    if not common:
        return CONFOUNDED, tuple(sorted(ours | theirs))
    return (SAME_PLACEMENT if len(common) == 1 else PAIRED), common


def _by_placement(measure: Measure, cells: Sequence[MeasuredCell]) -> dict[str, list[float]]:
    """Values on the additive scale (logs for ratios), by placement."""
    result: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        value = cell.value(measure)
        if value is not None:
            result[cell.placement].append(math.log(value) if measure.effect == "ratio" else value)
    return dict(result)


def _effect(measure: Measure, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell]) -> _Effect:
    ours, theirs = _by_placement(measure, base), _by_placement(measure, arm)
    common = tuple(sorted(set(ours) & set(theirs)))
    if not common:
        pooled = [v for values in ours.values() for v in values], [v for values in theirs.values() for v in values]
        return _unpaired(CONFOUNDED, tuple(sorted({*ours, *theirs})), *pooled)
    if len(common) == 1:
        return _unpaired(SAME_PLACEMENT, common, ours[common[0]], theirs[common[0]])
    fit = intervals.two_way(ours, theirs)
    if fit is None:  # one run on each placement: a paired point, and no knowledge of the noise
        point = sum(_mean(theirs[place]) - _mean(ours[place]) for place in common) / len(common)
        return _Effect(PAIRED, common, point, None)
    return _spanning_placements(fit, common)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _unpaired(design: str, placements: tuple[str, ...], ours: Sequence[float], theirs: Sequence[float]) -> _Effect:
    estimate = intervals.difference(ours, theirs)
    point = _mean(theirs) - _mean(ours)
    if estimate is None:
        return _Effect(design, placements, point, None)
    return _Effect(design, placements, point, estimate, estimate.low, estimate.high, estimate.p_value, estimate.method)


def _spanning_placements(fit: intervals.TwoWay, common: tuple[str, ...]) -> _Effect:
    """The two-way estimate; where the effect depends on the placement, an interval that spans all."""
    own = [estimate for estimate in fit.by_placement.values() if estimate is not None]
    depends = fit.interaction_p is not None and fit.interaction_p < INTERACTION_LEVEL
    low, high, p_value, note = fit.arm.low, fit.arm.high, fit.arm.p_value, ""
    if depends and own:
        low, high = min([low, *(e.low for e in own)]), max([high, *(e.high for e in own)])
        signs = {math.copysign(1, e.effect) for e in own}
        p_value = max(p_value, *(e.p_value for e in own)) if len(signs) == 1 else 1.0
        note = "the effect differs between placements, so the interval spans each placement's own"
    return _Effect(PAIRED, common, fit.arm.effect, fit.arm, low, high, p_value, fit.arm.method, fit, note)


def _unswapped(
    measure: Measure, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell], home: Mapping[str, str]
) -> tuple[UnswappedClaim, ...]:
    ours, theirs = _by_placement(measure, base), _by_placement(measure, arm)
    common = sorted(set(ours) & set(theirs))
    pairs = [(here, there) for here in common for there in common if here != there]
    declared = (home.get(base[0].arm, ""), home.get(arm[0].arm, ""))
    claims = []
    for here, there in pairs:
        if declared in pairs and (here, there) != declared:
            continue
        effect = _unpaired(CONFOUNDED, (here, there), ours[here], theirs[there])
        claims.append(
            UnswappedClaim(
                baseline_placement=here,
                arm_placement=there,
                point=_shown(measure, effect.point),
                low=None if effect.low is None else _shown(measure, effect.low),
                high=None if effect.high is None else _shown(measure, effect.high),
                verdict=_verdict(measure, effect.point, effect.low, effect.high)[0],
                declared=(here, there) == declared,
            )
        )
    return tuple(claims)


def _shown(measure: Measure, value: float) -> float:
    return math.exp(value) if measure.effect == "ratio" else value


def _verdict(measure: Measure, point: float, low: float | None, high: float | None) -> tuple[str, int]:
    """``faster`` and +1, ``slower`` and -1, ``inconclusive`` or ``one run`` and 0: from the interval alone."""
    if low is None or high is None:
        return ONE_RUN, 0
    if low <= 0 <= high or abs(point) < RESOLUTION:
        return INCONCLUSIVE, 0
    direction = 1 if (point > 0) == (measure.better == "higher") else -1
    return measure.words[0 if direction > 0 else 1], direction


def _with_effect(
    blank: Comparison, measure: Measure, effect: _Effect, unswapped: tuple[UnswappedClaim, ...]
) -> Comparison:
    verdict, direction = _verdict(measure, effect.point, effect.low, effect.high)
    reasons = [effect.note] if effect.note else []
    if effect.design == CONFOUNDED:
        reasons.append(f"{CONFOUNDED}: no placement ran both arms")
    if effect.estimate is None:
        reasons.append("an interval needs at least two repeats of each arm")
    visible = None if effect.estimate is None else max(effect.estimate.minimum_detectable, RESOLUTION)
    fit = effect.two_way
    return replace(
        blank,
        design=effect.design,
        placements=effect.placements,
        verdict=verdict,
        direction=direction,
        reason="; ".join(reasons),
        point=_shown(measure, effect.point),
        low=None if effect.low is None else _shown(measure, effect.low),
        high=None if effect.high is None else _shown(measure, effect.high),
        method=effect.method,
        p_value=effect.p_value,
        smallest_visible=visible if visible is None or measure.effect == "difference" else math.expm1(visible),
        interaction_p=None if fit is None else fit.interaction_p,
        placement_effects=()
        if fit is None
        else tuple(
            PlacementEffect(
                place, effect.placements[0], *(_shown(measure, v) for v in (other.effect, other.low, other.high))
            )
            for place, other in fit.placements.items()
        ),
        unswapped=unswapped,
    )


def settle(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Correct for the number of comparisons: a verdict must survive Benjamini-Hochberg over the whole run.

    The interval stays the 95 % interval of this one comparison; what is withdrawn is the verdict, and it says so.
    """
    tested = [index for index, comparison in enumerate(comparisons) if comparison.p_value is not None]
    levels = adjusted([p for comparison in comparisons if (p := comparison.p_value) is not None])
    result = list(comparisons)
    for index, level in zip(tested, levels, strict=True):
        before = result[index]
        after = replace(before, adjusted_p=level, family_size=len(tested))
        if before.direction and level > FALSE_DISCOVERIES:
            chance = (
                f"its interval excludes no effect, but among {len(tested)} comparisons of this run that happens by "
                f"chance (adjusted p {level:.2f})"
            )
            reason = "; ".join(filter(None, [before.reason, chance]))
            after = replace(after, verdict=INCONCLUSIVE, direction=0, reason=reason)
        result[index] = after
    return result
