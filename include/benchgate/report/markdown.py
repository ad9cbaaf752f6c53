"""A run as Markdown: the same tables as on the terminal, for an issue or a wiki."""

from __future__ import annotations

from benchgate.analysis.levels import levels
from benchgate.analysis.reversals import summaries
from benchgate.report.model import RunReport
from benchgate.report.summaries import (
    launch_table,
    outcome_table,
    placement_table,
    reference_table,
    regression_table,
)
from benchgate.report.tables import comparison_table, escape_markdown, level_table, main_metrics


def to_markdown(report: RunReport) -> str:
    """The report as Markdown; every text that comes from elsewhere is escaped."""
    header = report.header
    found = levels(report.cells)
    shown = main_metrics(found)
    parts = [
        f"# {escape_markdown(header.campaign)}, run {escape_markdown(header.run)}",
        f"Started {header.started_at}, {header.state}. Benchgate {header.benchgate_version}.",
    ]
    for basis in ("published", "unpublishable"):
        for table in (
            level_table(found, basis=basis, metrics=shown),
            comparison_table(report.comparisons, basis=basis, metrics=shown),
        ):
            if table.rows or basis == "published":
                parts.append(table.markdown())
    parts += _list("Reversals", summaries(report.reversals))
    optional = (placement_table(report), reference_table(report))
    parts += [table.markdown() for table in optional if table.rows]
    parts += _list("Reversals that the sources state", summaries(report.reference_reversals))
    parts += [
        regression_table(report.regressions).markdown(),
        outcome_table(report).markdown(),
        launch_table(report).markdown(),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _list(title: str, texts: list[str]) -> list[str]:
    return [f"### {title}", "\n".join(f"- {escape_markdown(text)}" for text in texts)] if texts else []
