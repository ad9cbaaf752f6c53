"""One measured cell: what the load generator says of it, and what was seen of server and GPUs meanwhile."""

from __future__ import annotations

from typing import Literal

from benchgate.records.base import Record
from benchgate.records.run import PlannedCell


class Percentiles(Record):
    """Distribution of one latency, in ms. Our client fills all of it; an imported file may say less."""

    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    n: int | None


class ErrorGroup(Record):
    """All errors of one kind in a cell."""

    kind: str
    count: int
    near_cap: int  # of these, how many ended within 2 % of max_tokens
    sample: str  # first message, cut, secrets masked


class CellSummary(Record):
    """What ``summary.json`` of the load generator says (docs/metrics.md defines each number)."""

    client_name: str
    client_version: str | None  # None: an imported file that does not say
    metric_definition: str
    token_count_source: str  # usage | tokenizer | mixed | unknown
    started_at: str | None = None
    completed: int
    errors: int | None  # None: an imported file that does not say
    cut_off: int | None  # the same
    error_kinds: dict[str, int]
    error_groups: list[ErrorGroup] = []
    prompt_tokens: int | None  # None: the server sent no usage and nothing could count
    completion_tokens: int | None
    duration_s: float
    prefill_tok_s: float | None
    decode_tok_s: float | None
    request_s: float | None = None  # completed requests per second
    error_rate: float | None
    ttft_ms: Percentiles | None
    ttfv_ms: Percentiles | None = None
    tpot_ms: Percentiles | None
    itl_ms: Percentiles | None
    e2e_ms: Percentiles | None
    queue_ms: Percentiles | None = None
    latency_verdict: str  # valid | burst | client_bound | too_few_samples | no_stream
    latency_reason: str | None = None
    warm_verdict: str | None = None  # warm | not_warm
    warm_reason: str | None = None
    steady_duration_s: float | None = None
    steady_prefill_tok_s: float | None = None
    steady_decode_tok_s: float | None = None
    events: int | None = None
    tokens_per_event: float | None = None
    goodput: float | None = None  # share of good requests
    stopped_by: str = "requests"  # requests | time_cap | error_rate | interrupt | unknown (imported)
    client_cpu_share: float | None = None
    client_loop_lag_p99_ms: float | None = None
    stamp_source: str | None = None  # who timed the reads: kernel | user (the client) | mixed
    tokenize_refused: str | None = None  # what the server's /tokenize said in place of a count; None: it counted
    users: int | None = None
    request_rate: float | None = None
    notes: list[str] = []


class ServerMetricsSnapshot(Record):
    """The server's own counters and gauges at one moment; None where the engine has no such metric."""

    at: str
    running: float | None = None
    waiting: float | None = None
    kv_use: float | None = None  # 0..1
    prompt_tokens_total: float | None = None
    generation_tokens_total: float | None = None
    prefix_cache_queries_total: float | None = None
    prefix_cache_hits_total: float | None = None
    preemptions_total: float | None = None


class ServerMetrics(Record):
    """Server metrics around and during one cell."""

    before: ServerMetricsSnapshot | None = None
    after: ServerMetricsSnapshot | None = None
    samples: list[ServerMetricsSnapshot] = []


class GpuSample(Record):
    """One GPU at one moment."""

    at: str
    gpu: str
    memory_used_mib: float | None = None
    power_w: float | None = None
    sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    utilization: float | None = None  # 0..1
    throttle_reasons: str | None = None


class TokenTotals(Record):
    """Tokens of everything a client sent between two server snapshots: warm-up, probes, errors and cut-off included."""

    prompt_tokens: int
    completion_tokens: int
    unaccounted: int  # requests that reached the server and whose token counts nobody knows


class CellRecord(PlannedCell):
    """A planned cell and what was measured. ``state`` is what the measuring step knows; gates decide publication."""

    state: Literal["planned", "measured", "failed", "not_run"] = "planned"
    reason: str | None = None  # for failed and not_run
    broken_off: bool = False  # not_run because its run ended before it began, and no gate had kept it from beginning
    summary: CellSummary | None = None
    server_metrics: ServerMetrics | None = None
    client_totals: TokenTotals | None = None  # to be held against the rise of the server's counters
    gpu: list[GpuSample] = []
    prompt_tokens_requested: int | None = None
    max_tokens: int | None = None
    dataset: str | None = None
