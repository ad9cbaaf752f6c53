"""What the columns of the views mean, where they are not simply a column of a table under its own name."""

from __future__ import annotations

from benchgate.warehouse import tables as t

# tables in which a view's column is looked up by its name, in this order
_SOURCES = (
    t.campaign_run,
    t.cell,
    t.launch,
    t.cell_median,
    t.regression_finding,
    t.reversal_finding,
    t.reference_value,
)

_RATIO = "arm / baseline_arm of {}; {} is better"
_COMMON = {
    "run_started_at": "when the run started, UTC",
    "baseline_arm": "arm that the ratios divide by",
}
_OWN: dict[str, dict[str, str]] = {
    "did_not_run": {
        "failure_kind": "why there was no server, e.g. vocab_missing; deselected: nobody asked for the cell"
    },
    "failed_cell": {"failure_kind": "failure of the server, when that is what broke the measurement"},
    "arm_comparison": {
        "ttft_p50_ratio": _RATIO.format("the median TTFT p50", "below 1"),
        "tpot_p50_ratio": _RATIO.format("the median TPOT p50", "below 1"),
        "decode_tok_s_ratio": _RATIO.format("the median decode throughput", "above 1"),
        "prefill_tok_s_ratio": _RATIO.format("the median prefill throughput", "above 1"),
        "ttft_p50_ms": "TTFT p50 of the arm, median over repeats, mean over placements, ms",
        "tpot_p50_ms": "TPOT p50 of the arm, likewise, ms",
        "decode_tok_s": "decode throughput of the arm, likewise, tokens/s",
        "prefill_tok_s": "prefill throughput of the arm, likewise, tokens/s",
        "baseline_ttft_p50_ms": "TTFT p50 of the baseline, likewise, ms",
        "baseline_tpot_p50_ms": "TPOT p50 of the baseline, likewise, ms",
        "baseline_decode_tok_s": "decode throughput of the baseline, likewise, tokens/s",
        "baseline_prefill_tok_s": "prefill throughput of the baseline, likewise, tokens/s",
        "n": "published cells of the arm behind the row",
        "baseline_n": "published cells of the baseline behind the row",
        "placements": "placements that the arm was compared on",
        "pairing": "paired by placement, or confounded by placement: the arms never shared one",
    },
    "arm_pair": {
        "baseline_host": "host of the baseline",
        "baseline_placement": "placement of the baseline",
        "n": "published repeats of the arm on that placement",
        "baseline_n": "published repeats of the baseline on its placement",
        **{
            f"baseline_{name}": f"{name} of the baseline, median over repeats"
            for name in ("ttft_p50_ms", "tpot_p50_ms", "decode_tok_s", "prefill_tok_s")
        },
        **{
            name: f"{name} of the arm, median over repeats"
            for name in ("ttft_p50_ms", "tpot_p50_ms", "decode_tok_s", "prefill_tok_s")
        },
    },
    "nightly_trend": {
        "ttft_p50_change": "ttft_p50_ms / the night before - 1",
        "tpot_p50_change": "tpot_p50_ms / the night before - 1",
        "decode_tok_s_change": "decode_tok_s / the night before - 1",
        "prefill_tok_s_change": "prefill_tok_s / the night before - 1",
        "previous_run": "run key of the night before in this series",
        "fingerprint_changed": "1 when the fingerprint is another than the night before, 0 when not, NULL when unknown",
        "image_changed": "1 when the image digest is another than the night before, 0 when not, NULL when unknown",
    },
    "versus_reference": {
        "reference_value": "what the source states for the arm, in the metric's unit",
        "reference_baseline_value": "what it states for its baseline",
        "reference_ratio": "reference_value / reference_baseline_value",
        "our_value": "our median for the same arm, workload and users; NULL until published",
        "our_baseline_value": "our median for the baseline",
        "our_ratio": "ours / our baseline, as in arm_comparison",
        "our_n": "our published cells behind it",
        "our_pairing": "paired by placement or confounded by placement",
        "reference_gpu": "GPU of the source",
        "reference_engine": "engine of the source",
        "reference_engine_version": "its version",
    },
    "request_percentile_check": {
        "metric": "ttft, tpot or e2e",
        "stored_n": "samples behind the stored percentiles",
        "recomputed_n": "request rows that had the value when they were loaded",
        **{
            f"{kind}_{p}_ms": f"{p}, {words}, ms"
            for p in ("p50", "p90", "p95", "p99")
            for kind, words in (("stored", "as in cell"), ("recomputed", "from the request rows"))
        },
        "agrees": "1 when counts are equal and all four are within a millionth, else 0",
    },
}


def column_meaning(view: str, column: str) -> str | None:
    """What a view's column says; None when nobody wrote it down (a test sees to it that none is)."""
    own = _OWN.get(view, {}).get(column) or _COMMON.get(column)
    if own is not None:
        return own
    # a view on one table of findings is described by that table
    first = {"regression": t.regression_finding, "reversal": t.reversal_finding, "versus_reference": t.reference_value}
    sources = (first[view], *_SOURCES) if view in first else _SOURCES
    return next((str(table.columns[column].comment) for table in sources if column in table.columns), None)
