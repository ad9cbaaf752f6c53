"""What a person reads on the terminal when a run has ended."""

from __future__ import annotations

from benchgate.analysis.findings import CALLED
from benchgate.analysis.levels import levels
from benchgate.analysis.reversals import summaries
from benchgate.report.load import load_report
from benchgate.report.model import RunReport
from benchgate.report.summaries import outcome_table, placement_table, regression_table
from benchgate.report.tables import comparison_table, level_table, main_metrics


def run_summary(run: str, url: str | None = None) -> str:
    """The comparison, what was published and what was not and why, of one run in the warehouse.

    Raises:
        WarehouseError: no such run, or no usable warehouse.
    """
    return summary_of(load_report(run, url))


def summary_of(report: RunReport) -> str:
    """The same for a report that is loaded already."""
    header = report.header
    found = levels(report.cells)
    shown = main_metrics(found)
    parts = [f"{header.campaign}, run {header.run}: {header.state}\n"]
    if header.nothing_new:
        parts.append(f"{header.nothing_new}\n")
    for basis in ("published", "unpublishable"):
        for table in (
            level_table(found, basis=basis, metrics=shown),
            comparison_table(report.comparisons, basis=basis, metrics=shown),
        ):
            if table.rows or basis == "published":
                parts.append(table.text())
    if report.reversals:
        parts.append("Reversals\n" + "".join(f"  {text}\n" for text in summaries(report.reversals)))
    placements = placement_table(report)
    if placements.rows:
        parts.append(placements.text())
    moved = [finding for finding in report.regressions if finding.answer in CALLED]
    if moved:
        parts.append(regression_table(moved).text())
    parts.append(outcome_table(report).text())
    return "\n".join(parts).rstrip("\n")
