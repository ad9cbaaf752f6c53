"""The pictures of the pages, as SVG text without a script: lines over loads and nights, strips, intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from html import escape

from markupsafe import Markup

from benchgate.analysis.findings import Comparison
from benchgate.analysis.levels import Level
from benchgate.analysis.measures import BY_NAME, MAIN, MEASURES
from benchgate.pages.cell_view import EarlierNight
from benchgate.pages.level_changes import LevelChange, level_changes
from benchgate.pages.nights import Night, SeriesPoint, TrendSeries
from benchgate.pages.words import state_words
from benchgate.report import charts as report_charts
from benchgate.report.scales import Scale, fit
from benchgate.report.svg import Chart, Mark, Point, Series, draw
from benchgate.report.tables import SHORT_TITLES, UNKNOWN, number

STRIP_HEIGHT = 28
FOREST_WIDTH, FOREST_HEIGHT = 200, 22
STACK = ("published", "unpublishable", "failed", "not_run")  # from the bottom up


def unit_title(metric: str) -> str:
    """``TTFT p50, ms``."""
    unit = BY_NAME[metric].unit
    title = SHORT_TITLES[metric]
    return title if unit in title or unit == "share" else f"{title}, {unit}"


def load_charts(levels: Sequence[Level], metric: str) -> list[tuple[str, Markup]]:
    """One metric over the loads: title and picture for each workload, as the report draws them; none for one load."""
    mine = [level for level in levels if level.metric == metric]
    loads: dict[str, set[tuple[int | None, float | None]]] = {}
    for level in mine:
        loads.setdefault(level.workload, set()).add((level.users, level.request_rate))
    charts = report_charts.load_charts([level for level in mine if len(loads[level.workload]) > 1])
    return [(chart.title, Markup(draw(chart))) for chart in charts]  # noqa: S704  draw escapes every text


def trend_chart(
    series: Sequence[TrendSeries], metric: str, where: str, chosen: Sequence[tuple[str | None, str]] = ()
) -> Markup | None:
    """One metric over the nights, a line for each arm and placement; ``chosen`` are moments to mark, with words."""
    if not any(one.points for one in series):
        return None
    lines = tuple(
        Series(
            f"{one.arm} @ {one.place}",
            tuple(
                Point(_days(p.started_at), p.value, note=f"{p.night}: {number(p.value, BY_NAME[metric].unit)}")
                for p in one.points
            ),
        )
        for one in series
    )
    moments = sorted({str(p.started_at) for one in series for p in one.points})
    described = "; ".join(
        f"{line.name}: {len(line.points)} nights, from {line.points[0].note} to {line.points[-1].note}"
        for line in lines
        if line.points
    )
    marks: dict[str, list[MarkedChange]] = {}
    for one in marked_changes(series):
        marks.setdefault(str(one.point.started_at), []).append(one)
    drawn = tuple(
        Mark(_days(moment), ", ".join(str(one.number) for one in ones), "note") for moment, ones in marks.items()
    )
    drawn += tuple(Mark(_days(moment), words) for moment, words in chosen)
    if marks:
        described += ". Upright lines with a number: changes of level, told below the chart"
    title = f"{BY_NAME[metric].title} over the nights, {where}"
    return _nights_chart(title, described, metric, lines, moments, drawn)


@dataclass(frozen=True)
class MarkedChange:
    """A numbered mark of a chart: which line changed its level on which night."""

    number: int
    series: TrendSeries
    point: SeriesPoint
    change: LevelChange


def marked_changes(series: Sequence[TrendSeries]) -> list[MarkedChange]:
    """The changes of level of all lines of a chart, oldest first, numbered as the chart marks them."""
    found = [(str(one.points[c.place].started_at), place, c) for place, one in enumerate(series) for c in one.changes]
    found.sort(key=lambda item: item[:2])
    return [
        MarkedChange(number, series[place], series[place].points[change.place], change)
        for number, (_, place, change) in enumerate(found, start=1)
    ]


def history_chart(nights: Sequence[EarlierNight], metric: str) -> Markup | None:
    """One cell's own history; nights that were refused are not in it."""
    points = tuple(
        Point(_days(one.started_at), value, note=f"{one.night}: {number(value, BY_NAME[metric].unit)}")
        for one in nights
        if one.state == "published" and (value := getattr(one, metric)) is not None
    )
    if len(points) < 2:
        return None
    moments = sorted({str(one.started_at) for one in nights if one.state == "published"})
    title = f"{BY_NAME[metric].title} of this cell over the nights"
    described = f"{len(points)} nights, from {points[0].note} to {points[-1].note}"
    changes = level_changes([point.y for point in points], metric)
    marks = tuple(Mark(points[c.place].x, f"{signed(c.change)} {points[c.place].note[:10]}") for c in changes)
    if marks:
        described += "; changes of level: " + ", ".join(mark.text for mark in marks)
    return _nights_chart(title, described, metric, (Series(SHORT_TITLES[metric], points),), moments, marks)


def signed(change: float | None) -> str:
    """A relative change: ``+12 %``, ``-3.5 %``."""
    return UNKNOWN if change is None else f"{100 * change:+.3g} %"


def _nights_chart(
    title: str,
    description: str,
    metric: str,
    series: tuple[Series, ...],
    moments: Sequence[str],
    marks: tuple[Mark, ...] = (),
) -> Markup:
    step = max(1, math.ceil(len(moments) / 6))
    ticks = tuple((_days(moment), moment[5:10]) for moment in moments[::step])
    chart = Chart(
        key=f"n-{metric}",
        title=title,
        description=description,
        x_label="night (UTC)",
        y_label=unit_title(metric),
        series=series,
        x_ticks=ticks,
        marks=marks,
    )
    return Markup(draw(chart))  # noqa: S704  draw escapes every text


def _days(moment: str | None) -> float:
    """A moment as days, so that a missing night is a gap."""
    if moment is None:
        return 0.0
    try:
        return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp() / 86400
    except ValueError:
        return float(date.fromisoformat(moment[:10]).toordinal())


def strip(nights: Sequence[Night]) -> Markup:
    """A column for each night, oldest first: the shares of its cells by end state."""
    if not nights:
        return Markup("")
    width, gap = 6, 2
    parts = []
    for place, night in enumerate(nights):
        x, top = place * (width + gap), float(STRIP_HEIGHT)
        title = f"{night.night}: " + (
            ", ".join(f"{night.counts[state]} {state_words(state)}" for state in STACK if night.counts.get(state))
            or state_words(night.state)
        )
        parts.append(f"<g><title>{escape(title)}</title>")
        if not night.planned:
            parts.append(f'<rect class="bar-none" x="{x}" y="{STRIP_HEIGHT - 3}" width="{width}" height="3"/>')
        for state in STACK:
            share = night.counts.get(state, 0) / night.planned if night.planned else 0
            if share:
                height = share * STRIP_HEIGHT
                top -= height
                size = f'width="{width}" height="{height:.1f}"'
                parts.append(f'<rect class="bar-{state}" x="{x}" y="{top:.1f}" {size}/>')
        parts.append("</g>")
    total = len(nights) * (width + gap) - gap
    label = f"How the cells of the last {len(nights)} nights ended, oldest first"
    return Markup(  # noqa: S704  made of numbers and escaped texts
        f'<svg class="strip" role="img" aria-label="{escape(label)}" viewBox="0 0 {total} {STRIP_HEIGHT}" '
        f'width="{total}" height="{STRIP_HEIGHT}">{"".join(parts)}</svg>'
    )


def spark(values: Sequence[float], title: str, changes: Sequence[LevelChange] = ()) -> Markup:
    """A small line from the oldest to the newest value; upright lines where its level changed."""
    if len(values) < 2:
        return Markup("")
    width, height = 120, STRIP_HEIGHT
    ys = fit(values, height - 4, 4)
    step = (width - 8) / (len(values) - 1)
    points = [(4 + place * step, ys(value)) for place, value in enumerate(values)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    label = f"{title}, last {len(values)} nights: from {number(values[0])} to {number(values[-1])}"
    if changes:
        label += "; level changed by " + ", ".join(signed(change.change) for change in changes)
    marks = "".join(
        f'<line class="{"better" if change.better else "worse"}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}"/>'
        for change in changes
        for x in (4 + (change.place - 0.5) * step,)
    )
    return Markup(  # noqa: S704  made of numbers and escaped texts
        f'<svg class="spark" role="img" aria-label="{escape(label)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><title>{escape(label)}</title>{marks}<polyline points="{path}"/>'
        f'<circle cx="{points[-1][0]:.1f}" cy="{points[-1][1]:.1f}" r="3"/></svg>'
    )


def forest_scale(comparisons: Sequence[Comparison]) -> Scale | None:
    """One axis for all intervals of a metric; no effect is always on it."""
    values = [v for c in comparisons for v in (c.point, c.low, c.high) if v is not None]
    if not values:
        return None
    ratio = comparisons[0].effect == "ratio"
    return fit([*values, 1.0 if ratio else 0.0], 6, FOREST_WIDTH - 6, log=ratio)


def forest(comparison: Comparison, scale: Scale) -> Markup:
    """Point and interval of one comparison; the upright line is no effect."""
    if comparison.point is None:
        return Markup("")
    middle = FOREST_HEIGHT / 2
    none = scale(1.0 if comparison.effect == "ratio" else 0.0)
    kind = "better" if comparison.direction > 0 else "worse" if comparison.direction < 0 else "open"
    parts = [f'<line class="none" x1="{none:.1f}" x2="{none:.1f}" y1="0" y2="{FOREST_HEIGHT}"/>']
    if comparison.low is not None and comparison.high is not None:
        low, high = scale(comparison.low), scale(comparison.high)
        parts.append(f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
        for end in (low, high):
            parts.append(f'<line class="interval" x1="{end:.1f}" x2="{end:.1f}" y1="{middle - 4}" y2="{middle + 4}"/>')
    x = scale(comparison.point)
    parts.append(f'<rect class="point" x="{x - 4:.1f}" y="{middle - 4}" width="8" height="8"/>')
    return Markup(  # noqa: S704  made of numbers
        f'<svg class="forest {kind}" aria-hidden="true" viewBox="0 0 {FOREST_WIDTH} {FOREST_HEIGHT}" '
        f'width="{FOREST_WIDTH}" height="{FOREST_HEIGHT}">{"".join(parts)}</svg>'
    )


def shown_metrics(comparisons: Sequence[Comparison]) -> tuple[list[str], list[str]]:
    """The metrics that a reader looks at first, and the others; only those that there is anything to say about."""
    present = {comparison.metric for comparison in comparisons if comparison.point is not None or comparison.reason}
    names = [measure.name for measure in MEASURES if measure.name in present]
    return [name for name in names if name in MAIN], [name for name in names if name not in MAIN]
