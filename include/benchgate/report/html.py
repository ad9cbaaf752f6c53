"""The HTML report: one self-contained file. Every text is escaped; nothing is fetched; it works without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from benchgate.analysis.findings import CALLED, Comparison
from benchgate.analysis.levels import levels
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.reversals import summaries
from benchgate.report.charts import load_charts, trend_charts
from benchgate.report.model import LedgerRow, RunReport
from benchgate.report.summaries import (
    END_STATES,
    STATE_WORDS,
    launch_table,
    outcome_table,
    placement_table,
    reference_table,
    regression_table,
)
from benchgate.report.svg import Chart, draw
from benchgate.report.tables import SHORT_TITLES, level_table, load_words, main_metrics, number, verdict_words

if TYPE_CHECKING:
    from jinja2 import Environment

BASES = ("published", "unpublishable")
TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class ComparisonLine:
    """One line of the comparison table: a workload, load and pair of arms, with a comparison for each metric."""

    workload: str
    load: str
    pair: str
    design: str
    cells: tuple[Comparison | None, ...]


@dataclass(frozen=True)
class ComparisonGrid:
    """The comparison table of one basis."""

    metrics: tuple[str, ...]
    lines: tuple[ComparisonLine, ...]


def render(report: RunReport) -> str:
    """The whole report as HTML text."""
    found = levels(report.cells)
    shown = main_metrics(found)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            header=report.header,
            css=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 (our own file)
            states=[(state, STATE_WORDS[state], report.count(state)) for state in END_STATES],
            headlines=headlines(report),
            grids={basis: grid(report.comparisons, basis, shown) for basis in BASES},
            all_grids={basis: grid(report.comparisons, basis) for basis in BASES},
            stated=grid(report.reference_comparisons, None),
            levels={basis: level_table(found, basis=basis, metrics=shown) for basis in BASES},
            all_levels={basis: level_table(found, basis=basis) for basis in BASES},
            charts=load_charts(found, report.references),
            trends=trend_charts(report.series, report.regressions),
            reversals=summaries(report.reversals),
            stated_reversals=summaries(report.reference_reversals),
            placement=placement_table(report),
            regressions=regression_table(report.regressions),
            versus=reference_table(report),
            outcomes=outcome_table(report),
            launches=launch_table(report),
            lost=_lost(report),
        )
    )


def _lost(report: RunReport) -> list[tuple[LedgerRow, int]]:
    """Cells that a failure took, with their evidence: once for each launch and line, and how many cells it cost."""
    groups: dict[tuple[object, ...], list[LedgerRow]] = {}
    for row in report.ledger:
        if row.evidence_line:
            key = (row.arm, row.host, row.placement, row.failure_kind, row.evidence_line_number, row.evidence_line)
            groups.setdefault(key, []).append(row)
    return [(rows[0], len(rows)) for rows in groups.values()]


def headlines(report: RunReport) -> list[str]:
    """What a person should know first, in sentences."""
    moved = [f for f in report.regressions if f.answer in CALLED]
    lines = [f"{f.answer}: {f.context}. {f.reason}" for f in moved if f.new_tonight]
    lines += summaries(report.reversals)
    if report.header.nothing_new:
        lines.append(report.header.nothing_new)
    if report.header.expectation_met is False and report.header.expectation_reason:
        lines.append(f"Not as the campaign expects: {report.header.expectation_reason}")
    if not report.count("published"):
        lines.append("No cell of this run may be quoted: see what did not run and what the gates refused.")
    return lines


def grid(comparisons: Sequence[Comparison], basis: str | None, only: Sequence[str] | None = None) -> ComparisonGrid:
    """Comparisons of one basis (None: of any) as a table with a column for each metric (``only``: of these)."""
    rows = [c for c in comparisons if (basis is None or c.basis == basis) and (only is None or c.metric in only)]
    present = {c.metric for c in rows}
    metrics = tuple(name for name in BY_NAME if name in present)
    lines: dict[tuple[str, ...], dict[str, Comparison]] = {}
    for c in rows:
        load = load_words(c.users, c.request_rate)
        design = c.design if basis is not None else c.basis
        lines.setdefault((c.workload, load, f"{c.arm} / {c.baseline}", design), {})[c.metric] = c
    return ComparisonGrid(
        metrics,
        tuple(
            ComparisonLine(workload, load, pair, design, tuple(found.get(m) for m in metrics))
            for (workload, load, pair, design), found in lines.items()
        ),
    )


def _tone(comparison: Comparison) -> str:
    """CSS class of a comparison: better, worse, or neither."""
    return {1: "better", -1: "worse"}.get(comparison.direction, "open")


def _detail(comparison: Comparison) -> str:
    """The small print under a ratio: medians, method, what a reader must know."""
    unit = BY_NAME[comparison.metric].unit
    medians = f"{number(comparison.arm_median, unit)} against {number(comparison.baseline_median, unit)} {unit}"
    parts = [medians.replace(" share", "")]
    if comparison.method:
        parts.append(comparison.method)
    if comparison.reason:
        parts.append(comparison.reason)
    return "; ".join(parts)


def _svg(chart: Chart) -> Markup:
    return Markup(draw(chart))  # noqa: S704 (svg.draw escapes every text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(
        number=number, metric=lambda name: SHORT_TITLES[name], verdict=verdict_words, tone=_tone, detail=_detail
    )
    environment.globals.update(svg=_svg)
    return environment
