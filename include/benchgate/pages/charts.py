"""The pictures of the pages, as SVG text without a script: lines over loads and nights, strips, intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from markupsafe import Markup

from benchgate.analysis.findings import Comparison
from benchgate.analysis.levels import Level
from benchgate.analysis.measures import BY_NAME, MAIN, MEASURES
from benchgate.pages.cell_view import EarlierNight
from benchgate.pages.level_changes import LevelChange, level_changes
from benchgate.pages.sketches import signed
from benchgate.pages.trend import SeriesPoint, TrendSeries
from benchgate.report import charts as report_charts
from benchgate.report.svg import Chart, Mark, Point, Series, draw
from benchgate.report.tables import SHORT_TITLES, number


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


def shown_metrics(comparisons: Sequence[Comparison]) -> tuple[list[str], list[str]]:
    """The metrics that a reader looks at first, and the others; only those that there is anything to say about."""
    present = {comparison.metric for comparison in comparisons if comparison.point is not None or comparison.reason}
    names = [measure.name for measure in MEASURES if measure.name in present]
    return [name for name in names if name in MAIN], [name for name in names if name not in MAIN]
