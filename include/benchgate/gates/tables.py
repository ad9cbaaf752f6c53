"""The tables that the gates look at: one row a launch, a needle check, a measured cell; limits stand beside facts.

A row holds everything its rules speak about, so that a quarantined row explains itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from benchgate import fingerprint
from benchgate.gates import checks
from benchgate.gates.heavier_load import overtaken
from benchgate.records import CellRecord, LaunchRecord, Ledger
from benchgate.spec.campaign import CampaignSpec

if TYPE_CHECKING:
    import pandas as pd

# column -> kind. Kinds give a column its type even when no row has a value.
LAUNCH_COLUMNS = {
    "launch": "text",
    "simulated": "flag",
    "fingerprint": "text",
    "fingerprint_missing": "text",
    "unproven": "text",
    "disproven": "text",
    "died": "text",
}
NEEDLE_COLUMNS = {
    "launch": "text",
    "gate_set": "flag",
    "needles_asked": "number",
    "needles_found": "number",
    "needles_required": "number",
    "depths_asked": "text",
    "depths_lost": "text",
    "depths_missing": "text",
    "context_tokens_min": "number",
    "context_tokens_required": "number",
    "context_short_by": "number",
}
CELL_COLUMNS = {
    "cell": "text",
    "launch": "text",
    "identity_problem": "text",
    "has_summary": "flag",
    "completed": "number",
    "completed_min": "number",
    "errors": "number",
    "cut_off": "number",
    "error_rate": "number",
    "error_rate_max": "number",
    "worst_error": "text",
    "client_name": "text",
    "client_version": "text",
    "metric_definition": "text",
    "token_count_source": "text",
    "prompt_token_gap": "number",
    "completion_token_gap": "number",
    "token_gap_max": "number",
    "totals_compared": "flag",
    "latency_verdict": "text",
    "latency_reason": "text",
    "latency_problem": "text",
    "range_problem": "text",
    "warm_verdict": "text",
    "warm_reason": "text",
    "overtaken": "text",
    "stopped_by": "text",
    "cut_off_share": "number",
    "decode_tok_s": "number",
    "prefill_tok_s": "number",
}


def was_up(launch: LaunchRecord | None) -> bool:
    """Whether there was a server to measure: it became ready, whatever happened to it later."""
    return launch is not None and (launch.end_state == "ready" or launch.ready_at is not None)


def launch_rows(campaign: CampaignSpec, launches: Iterable[LaunchRecord]) -> list[dict[str, Any]]:
    """One row a launch that became ready."""
    rows = []
    for launch in launches:
        claims = campaign.arms[launch.arm].prove
        proofs = {proof.name: proof for proof in launch.proofs}
        rows.append(
            {
                "launch": launch.launch,
                "simulated": launch.simulated,
                "fingerprint": launch.fingerprint,
                "fingerprint_missing": ", ".join(fingerprint.missing(launch)) or None,
                "unproven": checks.unproven(claims, proofs),
                "disproven": checks.disproven(claims, proofs),
                "died": f"{launch.failure.kind.value}: {launch.failure.reason}" if launch.failure else None,
            }
        )
    return rows


def needle_rows(campaign: CampaignSpec, launches: Iterable[LaunchRecord]) -> list[dict[str, Any]]:
    """One row a launch that became ready, whether or not its needles were asked."""
    rows = []
    for launch in launches:
        gate, check = campaign.gates_of(launch.arm).needle, launch.needle
        results = check.results if check else []
        counted = [result.context_tokens for result in results if result.context_tokens is not None]
        asked = [result.depth for result in results]
        # the document shares its context with the answer that the check leaves room for
        required = gate.context_tokens - gate.max_tokens if gate else None
        missing = [depth for depth in (gate.depths if gate else []) if not any(abs(depth - a) < 1e-6 for a in asked)]
        rows.append(
            {
                "launch": launch.launch,
                "gate_set": gate is not None,
                "needles_asked": len(results) if check else None,
                "needles_found": check.found if check else None,
                "needles_required": len(gate.depths) if gate else None,
                "depths_asked": _listed(asked),
                "depths_lost": _listed([result.depth for result in results if not result.found]),
                "depths_missing": _listed(missing) if check else None,
                "context_tokens_min": min(counted, default=None),
                "context_tokens_required": required,
                "context_short_by": max(0.0, 1 - min(counted) / required) if counted and required else None,
            }
        )
    return rows


def cell_rows(campaign: CampaignSpec, ledger: Ledger, cells: Sequence[CellRecord]) -> list[dict[str, Any]]:
    """One row a measured cell."""
    planned = {cell.cell: cell for cell in ledger.cells}
    rows = []
    for cell in cells:
        row: dict[str, Any] = dict.fromkeys(CELL_COLUMNS)
        row |= {
            "cell": cell.cell,
            "launch": cell.launch,
            "identity_problem": checks.identity_problem(cell, planned.get(cell.cell)),
            "has_summary": cell.summary is not None,
            "latency_problem": "there is no summary",
            "range_problem": "there is no summary",
        }
        if cell.arm in campaign.arms:
            gates = campaign.gates_of(cell.arm)
            judged = gates.error_rate.workloads is None or cell.workload in gates.error_rate.workloads
            row |= {
                "completed_min": gates.min_completed,
                "error_rate_max": gates.error_rate.max if judged else 1.0,
                "token_gap_max": gates.token_agreement.max_relative_difference,
            }
        if cell.summary is not None:
            row |= {**_measured(cell), "overtaken": overtaken(cell, cells)}
        rows.append(row)
    return rows


def _measured(cell: CellRecord) -> dict[str, Any]:
    summary = cell.summary
    assert summary is not None
    prompt_gap, completion_gap = checks.token_gaps(cell)
    worst = max(summary.error_kinds.items(), key=lambda item: item[1], default=None)
    same = (
        "completed errors cut_off error_rate client_name client_version metric_definition token_count_source "
        "latency_verdict latency_reason warm_verdict warm_reason stopped_by decode_tok_s prefill_tok_s"
    )
    return {
        **{name: getattr(summary, name) for name in same.split()},
        "worst_error": f"{worst[1]} x {worst[0]}" if worst else None,
        "prompt_token_gap": prompt_gap,
        "completion_token_gap": completion_gap,
        "totals_compared": prompt_gap is not None and completion_gap is not None,
        "latency_problem": checks.latency_problem(summary),
        "range_problem": checks.range_problem(summary),
        "cut_off_share": checks.cut_off_share(summary),
    }


def _listed(depths: Sequence[float]) -> str | None:
    return ", ".join(f"{depth:g}" for depth in depths) or None


def frame(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pd.DataFrame:
    """The rows as a data frame whose column types do not depend on the values; ``row`` numbers the rows.

    Numbers are float64 (unknown is NaN), text and flags are objects (unknown is None). Text is escaped for HTML, since
    the Data Docs put values into their pages as they are, and some of it comes from servers and logs.
    """
    import pandas as pd

    data: dict[str, Any] = {"row": pd.Series(range(len(rows)), dtype="int64")}
    for name, kind in columns.items():
        values = [row.get(name) for row in rows]
        if kind == "text":
            values = [escape(value) if isinstance(value, str) else value for value in values]
        data[name] = pd.Series(values, dtype="float64" if kind == "number" else "object")
    return pd.DataFrame(data)
