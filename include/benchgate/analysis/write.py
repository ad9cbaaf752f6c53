"""Findings as rows of the warehouse's finding tables, and the sources' values with what follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchgate.analysis.cells import load_key
from benchgate.analysis.findings import Comparison, RegressionFinding, Reversal
from benchgate.analysis.reference import ReferenceCell, compare_references, default_baseline
from benchgate.analysis.reversals import reversals
from benchgate.spec.sources import Reference, Sources
from benchgate.warehouse.findings import replace_findings, replace_references


def write_run(
    run: str,
    *,
    comparisons: Iterable[Comparison],
    reversals: Iterable[Reversal],
    regressions: Iterable[RegressionFinding],
    url: str | None = None,
) -> int:
    """Write the findings of one run in one transaction, in place of those it had; gives how many there are."""
    return replace_findings(
        run,
        comparisons=[comparison_row(one) for one in comparisons],
        reversals=[reversal_row(one) for one in reversals],
        regressions=[regression_row(one) for one in regressions],
        url=url,
    )


def write_sources(sources: Sources, url: str | None = None) -> int:
    """Write what the sources state, with the ratios and reversals among it; gives the number of values."""
    rows = [row for reference in sources.references for row in reference_rows(reference, sources)]
    written = replace_references(rows, url)
    stated = [cell for reference in sources.references for cell in reference_cells(reference)]
    compared = compare_references(stated)
    replace_findings(
        None,
        comparisons=[comparison_row(one) for one in compared],
        reversals=[reversal_row(one) for one in reversals(compared)],
        url=url,
    )
    return written


def comparison_row(found: Comparison) -> dict[str, Any]:
    """A row of ``comparison``."""
    row = {name: value for name, value in vars(found).items() if name not in ("run", "campaign")}
    return {
        **row,
        "load_label": found.load,
        "placements": list(found.placements),
        "placement_effects": [vars(effect) for effect in found.placement_effects] or None,
        "unswapped": [vars(claim) for claim in found.unswapped] or None,
    }


def reversal_row(found: Reversal) -> dict[str, Any]:
    """A row of ``reversal_finding``."""
    ahead, behind = found.ahead, found.behind
    return {
        "basis": ahead.basis,
        "kind": found.kind,
        "label": found.label,
        "arm": ahead.arm,
        "baseline": ahead.baseline,
        "metric": ahead.metric,
        "workload": ahead.workload,
        "load_label": ahead.load,
        "point": ahead.point,
        "other_metric": behind.metric,
        "other_workload": behind.workload,
        "other_load_label": behind.load,
        "other_point": behind.point,
        "words": found.text,
    }


def regression_row(found: RegressionFinding) -> dict[str, Any]:
    """A row of ``regression_finding``."""
    host, _, placement = found.placement.partition("/")
    return {
        "arm": found.arm,
        "host": host,
        "placement": placement,
        "workload": found.workload,
        "load_label": load_key(found.users, found.request_rate),
        "metric": found.metric,
        "answer": found.answer,
        "value": found.value,
        "previous_value": found.previous_value,
        "change": found.change,
        "change_low": found.change_low,
        "change_high": found.change_high,
        "smallest_visible_change": found.smallest_visible_change,
        "p_value": found.p_value,
        "adjusted_p": found.adjusted_p,
        "nights": found.nights,
        "since_night": found.since_night[:10] if found.since_night else None,
        "changed_since_run": found.since_run,
        "new_tonight": found.new_tonight,
        "method": found.method,
        "what_changed": {name: list(pair) for name, pair in found.what_changed.items()} or None,
        "reason": found.reason,
    }


def reference_cells(reference: Reference) -> list[ReferenceCell]:
    """One source's cells with our names and units; a latency that the source's stream did not give is left out."""
    cells = []
    for stated in reference.cells:
        latencies = stated.latency in (None, "valid")
        values = {
            "ttft_p50_ms": stated.ttft_s * 1000 if stated.ttft_s and latencies else None,
            "tpot_p50_ms": stated.tpot_ms if latencies else None,
            "prefill_tok_s": stated.prefill_tok_s,
            "decode_tok_s": stated.decode_tok_s,
        }
        known = {name: value for name, value in values.items() if value is not None}
        cells.append(ReferenceCell(reference.source, stated.arm, stated.workload, stated.users, known))
    return cells


def reference_rows(reference: Reference, sources: Sources) -> list[dict[str, Any]]:
    """Rows of ``reference_value``."""
    names = {"ttft_p50_ms": "ttft_ms", "tpot_p50_ms": "tpot_ms"}
    cells = reference_cells(reference)
    arms = {cell.arm for cell in cells}
    base = default_baseline(cells) if len(arms) > 1 else None
    entry = sources.sources[reference.source]
    layout = reference.hardware.layout
    return [
        {
            "source": reference.source,
            "source_title": entry.title,
            "source_url": entry.url,
            "arm": cell.arm,
            "baseline_arm": base,
            "workload": cell.workload,
            "users": cell.users,
            "metric": names.get(metric, metric),
            "value": value,
            "gpu": reference.hardware.gpu,
            "gpu_count": reference.hardware.gpus,
            "engine": reference.engine.name,
            "engine_version": reference.engine.version,
            "note": f"one run; {layout}" if layout else "one run",
        }
        for cell in cells
        for metric, value in cell.values.items()
    ]
