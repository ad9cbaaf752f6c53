"""The charts of a run: what the server does and what users wait, against the load; and each series over the nights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from benchgate.analysis.findings import CALLED, IMPROVED, PASS, REGRESSED, RegressionFinding, context_words
from benchgate.analysis.levels import Level
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.reference import ReferenceCell
from benchgate.analysis.regression import past_changes
from benchgate.analysis.series import NightlySeries
from benchgate.names import slug
from benchgate.report.svg import Chart, Mark, Point, Series
from benchgate.report.tables import number

AGAINST_USERS = ("decode_tok_s", "prefill_tok_s", "ttft_p50_ms", "tpot_p50_ms")
LOG_RATIO = 20.0  # values that span more than this are drawn on a log axis
TREND_METRICS = ("decode_tok_s", "ttft_p50_ms", "tpot_p50_ms", "prefill_tok_s")
MOST_TRENDS = 24
MOST_NAMED = 6  # lines that can be told apart; of more arms the best and the worst are named, the others are grey
BEST_NAMED = 3
MOST_NIGHT_LABELS = 7


def load_charts(levels: Iterable[Level], references: Iterable[ReferenceCell] = ()) -> list[Chart]:
    """One chart for each workload and metric: a line an arm, whiskers for intervals, sources as loose points."""
    by_workload: dict[str, list[Level]] = defaultdict(list)
    for level in levels:
        by_workload[level.workload].append(level)
    stated = list(references)
    charts = []
    for workload, rows in by_workload.items():
        for metric in AGAINST_USERS:
            chosen = [level for level in rows if level.metric == metric]
            if chosen:
                theirs = [cell for cell in stated if cell.workload == workload and metric in cell.values]
                charts.append(_load_chart(workload, metric, chosen, theirs))
    return charts


def _load_chart(workload: str, metric: str, rows: Sequence[Level], stated: Sequence[ReferenceCell]) -> Chart:
    measure = BY_NAME[metric]
    closed = any(level.users is not None for level in rows)
    lines: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for level in rows:
        x = level.users if closed else level.request_rate
        if x is not None:
            lines[(level.arm, level.basis)].append(_point(level, float(x), measure.unit))
    series = [
        Series(arm if basis == "published" else f"{arm} (refused)", tuple(points), faint=basis != "published")
        for (arm, basis), points in lines.items()
    ]
    ranked = _ranked(series, best_first=measure.better == "higher")
    if len(series) > MOST_NAMED:
        named = {one.name for one in [*ranked[:BEST_NAMED], *ranked[BEST_NAMED - MOST_NAMED :]]}
        series = [one if one.name in named else replace(one, quiet=True) for one in series]
    for source in dict.fromkeys((cell.source, cell.arm) for cell in stated):
        points = [
            Point(float(cell.users), cell.values[metric], note=f"{number(cell.values[metric])} {measure.unit}, one run")
            for cell in stated
            if (cell.source, cell.arm) == source and cell.users is not None
        ]
        series.append(Series(f"{source[1]} ({source[0]})", tuple(points), faint=True))
    xs = sorted({point.x for one in series for point in one.points})
    ys = [point.y for one in series for point in one.points]
    return Chart(
        key=f"load-{slug(workload)}-{metric}",
        title=f"{measure.title}: {workload}",
        description=_in_words(
            ranked, f"{measure.title} in {measure.unit} at each load, a line for each arm", measure.unit
        ),
        x_label="users" if closed else "requests/s",
        y_label=measure.unit,
        series=tuple(series),
        log_x=bool(xs) and xs[0] > 0 and xs[-1] / xs[0] >= 8,
        log_y=bool(ys) and min(ys) > 0 and max(ys) / min(ys) >= LOG_RATIO,
        x_ticks=tuple((x, f"{x:g}") for x in xs) if len(xs) <= 8 else None,
    )


def _ranked(series: Sequence[Series], *, best_first: bool) -> list[Series]:
    """By what they do at their highest load."""
    return sorted(series, key=lambda one: max(one.points, key=lambda p: p.x).y, reverse=best_first)


def _in_words(ranked: Sequence[Series], what: str, unit: str) -> str:
    """The text alternative: who is best and who is worst at the highest load, and where all numbers are."""
    if len(ranked) < 2:
        return f"{what}; the numbers are in the table of levels."
    best, worst = (max(one.points, key=lambda p: p.x) for one in (ranked[0], ranked[-1]))
    quiet = f" Of {len(ranked)} arms the best and the worst are named." if len(ranked) > MOST_NAMED else ""
    return (
        f"{what}. At {best.x:g} the best is {ranked[0].name} with {number(best.y)} {unit}, at {worst.x:g} the worst is "
        f"{ranked[-1].name} with {number(worst.y)} {unit}.{quiet} All numbers are in the table of levels."
    )


def _point(level: Level, x: float, unit: str) -> Point:
    text = f"{number(level.middle)} {unit}"
    if level.low is not None and level.high is not None:
        text += f", 95 % interval {number(level.low)} to {number(level.high)}, {level.repeats} repeats"
    else:
        text += ", one run"
    return Point(x, level.middle, level.low, level.high, text)


def trend_charts(series: Iterable[NightlySeries], findings: Iterable[RegressionFinding]) -> list[Chart]:
    """Series with at least three nights, those that moved first; change points as vertical lines."""
    by_key = {_finding_key(finding): finding for finding in findings}
    rows = [one for one in series if len(one.nights) >= 3 and one.measure.name in TREND_METRICS]
    rows.sort(key=lambda one: (_calm(by_key.get(_series_key(one))), TREND_METRICS.index(one.measure.name)))
    return [_trend_chart(one, by_key.get(_series_key(one))) for one in rows[:MOST_TRENDS]]


def _calm(finding: RegressionFinding | None) -> int:
    """0 for what people must see first."""
    order = {REGRESSED: 0, IMPROVED: 1}
    return 3 if finding is None or finding.answer == PASS else order.get(finding.answer, 2)


def _series_key(one: NightlySeries) -> tuple[object, ...]:
    return one.arm, one.placement, one.workload, one.users, one.request_rate, one.measure.name


def _finding_key(finding: RegressionFinding) -> tuple[object, ...]:
    return (
        finding.arm,
        finding.placement,
        finding.workload,
        finding.users,
        finding.request_rate,
        finding.metric,
    )


def _trend_words(one: NightlySeries, marks: Sequence[Mark]) -> str:
    """The text alternative of a trend: its ends and what is marked."""
    first, last, unit = one.nights[0], one.nights[-1], one.measure.unit
    said = "; ".join(mark.text for mark in marks) if marks else "no change of level"
    return (
        f"One point a night, {len(one.nights)} nights: {number(first.value)} {unit} on {first.night[:10]}, "
        f"{number(last.value)} {unit} on {last.night[:10]}. Marked by vertical lines: {said}."
    )


def _trend_chart(one: NightlySeries, finding: RegressionFinding | None) -> Chart:
    points = tuple(
        Point(float(i), night.value, note=f"{night.night[:10]}: {number(night.value)} {one.measure.unit}")
        for i, night in enumerate(one.nights)
    )
    marks = [Mark(float(i), f"level change {one.nights[i].night[:10]}") for i in past_changes(one)]
    if finding is not None and finding.answer in CALLED:
        index = next((i for i, night in enumerate(one.nights) if night.night == finding.since_night), None)
        if index is not None:
            marks = [mark for mark in marks if abs(mark.x - index) > 2]
            marks.append(Mark(float(index), f"{finding.answer} {one.nights[index].night[:10]}", finding.answer.lower()))
    every = max(1, -(-len(points) // MOST_NIGHT_LABELS))
    where = f"{one.arm} on {one.placement}, {context_words(one.workload, one.users, one.request_rate)}"
    return Chart(
        key=f"trend-{slug(one.arm)}-{slug(one.placement)}-{slug(one.workload)}-{one.users}-{one.request_rate}-"
        f"{one.measure.name}",
        title=f"{one.measure.title}: {where}",
        description=_trend_words(one, marks),
        x_label="night",
        y_label=one.measure.unit,
        series=(Series(one.arm, points),),
        marks=tuple(marks),
        x_ticks=tuple((float(i), one.nights[i].night[5:10]) for i in range(0, len(points), every)),
    )
