"""Checks on one record that need no table: pure, and each returns what is wrong in words, or None."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from benchgate.records import CellRecord, CellSummary, Percentiles, PlannedCell, Proof, ServerMetrics

LATENCY_VERDICTS = ("valid", "burst", "client_bound", "too_few_samples", "no_stream")
# No server of today comes near; a number beyond it is a unit mistake or a clock that jumped.
MAX_PLAUSIBLE_TOK_S = 10_000_000.0
_ROUNDING = 0.01  # share by which a rate may differ from the quotient that defines it


def unproven(claims: Mapping[str, str | int | float | bool], proofs: Mapping[str, Proof]) -> str | None:
    """Values that the arm must prove and of which the server said nothing."""
    silent = [f"{name} (asked for {wanted})" for name, wanted in claims.items() if name not in proofs]
    return ", ".join(silent) or None


def disproven(claims: Mapping[str, str | int | float | bool], proofs: Mapping[str, Proof]) -> str | None:
    """Values that the server proves to be others than the arm asked for, each with its line."""
    wrong = []
    for name, wanted in claims.items():
        proof = proofs.get(name)
        if proof is not None and not same_value(wanted, proof.value):
            where = f"line {proof.evidence.line}" if proof.evidence.line is not None else proof.evidence.source
            wrong.append(f"{name} is {proof.value}, not {wanted} ({where}: {proof.evidence.text.strip()[:160]})")
    return "; ".join(wrong) or None


def same_value(wanted: str | int | float | bool, proven: str | int | float | bool) -> bool:
    """Whether a proof shows what was asked for: as numbers where both are, else as words of any case."""
    if isinstance(wanted, bool) or isinstance(proven, bool):
        return str(wanted).casefold() == str(proven).casefold()
    try:
        return float(wanted) == float(proven)
    except ValueError:
        return str(wanted).strip().casefold() == str(proven).strip().casefold()


def latency_problem(summary: CellSummary) -> str | None:
    """A latency verdict that contradicts the latencies beside it."""
    verdict = summary.latency_verdict
    present = [n for n in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms") if getattr(summary, n) is not None]
    if verdict not in LATENCY_VERDICTS:
        return f"unknown latency verdict {verdict!r}; known are {', '.join(LATENCY_VERDICTS)}"
    if verdict != "valid" and present:
        return f"latencies are {verdict}, yet {', '.join(present)} holds numbers"
    if verdict != "valid" and not summary.latency_reason:
        return f"latencies are {verdict} without a reason"
    if verdict == "valid" and summary.completed and summary.ttft_ms is None:
        return "latencies are called valid, and there is no ttft_ms"
    return None


def range_problem(summary: CellSummary) -> str | None:
    """Numbers that cannot be: negative, not finite, out of order, or at odds with the numbers that define them.

    What is unknown (None) is not judged here.
    """
    problems = [*_counts(summary), *_error_rate(summary), *_rates(summary)]
    for name in ("ttft_ms", "ttfv_ms", "tpot_ms", "itl_ms", "e2e_ms", "queue_ms"):
        numbers = getattr(summary, name)
        if numbers is not None:
            problems += _order(name, numbers)
    first, last = _median(summary.ttft_ms), _median(summary.e2e_ms)
    if first is not None and last is not None and first > last * (1 + _ROUNDING):
        problems.append(f"the median first token ({first:g} ms) comes after the median last one ({last:g} ms)")
    return "; ".join(problems) or None


def _median(numbers: Percentiles | None) -> float | None:
    return numbers.p50 if numbers is not None else None


def _counts(summary: CellSummary) -> Iterator[str]:
    for name in ("completed", "errors", "cut_off", "prompt_tokens", "completion_tokens", "events"):
        value = getattr(summary, name)
        if value is not None and value < 0:
            yield f"{name} is {value}"
    if summary.completed and summary.completion_tokens == 0:
        yield f"{summary.completed} requests completed without a single completion token"


def _error_rate(summary: CellSummary) -> Iterator[str]:
    if summary.errors is None:
        return
    counted = sum(summary.error_kinds.values())
    # an imported file may know how many failed and not how
    if counted > summary.errors or (counted < summary.errors and summary.error_kinds):
        yield f"error_kinds add up to {counted}, errors is {summary.errors}"
    ended = summary.completed + summary.errors
    if ended and summary.error_rate is not None and abs(summary.error_rate - summary.errors / ended) > 1e-6:
        yield f"error_rate is {summary.error_rate:g}, {summary.errors} of {ended} requests is another share"


def _rates(summary: CellSummary) -> Iterator[str]:
    duration = summary.duration_s
    if not math.isfinite(duration) or duration < 0 or (duration == 0 and summary.completed):
        yield f"duration_s is {duration:g}"
        return
    for name, tokens in (("prefill_tok_s", summary.prompt_tokens), ("decode_tok_s", summary.completion_tokens)):
        rate = getattr(summary, name)
        if rate is None:
            continue
        if not math.isfinite(rate) or rate < 0 or rate > MAX_PLAUSIBLE_TOK_S:
            yield f"{name} is {rate:g}"
        elif duration and tokens is not None and abs(rate - tokens / duration) > _ROUNDING * max(tokens / duration, 1):
            yield f"{name} is {rate:g}, {tokens} tokens in {duration:g} s are {tokens / duration:g}"


def _order(name: str, numbers: Percentiles) -> Iterator[str]:
    steps = [value for value in (numbers.p50, numbers.p90, numbers.p95, numbers.p99) if value is not None]
    known = steps if numbers.mean is None else [*steps, numbers.mean]
    if not all(math.isfinite(value) and value >= 0 for value in known):
        yield f"{name} holds a negative or infinite value"
    elif sorted(steps) != steps:
        yield f"{name} percentiles are out of order: {', '.join(f'{value:g}' for value in steps)}"
    if numbers.n is not None and numbers.n < 1:
        yield f"{name} has {numbers.n} samples"


def cut_off_share(summary: CellSummary) -> float | None:
    """Share of requests that the time cap ended, of all that were sent; None when unknown or when none was sent."""
    if summary.errors is None or summary.cut_off is None:
        return None
    sent = summary.completed + summary.errors + summary.cut_off
    return summary.cut_off / sent if sent else None


def identity_problem(record: CellRecord, planned: PlannedCell | None) -> str | None:
    """A record that does not describe the cell whose name it bears."""
    if planned is None:
        return "the ledger of this run did not plan it"
    wrong = [
        f"{name} is {getattr(record, name)}, planned {getattr(planned, name)}"
        for name in ("launch", "arm", "host", "placement", "workload", "users", "request_rate", "repeat")
        if getattr(record, name) != getattr(planned, name)
    ]
    return "; ".join(wrong) or None


def token_gaps(record: CellRecord) -> tuple[float | None, float | None]:
    """Relative difference between the client's and the server's totals: (prompt, completion); None when unknown.

    With the totals of everything the client sent the counters must meet from both sides. Without them, or when the
    tokens of some requests are unknown, the server may have counted more, but never less than the successes got.
    """
    summary, metrics, totals = record.summary, record.server_metrics, record.client_totals
    if summary is None or metrics is None:
        return None, None
    ours, exact = (totals, totals.unaccounted == 0) if totals is not None else (summary, False)
    prompt, completion = _rise(metrics, "prompt_tokens_total"), _rise(metrics, "generation_tokens_total")
    return _gap(ours.prompt_tokens, prompt, exact=exact), _gap(ours.completion_tokens, completion, exact=exact)


def _rise(metrics: ServerMetrics, counter: str) -> float | None:
    first = getattr(metrics.before, counter) if metrics.before else None
    last = getattr(metrics.after, counter) if metrics.after else None
    return last - first if first is not None and last is not None else None


def _gap(ours: int | None, theirs: float | None, *, exact: bool) -> float | None:
    if ours is None or theirs is None:
        return None
    larger = max(float(ours), theirs)
    difference = abs(ours - theirs) if exact else max(ours - theirs, 0.0)
    return difference / larger if larger > 0 else 0.0
