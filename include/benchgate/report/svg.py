"""Line charts as SVG text: no script, no font, no file beside it. Colours come from the page's CSS variables.

Series differ in colour, marker and dash, so that a chart can be read without colour and in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from benchgate.report.scales import Scale, fit, label

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46
LEGEND_LINE = 18
DASHES = ("", "6 3", "2 3", "8 3 2 3")
SERIES_COLOURS = 6


@dataclass(frozen=True)
class Point:
    """One point; ``low``/``high`` draw a whisker. ``note`` is read out and shown on hovering."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Series:
    """A named line. ``faint`` draws points without a line (what a gate refused, what a source states).

    ``quiet`` draws a thin grey line: one of many, named on hovering and not in the legend.
    """

    name: str
    points: tuple[Point, ...]
    faint: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Mark:
    """A vertical line with words, for a change point."""

    x: float
    text: str
    kind: str = "note"  # regressed | improved | note


@dataclass(frozen=True)
class Chart:
    """What to draw. ``x_ticks`` replaces the computed ticks (night labels, user levels)."""

    key: str  # unique on the page: ids are made of it
    title: str
    description: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    log_y: bool = False
    marks: tuple[Mark, ...] = ()
    x_ticks: tuple[tuple[float, str], ...] | None = None


def draw(chart: Chart) -> str:
    """The chart as one ``<svg>`` element; every text is escaped."""
    points = [point for series in chart.series for point in series.points]
    xs = fit([p.x for p in points] + [m.x for m in chart.marks], LEFT, WIDTH - RIGHT, log=chart.log_x)
    rows = _mark_rows(chart.marks, xs)
    named = [series for series in chart.series if not series.quiet]
    top = TOP + LEGEND_LINE * (len(_legend_lines(named)) + max(rows, default=-1) + 1)
    ys = fit(_heights(points), HEIGHT - BOTTOM, top, log=chart.log_y, from_zero=not chart.log_y and not chart.marks)
    key = escape(chart.key, quote=True)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{key}-t {key}-d">',
        f'<title id="{key}-t">{escape(chart.title)}</title><desc id="{key}-d">{escape(chart.description)}</desc>',
        *_axes(chart, xs, ys, top),
        *(_mark(mark, xs, top, row) for mark, row in zip(chart.marks, rows, strict=True)),
        *(_line(series, 0, xs, ys) for series in chart.series if series.quiet),
        *(_line(series, index, xs, ys) for index, series in enumerate(named)),
        *_legend(named),
        "</svg>",
    ]
    return "".join(parts)


def _heights(points: Sequence[Point]) -> list[float]:
    """What the y axis must hold: every point, and whiskers as far as the points' own range beyond them.

    Two repeats know little about their noise; their whisker may run off the chart, but not flatten it.
    """
    values = [point.y for point in points]
    if not values:
        return values
    low, high = min(values), max(values)
    room = max(high - low, abs(high) * 0.25)
    ends = [v for p in points for v in (p.low, p.high) if v is not None]
    return [*values, *(v for v in ends if low - room <= v <= high + room)]


def _axes(chart: Chart, xs: Scale, ys: Scale, top: float) -> list[str]:
    parts = []
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in ys.ticks():
        y = ys(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label(tick)}</text>')
    ticks = chart.x_ticks if chart.x_ticks is not None else tuple((t, label(t)) for t in xs.ticks())
    for tick, text in ticks:
        x = xs(tick)
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 17}" text-anchor="middle">{escape(text)}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
    middle = (LEFT + right) / 2
    log = " (log)"
    parts.append(
        f'<text class="label" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(chart.x_label)}{log if xs.log else ''}</text>"
    )
    y = (top + bottom) / 2
    parts.append(
        f'<text class="label" transform="translate(14 {y:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(chart.y_label)}{log if ys.log else ''}</text>"
    )
    return parts


def _line(series: Series, index: int, xs: Scale, ys: Scale) -> str:
    points = sorted(series.points, key=lambda point: point.x)
    if series.quiet:
        path = " ".join(f"{xs(p.x):.1f},{ys(p.y):.1f}" for p in points)
        notes = "; ".join(f"{p.x:g}: {p.note}" for p in points if p.note)
        title = escape(f"{series.name}: {notes}")
        return f'<polyline class="line quiet" points="{path}"><title>{title}</title></polyline>'
    parts = [f'<g class="s{index % SERIES_COLOURS}{" faint" if series.faint else ""}">']
    if len(points) > 1 and not series.faint:
        path = " ".join(f"{xs(p.x):.1f},{ys(p.y):.1f}" for p in points)
        dash = DASHES[index % len(DASHES)]
        parts.append(f'<polyline class="line" points="{path}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")
    for point in points:
        x, y = xs(point.x), ys(point.y)
        if point.low is not None and point.high is not None:
            parts.append(f'<path class="whisker" d="{_whisker(x, point.low, point.high, ys)}"/>')
        parts.append(_marker(index, x, y, f"{series.name}: {point.note}" if point.note else series.name))
    return "".join(parts) + "</g>"


def _whisker(x: float, low: float, high: float, ys: Scale) -> str:
    """A line with a cap at each end; an end that lies off the chart runs to its edge and has none."""
    parts = []
    ends = []
    for value in (low, high):
        inside = ys.low <= value <= ys.high
        y = ys(min(max(value, ys.low), ys.high))
        ends.append(y)
        if inside:
            parts.append(f"M{x - 4:.1f} {y:.1f}h8")
    return f"M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}" + "".join(parts)


def _marker(index: int, x: float, y: float, title: str = "") -> str:
    inner = f"<title>{escape(title)}</title>" if title else ""
    shape = index % 4
    if shape == 0:
        return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4">{inner}</circle>'
    if shape == 1:
        return f'<rect class="dot" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7">{inner}</rect>'
    path = f"M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" if shape == 2 else f"M{x:.1f} {y - 5:.1f}l5 9h-10z"
    return f'<path class="dot" d="{path}">{inner}</path>'


def _mark_rows(marks: Sequence[Mark], xs: Scale) -> list[int]:
    """The line above the plot, from 0 at the bottom, on which each mark's words stand beside no other's."""
    taken: list[list[tuple[float, float]]] = []
    rows = []
    for mark in marks:
        x, width = xs(mark.x), 7.0 * len(mark.text) + 10
        low, high = (x - width, x) if x > WIDTH / 2 else (x, x + width)
        row = next((i for i, spans in enumerate(taken) if all(high <= a or low >= b for a, b in spans)), len(taken))
        if row == len(taken):
            taken.append([])
        taken[row].append((low, high))
        rows.append(row)
    return rows


def _mark(mark: Mark, xs: Scale, top: float, row: int) -> str:
    x = xs(mark.x)
    anchor, shift = ("end", -5) if x > WIDTH / 2 else ("start", 5)
    above = LEGEND_LINE * row
    return (
        f'<g class="mark {escape(mark.kind, quote=True)}"><title>{escape(mark.text)}</title>'
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 14 - above}" y2="{HEIGHT - BOTTOM}"/>'
        f'<text x="{x + shift:.1f}" y="{top - 6 - above:.0f}" text-anchor="{anchor}">{escape(mark.text)}</text></g>'
    )


def _legend_lines(series: Sequence[Series]) -> list[list[tuple[int, float]]]:
    """Which series stand in which line of the legend, with their x: by an estimate of 7 pixels a character."""
    lines: list[list[tuple[int, float]]] = [[]]
    x = float(LEFT)
    for index, one in enumerate(series):
        width = 30 + 7.0 * len(one.name)
        if x + width > WIDTH - RIGHT and lines[-1]:
            lines.append([])
            x = float(LEFT)
        lines[-1].append((index, x))
        x += width
    return lines if series else []


def _legend(series: Sequence[Series]) -> list[str]:
    parts = []
    for number, line in enumerate(_legend_lines(series)):
        y = TOP + LEGEND_LINE * number
        for index, x in line:
            name = escape(series[index].name)
            parts.append(f'<g class="s{index % SERIES_COLOURS}">{_marker(index, x + 6, y - 1)}</g>')
            parts.append(f'<text class="legend" x="{x + 16:.0f}" y="{y + 3}">{name}</text>')
    return parts
