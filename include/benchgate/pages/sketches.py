"""Small pictures within a line or a table, as SVG text: how nights ended, where a metric went, an interval."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from benchgate.analysis.findings import Comparison
from benchgate.pages.level_changes import LevelChange
from benchgate.pages.nights import Night
from benchgate.pages.words import state_words
from benchgate.report.scales import Scale, fit
from benchgate.report.tables import UNKNOWN, number

STRIP_HEIGHT = 28
FOREST_WIDTH, FOREST_HEIGHT = 200, 22
STACK = ("published", "unpublishable", "failed", "not_run")  # from the bottom up


def signed(change: float | None) -> str:
    """A relative change: ``+12 %``, ``-3.5 %``."""
    return UNKNOWN if change is None else f"{100 * change:+.3g} %"


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
