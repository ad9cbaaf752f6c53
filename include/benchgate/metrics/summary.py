"""A cell's summary out of its request records: every number of ``summary.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchgate import CLIENT_NAME, METRIC_DEFINITION, __version__
from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.errors import error_groups, error_rate
from benchgate.metrics.goodput import Limits, goodput
from benchgate.metrics.itl import itl_s
from benchgate.metrics.latency_verdict import MAX_TOKENS_PER_EVENT, MIN_SAMPLES, latency_verdict
from benchgate.metrics.percentiles import percentiles_ms
from benchgate.metrics.queue import queue_s
from benchgate.metrics.stalls import stalls
from benchgate.metrics.steady import steady
from benchgate.metrics.throughput import completion_tokens, prompt_tokens, rate
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.metrics.ttfv import ttfv_s
from benchgate.metrics.warm_verdict import warm_verdict
from benchgate.metrics.window import measured_window
from benchgate.records import CellSummary, Percentiles
from benchgate.request_record import CUT_OFF, OK, ClientFacts, RequestRecord


def summarise(
    records: Sequence[RequestRecord],
    facts: ClientFacts | None = None,
    *,
    limits: Limits | None = None,
    max_tokens_per_event: float = MAX_TOKENS_PER_EVENT,
    min_samples: int = MIN_SAMPLES,
    compiled: Sequence[str] = (),
) -> CellSummary:
    """The summary of one cell.

    Args:
        records: all requests; only those of phase ``measured`` count.
        facts: what the client knows about its own run; without it no cell is ``client_bound``.
        limits: goodput limits.
        max_tokens_per_event: above, latencies are a burst and NULL.
        min_samples: below, latencies are NULL (too_few_samples).
        compiled: lines of the engine's log about kernels compiled in the window.
    """
    measured = [record for record in records if record.phase == "measured"]
    successful = [record for record in measured if record.status == OK]
    errors = [record for record in measured if record.is_error]
    users = facts.users if facts else None
    window = measured_window(measured)
    duration = window.seconds if window else 0.0
    prompt, completion = prompt_tokens(successful), completion_tokens(successful)
    calm = steady(measured, users)
    latency = latency_verdict(successful, facts, max_tokens_per_event=max_tokens_per_event, min_samples=min_samples)
    # a stream in bursts is silent between them
    stalled = stalls(measured) if latency.verdict in ("valid", "too_few_samples") else []
    warm = warm_verdict(successful, users, compiled=compiled, stalled=stalled, window=window)
    events = sum(record.events for record in successful)

    def distribution(values: Sequence[float | None]) -> Percentiles | None:
        if latency.verdict != "valid":
            return None
        return percentiles_ms(value for value in values if value is not None)

    return CellSummary(
        client_name=facts.client_name if facts else CLIENT_NAME,
        client_version=facts.client_version if facts else __version__,
        metric_definition=METRIC_DEFINITION,
        token_count_source=_token_count_source(successful),
        started_at=facts.started_at if facts else None,
        completed=len(successful),
        errors=len(errors),
        cut_off=sum(record.status == CUT_OFF for record in measured),
        error_kinds=dict(Counter(record.status for record in errors)),
        error_groups=error_groups(errors),
        prompt_tokens=prompt,
        completion_tokens=completion,
        duration_s=duration,
        prefill_tok_s=rate(prompt, duration) if successful else None,
        decode_tok_s=rate(completion, duration) if successful else None,
        request_s=rate(len(successful), duration) if successful else None,
        error_rate=error_rate(len(successful), len(errors)),
        ttft_ms=distribution([ttft_s(record) for record in successful]),
        ttfv_ms=distribution([ttfv_s(record) for record in successful]),
        tpot_ms=distribution([tpot_s(record) for record in successful]),
        itl_ms=distribution(list(itl_s(successful))),
        e2e_ms=distribution([e2e_s(record) for record in successful]),
        queue_ms=percentiles_ms(value for value in map(queue_s, measured) if value is not None),
        latency_verdict=latency.verdict,
        latency_reason=latency.reason,
        warm_verdict=warm.verdict,
        warm_reason=warm.reason,
        steady_duration_s=calm.seconds if calm else None,
        steady_prefill_tok_s=calm.prefill_tok_s if calm else None,
        steady_decode_tok_s=calm.decode_tok_s if calm else None,
        events=events,
        tokens_per_event=completion / events if completion is not None and events else None,
        goodput=goodput([*successful, *errors], limits) if latency.verdict == "valid" else None,
        stopped_by=facts.stopped_by if facts else "requests",
        client_cpu_share=facts.cpu_share if facts else None,
        client_loop_lag_p99_ms=facts.loop_lag_p99_ms if facts else None,
        stamp_source=facts.stamp_source if facts else None,
        tokenize_refused=facts.tokenize_refused if facts else None,
        users=users,
        request_rate=facts.request_rate if facts else None,
        notes=[
            *(facts.notes if facts else []),
            *_count_notes(successful),
            *([f"goodput is the share of requests within {limits}"] if limits else []),
        ],
    )


def _token_count_source(successful: Sequence[RequestRecord]) -> str:
    """``usage``, ``tokenizer``, ``mixed`` (some by usage, the rest by the tokenizer), or ``unknown``.

    One answer that nobody counted makes it ``unknown``: the totals are lower bounds then, and no mixture of two counts.
    """
    sources = {record.token_count_source or "unknown" for record in successful}
    if not sources or "unknown" in sources:
        return "unknown"
    return sources.pop() if len(sources) == 1 else "mixed"


def _count_notes(successful: Sequence[RequestRecord]) -> list[str]:
    notes = []
    missing = sum(record.completion_tokens is None for record in successful)
    if missing:
        notes.append(
            f"{missing} of {len(successful)} answers have no token count: token totals and rates are lower bounds"
            if missing < len(successful)
            else "no answer has a token count: the server sends no usage; give --tokenizer"
        )
    cached = sum(record.cached_tokens or 0 for record in successful)
    prompt = sum(record.prompt_tokens or 0 for record in successful)
    if prompt and cached > 0.05 * prompt:
        notes.append(f"{cached / prompt:.0%} of the prompt tokens came from the server's prefix cache")
    return notes
