"""The result of ``benchgate bench`` as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchgate.records import CellSummary, Percentiles


def describe(summary: CellSummary) -> str:
    """The summary as people read it: unknown is a dash, never 0."""
    lines = [
        f"requests   {summary.completed} completed, {summary.errors} errors, {summary.cut_off} cut off"
        + ("" if summary.stopped_by == "requests" else f"; stopped by {summary.stopped_by}"),
        f"tokens     {_number(summary.prompt_tokens)} prompt, {_number(summary.completion_tokens)} completion "
        f"({summary.token_count_source}) in {summary.duration_s:.2f} s",
        f"prefill    {_number(summary.prefill_tok_s, 1)} tok/s",
        f"decode     {_number(summary.decode_tok_s, 1)} tok/s"
        + ("" if summary.steady_decode_tok_s is None else f"  (all users busy: {summary.steady_decode_tok_s:,.1f})"),
    ]
    if summary.goodput is not None:
        lines.append(f"goodput    {summary.goodput:.1%}")
    lines.append(f"{'ms':<10} {'p50':>10} {'p90':>10} {'p95':>10} {'p99':>10} {'mean':>10} {'n':>8}")
    for name in ("ttft", "ttfv", "tpot", "itl", "e2e", "queue"):
        lines.append(f"{name:<10} {_row(getattr(summary, f'{name}_ms'))}")
    reason = f": {summary.latency_reason}" if summary.latency_reason else ""
    lines.append(f"latencies  {summary.latency_verdict}{reason}")
    if summary.warm_verdict == "not_warm":
        lines.append(f"not warm   {summary.warm_reason}")
    for group in summary.error_groups:
        near = f", {group.near_cap} near the cap" if group.near_cap else ""
        lines.append(f"error      {group.kind} x {group.count}{near}: {group.sample}")
    lines += [f"note       {note}" for note in summary.notes]
    return "\n".join(lines)


def _row(values: Percentiles | None) -> str:
    if values is None:
        return " ".join(["         -"] * 5 + ["       -"])
    numbers = (values.p50, values.p90, values.p95, values.p99, values.mean)
    shown = ("         -" if number is None else f"{number:10.2f}" for number in numbers)
    return " ".join(shown) + ("       -" if values.n is None else f" {values.n:8d}")


def _number(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
