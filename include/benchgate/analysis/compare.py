"""Arm against baseline, per workload and load and metric, with an interval or the reason why there is none."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from benchgate.analysis.cells import MeasuredCell, measures_of, refusals, why_refused, with_launches
from benchgate.analysis.effects import Effect, by_placement, design_of, effect_of, settled, unswapped_effect
from benchgate.analysis.findings import (
    CONFOUNDED,
    INCONCLUSIVE,
    NO_VALUE,
    ONE_RUN,
    REFUSED,
    Comparison,
    PlacementEffect,
    UnswappedClaim,
)
from benchgate.analysis.launch_noise import NightNoise, launch_noise
from benchgate.analysis.measures import Measure
from benchgate.analysis.multiple import FALSE_DISCOVERIES, adjusted
from benchgate.analysis.shared_noise import moderated

# The client's own error (0.1 %): a smaller effect is never called, however small its interval.
RESOLUTION = 1e-3

Series = tuple[str, int | None, float | None, str]  # workload, users, request rate, metric


@dataclass(frozen=True)
class _Open:
    """A comparison whose noise is not settled yet: other comparisons of the run may know more about it."""

    comparison: Comparison
    measure: Measure
    effect: Effect | None  # None: refused, or without a value
    unswapped: tuple[UnswappedClaim, ...] = ()


def compare(
    cells: Iterable[MeasuredCell],
    baseline: str | Mapping[str, str] | None = None,
    home: Mapping[str, str] | None = None,
    nights: Mapping[Series, NightNoise] | None = None,
) -> list[Comparison]:
    """Every arm of one run against its baseline, every metric apart.

    ``baseline`` is the arm that all others are divided by (default: the arm of the first cell), or maps each arm to
    its own; an arm that the map leaves out or maps to itself is compared with none.

    Published cells are compared with published cells. Where a side has none, cells that were measured and refused by
    a gate are compared with each other and the result says ``unpublishable``: for engineers, never for quoting.
    ``home`` maps arm -> host/placement as the campaign declares it, and picks the unswapped claim that is shown.
    ``nights`` is what earlier nights know about the noise from launch to launch (:func:`series.night_noise`).
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
                found += [_open(measure, basis, of_base, of_arm, home or {}) for measure in measures_of(of_arm[0])]
    places = {arm: {cell.placement for cell in rows if cell.arm == arm} for arm in arms}
    swapped = {(arm, base) for arm, base in pairs if places[arm] & places.get(base, set())}
    closed = _close([one for one in found if one is not None], nights or {})
    return settle([_unclaimed(one) if (one.arm, one.baseline) in swapped else one for one in closed])


def _unclaimed(comparison: Comparison) -> Comparison:
    """A comparison of arms that took turns elsewhere in the run: where refusals left them no common placement, the run
    knows better than to say which of arm and placement it was.
    """
    if comparison.design != CONFOUNDED or comparison.low is None:
        return comparison
    reason = f"{comparison.reason}; elsewhere in this run both did, so here there is no verdict"
    return replace(comparison, verdict=INCONCLUSIVE, direction=0, p_value=None, reason=reason)


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


def _open(
    measure: Measure, basis: str, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell], home: Mapping[str, str]
) -> _Open | None:
    first = arm[0]
    values = {side: [v for cell in rows if (v := cell.value(measure)) is not None] for side, rows in _named(base, arm)}
    if not values["baseline"] and not values["arm"]:
        return None
    design, placements = design_of(base, arm)
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
        design=design,
        placements=placements,
        effect=measure.effect,
        verdict=NO_VALUE,
        reason=f"refused cells: {why_refused([*base, *arm])}" if basis == "unpublishable" else "",
        baseline_median=median(values["baseline"]) if values["baseline"] else None,
        arm_median=median(values["arm"]) if values["arm"] else None,
        baseline_repeats=len(values["baseline"]),
        arm_repeats=len(values["arm"]),
    )
    problems = refusals([*base, *arm], measure)
    if problems:
        problem = "not comparable: " + "; ".join(problems)
        refused = replace(blank, verdict=REFUSED, reason="; ".join(filter(None, [problem, blank.reason])))
        return _Open(refused, measure, None)
    for side, rows in _named(base, arm):
        if not values[side]:
            return _Open(replace(blank, reason=_why_unknown(measure, rows)), measure, None)
    if len({*values["baseline"], *values["arm"]}) == 1 and min(map(len, values.values())) > 1:
        equal = replace(blank, verdict=INCONCLUSIVE, reason="all values are equal", point=_shown(measure, 0.0))
        return _Open(equal, measure, None)
    return _Open(blank, measure, effect_of(measure, base, arm), _unswapped(measure, base, arm, home))


def _close(rows: Sequence[_Open], nights: Mapping[Series, NightNoise]) -> list[Comparison]:
    """Settle the noise of each metric over the whole run, then the verdicts."""
    result = [row.comparison for row in rows]
    by_metric: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if row.effect is not None:
            by_metric[(row.comparison.basis, row.measure.name)].append(index)
    for indexes in by_metric.values():
        effects = [effect for index in indexes if (effect := rows[index].effect) is not None]
        between = launch_noise(_launches_seen(rows[index] for index in indexes))
        for index, effect, estimate in zip(indexes, effects, moderated([e.estimate for e in effects]), strict=True):
            row = rows[index]
            if estimate is not None:
                blank = row.comparison
                known = nights.get((blank.workload, blank.users, blank.request_rate, row.measure.name))
                effect = settled(row.measure, effect, estimate, known, between)
            result[index] = _with_effect(row.comparison, row.measure, effect, row.unswapped)
    return result


def _launches_seen(rows: Iterable[_Open]) -> Iterable[tuple[str, int, float | None]]:
    """What the swapped launches of these comparisons say about the noise between launches."""
    for row in rows:
        if row.effect is not None and row.effect.two_way is not None:
            pair = f"{row.comparison.arm} / {row.comparison.baseline}"
            yield pair, len(row.effect.placements), row.effect.two_way.launch_variance


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


def _unswapped(
    measure: Measure, base: Sequence[MeasuredCell], arm: Sequence[MeasuredCell], home: Mapping[str, str]
) -> tuple[UnswappedClaim, ...]:
    ours, theirs = by_placement(measure, base), by_placement(measure, arm)
    common = sorted(set(ours) & set(theirs))
    pairs = [(here, there) for here in common for there in common if here != there]
    declared = (home.get(base[0].arm, ""), home.get(arm[0].arm, ""))
    claims = []
    for here, there in pairs:
        if declared in pairs and (here, there) != declared:
            continue
        effect = unswapped_effect(measure, base, arm, here, there)
        if effect.estimate is not None:
            effect = settled(measure, effect, effect.estimate, None, launch_noise(()))
        low, high, _ = effect.bounds() or (None, None, None)
        claims.append(
            UnswappedClaim(
                baseline_placement=here,
                arm_placement=there,
                point=_shown(measure, effect.point),
                low=None if low is None else _shown(measure, low),
                high=None if high is None else _shown(measure, high),
                verdict=_verdict(measure, effect.point, low, high)[0],
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
    blank: Comparison, measure: Measure, effect: Effect, unswapped: tuple[UnswappedClaim, ...]
) -> Comparison:
    bounds = effect.bounds()
    low, high, p_value = bounds if bounds is not None else (None, None, None)
    verdict, direction = _verdict(measure, effect.point, low, high)
    reasons = [blank.reason] if blank.reason else []
    if effect.depends_on_placement:
        reasons.append("the effect differs between placements, so the interval spans each placement's own")
    if effect.design == CONFOUNDED:
        reasons.append(f"{CONFOUNDED}: no placement ran both arms")
    if effect.estimate is None:
        reasons.append("an interval needs at least two repeats of each arm")
    visible = None if effect.estimate is None else max(effect.estimate.minimum_detectable, RESOLUTION)
    fit = effect.two_way
    others = {} if fit is None else fit.placements
    return replace(
        blank,
        design=effect.design,
        placements=effect.placements,
        verdict=verdict,
        direction=direction,
        reason="; ".join(reasons),
        point=_shown(measure, effect.point),
        low=None if low is None else _shown(measure, low),
        high=None if high is None else _shown(measure, high),
        method=None if effect.estimate is None else effect.estimate.method,
        p_value=p_value,
        smallest_visible=visible if visible is None or measure.effect == "difference" else math.expm1(visible),
        interaction_p=None if fit is None else fit.interaction_p,
        placement_effects=tuple(
            PlacementEffect(place, effect.placements[0], *(_shown(measure, v) for v in (e.effect, e.low, e.high)))
            for place, e in others.items()
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
