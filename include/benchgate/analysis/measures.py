"""The metrics that comparisons, reversals and nightly series are made for: each stays a column of its own.

A measure says which way is better, so that no caller has to know it; nothing here folds two measures into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Measure:
    """One metric of a cell (or of the launch that it was measured on)."""

    name: str  # the column of the result frames and of the warehouse
    title: str
    unit: str
    better: Literal["higher", "lower"]
    # ratio: compared as arm / baseline. difference: arm - baseline, for shares that are often 0
    effect: Literal["ratio", "difference"] = "ratio"
    of: Literal["cell", "launch"] = "cell"
    words: tuple[str, str] = ("faster", "slower")  # what a person says when the arm is better, and when it is worse


MEASURES: tuple[Measure, ...] = (
    Measure("ttft_p50_ms", "time to first token, median", "ms", "lower"),
    Measure("ttfv_p50_ms", "time to first visible token, median", "ms", "lower"),
    Measure("tpot_p50_ms", "time per output token, median", "ms", "lower"),
    Measure("itl_p50_ms", "gap between token events, median", "ms", "lower"),
    Measure("e2e_p50_ms", "end to end, median", "ms", "lower"),
    Measure("decode_tok_s", "decode throughput", "tok/s", "higher"),
    Measure("prefill_tok_s", "prefill throughput", "tok/s", "higher"),
    Measure("error_rate", "error rate", "share", "lower", "difference", words=("fewer errors", "more errors")),
    Measure("startup_s", "server start", "s", "lower", of="launch"),
    Measure("kv_tokens", "KV pool", "tokens", "higher", of="launch", words=("larger", "smaller")),
)

# What a reader looks at first; the others stand in the full tables.
MAIN = ("ttft_p50_ms", "tpot_p50_ms", "decode_tok_s", "prefill_tok_s")
BY_NAME: dict[str, Measure] = {measure.name: measure for measure in MEASURES}
