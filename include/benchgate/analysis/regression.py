"""PASS, REGRESSED, IMPROVED or INCONCLUSIVE: one series of nights. ``family.py`` judges all series of one night."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchgate.analysis.cells import MeasuredCell, refusals
from benchgate.analysis.change_points import SMALLEST_SEGMENT, change_points, without_spikes
from benchgate.analysis.changed import in_words, is_known, what_changed
from benchgate.analysis.findings import (
    CALLED,
    IMPROVED,
    NOT_COMPARABLE,
    PASS,
    REGRESSED,
    UNDECIDED,
    RegressionFinding,
)
from benchgate.analysis.measures import Measure
from benchgate.analysis.night_noise import Rules, least_noise, rules_of
from benchgate.analysis.nightly_rule import FEW_NIGHTS, NIGHTLY_LEVEL, SHARES, Step, smallest_visible, step
from benchgate.analysis.series import Night, NightlySeries

LONGEST_HISTORY = 90  # nights that are looked at


def judge(series: NightlySeries, rules: Rules | None = None) -> RegressionFinding:
    """One series as of its newest night; ``rules`` of the campaign's noise, by default those of the measure alone."""
    rules = rules or rules_of(series.measure)
    tonight = judge_alone(series, rules)
    earlier = (judge_alone(series.until(count), rules) for count in range(len(series.nights) - 1, 0, -1))
    return announced(series, tonight, earlier)


def announced(
    series: NightlySeries, tonight: RegressionFinding, earlier: Iterable[RegressionFinding]
) -> RegressionFinding:
    """``tonight`` with whether it is news: no night since the change was first seen has called it.

    ``earlier`` has what was said the night before, the night before that, and so on; no more is taken than is needed.
    """
    if tonight.answer not in CALLED:
        return tonight
    for one in earlier:
        if not _near(series, one.since_night, tonight.since_night):
            break  # nobody saw the change yet
        if one.answer == tonight.answer:
            return tonight
    return replace(tonight, new_tonight=True)


def _near(series: NightlySeries, one: str | None, other: str | None) -> bool:
    """The same change, whose first night is told apart better with every night that follows."""
    order = [night.night for night in series.nights]
    return one in order and other in order and abs(order.index(one) - order.index(other)) <= 2


def judge_alone(series: NightlySeries, rules: Rules) -> RegressionFinding:
    """One series as of its newest night, whatever other series say and whatever was said the night before."""
    measure = series.measure
    nights, left_out = comparable(series)
    newest = series.nights[-1]
    blank = RegressionFinding(
        run=newest.run,
        campaign=series.campaign,
        arm=series.arm,
        placement=series.placement,
        workload=series.workload,
        users=series.users,
        request_rate=series.request_rate,
        metric=measure.name,
        answer=UNDECIDED,
        reason="The first night: nothing to compare with.",
        method="none",
        nights=len(nights),
        value=newest.value,
    )
    if len(nights) < 2:
        if left_out:
            return replace(blank, answer=NOT_COMPARABLE, reason=f"Not comparable with the nights before: {left_out}.")
        return blank
    values = [_scaled(measure, night.value) for night in nights]
    # an old odd night must neither hide a new regression nor look like a level
    usual = without_spikes(values, least_noise(measure))
    steps = _steps(measure, rules, nights, values, usual)
    finding = _decide(blank, measure, rules, nights, values, usual, steps)
    if left_out:
        finding = replace(finding, reason=f"{finding.reason} Earlier nights are not compared: {left_out}.")
    return finding


def comparable(series: NightlySeries) -> tuple[tuple[Night, ...], str]:
    """The newest nights that are numbers of one kind, and why the one before them is not (empty when all are)."""
    nights = series.nights[-LONGEST_HISTORY:]
    newest = _as_cell(series, nights[-1])
    for index in range(len(nights) - 2, -1, -1):
        if nights[index].facts == nights[-1].facts:
            continue
        problems = refusals([_as_cell(series, nights[index]), newest], series.measure)
        if problems:
            return nights[index + 1 :], "; ".join(problems)
    return nights, ""


def past_changes(series: NightlySeries) -> list[int]:
    """Indexes of the nights at which the series changed its level in the past, for a chart."""
    nights, _ = comparable(series)
    values = [_scaled(series.measure, night.value) for night in nights]
    offset = len(series.nights) - len(nights)
    usual = without_spikes(values, least_noise(series.measure))
    return [offset + index for index in change_points(usual, least_noise(series.measure))]


def _as_cell(series: NightlySeries, night: Night) -> MeasuredCell:
    return MeasuredCell(
        run=night.run,
        arm=series.arm,
        placement=series.placement,
        workload=series.workload,
        users=series.users,
        request_rate=series.request_rate,
        repeat=1,
        values={},
        facts=night.facts,
    )


def _scaled(measure: Measure, value: float) -> float:
    return math.log(value) if measure.effect == "ratio" else value


def _steps(
    measure: Measure, rules: Rules, nights: Sequence[Night], values: Sequence[float], usual: Sequence[float]
) -> list[tuple[Step, int]]:
    """A step for each of the last seven nights at which a new level may have begun, and where the old one begins."""
    past = [0, *change_points(usual, least_noise(measure))]
    found = []
    for length in SHARES:
        first = len(values) - length
        if first < 1:
            break
        # a change point that close to the candidate is the candidate itself, seen a night off
        start = max(point for point in past if point == 0 or point <= first - SMALLEST_SEGMENT)
        spreads = [night.spread for night in nights[first:] if night.spread is not None]
        one = step(
            usual[start:first],
            values[first:],
            assumed_noise=rules.assumed_noise,
            correlation=rules.correlation,
            odd_nights=rules.odd_nights,
            spread=max(spreads) if spreads else None,
            worse=_worse(measure),
        )
        found.append((one, start))
    return found


def _worse(measure: Measure) -> int:
    """Sign of a change for the worse."""
    return -1 if measure.better == "higher" else 1


def _decide(
    blank: RegressionFinding,
    measure: Measure,
    rules: Rules,
    nights: Sequence[Night],
    values: Sequence[float],
    usual: Sequence[float],
    steps: Sequence[tuple[Step, int]],
) -> RegressionFinding:
    best, start = _likeliest(nights, steps)
    first = len(values) - best.length
    changes = what_changed(nights[first - 1], nights[first])
    known = is_known(nights[first - 1]) and is_known(nights[first])
    event = replace(
        _filled(blank, measure, best, first - start),
        answer=REGRESSED if best.effect * _worse(measure) > 0 else IMPROVED,
        since_night=nights[first].night,
        since_run=nights[first].run,
        what_changed=changes,
    )
    size = f"{_size(measure, event)} since {nights[first].night[:10]}"
    event = replace(event, reason=f"{size}. {_because(changes, known)}")
    explained = bool(changes) or not known
    # one earlier night is no level by itself: it may be the odd one, unless something changed after it
    lasting = best.persistent and (explained or first - start > 1)
    if best.p_value <= NIGHTLY_LEVEL and (lasting or (best.length == 1 and changes)):
        return event
    if explained and first - start < FEW_NIGHTS and _plainly(nights, values, start, rules):
        return replace(event, method="plain rule of the first nights", p_value=min(best.p_value, NIGHTLY_LEVEL))
    if best.p_value <= NIGHTLY_LEVEL:
        doubt = _doubt(best, first - start)
        return replace(event, answer=UNDECIDED, reason=f"{size}, but {doubt}. {_because(changes, known)}")
    return _no_change(blank, measure, rules, usual, steps, best.p_value)


def _likeliest(nights: Sequence[Night], steps: Sequence[tuple[Step, int]]) -> tuple[Step, int]:
    """The likeliest first night of a new level. Among those that would be called, one on which something changed goes
    first: noise moves the best fit by a night or two, and a change is blamed on what changed with it.
    """

    def changed(length: int) -> bool:
        return bool(what_changed(nights[-length - 1], nights[-length]))

    lasting = [item for item in steps if item[0].persistent] or steps
    best = min(lasting, key=lambda item: (item[0].p_value, item[0].length))
    with_cause = [item for item in lasting if item[0].p_value <= NIGHTLY_LEVEL and changed(item[0].length)]
    if not with_cause or changed(best[0].length):
        return best
    step, start = min(with_cause, key=lambda item: (item[0].p_value, item[0].length))
    return replace(step, p_value=best[0].p_value), start  # that the level changed is as likely as it was


def _doubt(one: Step, before: int) -> str:
    """Why an unlikely difference is no answer yet."""
    if one.length == 1:
        return "one night far outside; a second night decides"
    return "one night before is no level" if one.persistent and before == 1 else "the nights disagree"


def _filled(blank: RegressionFinding, measure: Measure, one: Step, before: int) -> RegressionFinding:
    return replace(
        blank,
        value=_back(measure, one.after),
        previous_value=_back(measure, one.before),
        change=_relative(measure, one.effect),
        change_low=_relative(measure, one.effect - one.half_width),
        change_high=_relative(measure, one.effect + one.half_width),
        p_value=one.p_value,
        method=f"t of {one.length} against {before} nights, noise moderated",
    )


def _no_change(
    blank: RegressionFinding,
    measure: Measure,
    rules: Rules,
    usual: Sequence[float],
    steps: Sequence[tuple[Step, int]],
    p_value: float,
) -> RegressionFinding:
    """PASS when a relevant change would have been found; the two newest nights stand for the present."""
    shown, start = steps[min(1, len(steps) - 1)]
    first = len(usual) - shown.length
    visible = smallest_visible(usual[start:first], rules.assumed_noise, rules.correlation, shown.spread)
    finding = replace(
        _filled(blank, measure, shown, first - start),
        p_value=p_value,
        smallest_visible_change=_relative(measure, visible),
    )
    size = _percent(measure, finding.smallest_visible_change)
    if visible > rules.relevant:
        text = f"No change found, but only one of {size} or more would have been found within two nights."
        return replace(finding, reason=text)
    return replace(finding, answer=PASS, reason=f"No change; one of {size} would have been found within two nights.")


def _plainly(nights: Sequence[Night], values: Sequence[float], start: int, rules: Rules) -> bool:
    """First nights: the newest differs from the mean of those before by more than single runs do, odd ones included."""
    if rules.odd_nights > NIGHTLY_LEVEL:
        return False
    before = values[start:-1]
    change = abs(values[-1] - sum(before) / len(before))
    scatter = max(before) - min(before)
    spreads = [night.spread or 0.0 for night in nights[start:]]
    return change >= max(rules.plain, 2 * scatter, 3 * math.hypot(*spreads))


def _back(measure: Measure, value: float) -> float:
    return math.exp(value) if measure.effect == "ratio" else value


def _relative(measure: Measure, effect: float) -> float:
    return math.expm1(effect) if measure.effect == "ratio" else effect


def _percent(measure: Measure, change: float | None) -> str:
    unit = "%" if measure.effect == "ratio" else "points"
    return "unknown" if change is None else f"{100 * abs(change):.1f} {unit}"


def _size(measure: Measure, finding: RegressionFinding) -> str:
    unit = "%" if measure.effect == "ratio" else "points"
    low, high, change = (100 * (v or 0.0) for v in (finding.change_low, finding.change_high, finding.change))
    return f"{measure.title} {change:+.1f} {unit} [{low:+.1f}, {high:+.1f}]"


def _because(changes: dict[str, tuple[str | None, str | None]], known: bool) -> str:
    if not known:
        return "What changed is unknown: no fingerprint on one of the nights."
    return f"Changed that night: {in_words(changes)}." if changes else in_words(changes).capitalize() + "."
