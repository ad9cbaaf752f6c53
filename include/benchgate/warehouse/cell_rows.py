"""The facts of one cell as columns, and the rows that hang on it."""

from __future__ import annotations

import re
from typing import Any

from benchgate.names import load_label
from benchgate.records import CellRecord, CellSummary, GpuSample, PlannedCell, ServerMetrics, ServerMetricsSnapshot
from benchgate.warehouse import tables as t
from benchgate.warehouse.tables.cell import JUDGED_LATENCIES, LATENCIES, STATISTICS
from benchgate.warehouse.values import moment, row

_IDLE_MASK = re.compile(r"0x0*[01]?")  # NVML's bit mask: nothing, or only "GPU idle"
_SUMMARY = [
    "client_name",
    "client_version",
    "metric_definition",
    "token_count_source",
    "completed",
    "errors",
    "cut_off",
    "error_rate",
    "prompt_tokens",
    "completion_tokens",
    "duration_s",
    "prefill_tok_s",
    "decode_tok_s",
    "request_s",
    "steady_duration_s",
    "steady_prefill_tok_s",
    "steady_decode_tok_s",
    "goodput",
    "latency_verdict",
    "warm_verdict",
    "warm_reason",
    "events",
    "tokens_per_event",
    "stopped_by",
    "client_cpu_share",
    "client_loop_lag_p99_ms",
    "notes",
]


def cell_facts(planned: PlannedCell, record: CellRecord | None) -> dict[str, Any]:
    """Identity from the ledger, facts from the record; nothing but the identity when the cell was not measured."""
    facts: dict[str, Any] = {
        "cell": planned.cell,
        "arm": planned.arm,
        "host": planned.host,
        "placement": planned.placement,
        "workload": planned.workload,
        "load_label": load_label(planned.users, planned.request_rate),
        "users": planned.users,
        "request_rate": planned.request_rate,
        "repeat": planned.repeat,
    }
    if record is None:
        return facts
    facts |= {name: getattr(record, name) for name in ("dataset", "prompt_tokens_requested", "max_tokens")}
    if record.summary is not None:
        facts |= _summary_facts(record.cell, record.summary)
    return facts | _server_facts(record.server_metrics) | _gpu_facts(record.gpu)


def _summary_facts(cell: str, summary: CellSummary) -> dict[str, Any]:
    facts = {name: getattr(summary, name) for name in _SUMMARY}
    facts["started_at"] = moment(summary.started_at, f"cell {cell}: started_at")
    valid = summary.latency_verdict == "valid"
    absent = []
    for name in LATENCIES:
        numbers = getattr(summary, f"{name}_ms")
        # a latency that is not a latency is NULL, whoever wrote the summary
        if numbers is None or (not valid and name in JUDGED_LATENCIES):
            if name in ("ttft", "tpot", "e2e"):
                absent.append(name)
            continue
        facts |= {f"{name}_{statistic}_ms": getattr(numbers, statistic) for statistic in STATISTICS}
        facts[f"{name}_n"] = numbers.n
    reason = summary.latency_reason
    if not valid:
        reason = reason or summary.latency_verdict
    elif absent and reason is None:
        reason = f"no sample of {', '.join(absent)}"
    facts["latency_reason"] = reason
    return facts


def _server_facts(metrics: ServerMetrics | None) -> dict[str, Any]:
    if metrics is None:
        return {}
    before, after = metrics.before, metrics.after
    seen = [snapshot for snapshot in (before, *metrics.samples, after) if snapshot is not None]
    queries = counter_rise(before, after, "prefix_cache_queries_total")
    hits = counter_rise(before, after, "prefix_cache_hits_total")
    return {
        "server_prompt_tokens": _whole(counter_rise(before, after, "prompt_tokens_total")),
        "server_completion_tokens": _whole(counter_rise(before, after, "generation_tokens_total")),
        "server_preemptions": _whole(counter_rise(before, after, "preemptions_total")),
        "prefix_cache_hit_share": hits / queries if hits is not None and queries else None,
        "kv_use_max": max((s.kv_use for s in seen if s.kv_use is not None), default=None),
    }


def counter_rise(
    before: ServerMetricsSnapshot | None, after: ServerMetricsSnapshot | None, counter: str
) -> float | None:
    """How much a counter grew; None when either end is unknown, or when it fell (the server restarted)."""
    first = getattr(before, counter) if before else None
    last = getattr(after, counter) if after else None
    return last - first if first is not None and last is not None and last >= first else None


def _gpu_facts(samples: list[GpuSample]) -> dict[str, Any]:
    memory = [s.memory_used_mib for s in samples if s.memory_used_mib is not None]
    power = [s.power_w for s in samples if s.power_w is not None]
    clock = [s.sm_clock_mhz for s in samples if s.sm_clock_mhz is not None]
    throttle = [s.throttle_reasons for s in samples if s.throttle_reasons is not None]
    return {
        "gpu_memory_used_max_mib": max(memory, default=None),
        "gpu_power_mean_w": sum(power) / len(power) if power else None,
        "gpu_sm_clock_mean_mhz": sum(clock) / len(clock) if clock else None,
        "gpu_throttled": any(_names_a_reason(text) for text in throttle) if throttle else None,
    }


def _names_a_reason(text: str) -> bool:
    """NVML's "nothing" comes as an empty text, none, or a zero bit mask; idling is no throttling."""
    said = text.strip().lower()
    return said not in ("", "none", "not active", "0", "idle", "gpu_idle") and not _IDLE_MASK.fullmatch(said)


def cell_detail_rows(cell_id: int, record: CellRecord, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Append the error groups, server metrics and GPU samples of one cell."""
    if record.summary is not None:
        rows["error_group"] += _error_rows(cell_id, record.summary)
    if record.server_metrics is not None:
        metrics = record.server_metrics
        moments = [("before", metrics.before), *(("during", s) for s in metrics.samples), ("after", metrics.after)]
        for number, (when, snapshot) in enumerate((w, s) for w, s in moments if s is not None):
            values = snapshot.model_dump()
            values["at"] = moment(snapshot.at, f"cell {record.cell}: server metrics")
            rows["server_metrics"].append(row(t.server_metrics, cell_id=cell_id, sample=number, moment=when, **values))
    for number, sample in enumerate(record.gpu):
        values = sample.model_dump()
        values["at"] = moment(sample.at, f"cell {record.cell}: GPU sample")
        rows["gpu_sample"].append(row(t.gpu_sample, cell_id=cell_id, sample=number, **values))


def _error_rows(cell_id: int, summary: CellSummary) -> list[dict[str, Any]]:
    groups = {group.kind: group for group in summary.error_groups}
    rows = [
        row(t.error_group, cell_id=cell_id, kind=g.kind, requests=g.count, near_cap=g.near_cap, sample=g.sample)
        for g in groups.values()
    ]
    # kinds that were only counted: no sample, and how near the cap they were is unknown
    rows += [
        row(t.error_group, cell_id=cell_id, kind=kind, requests=count)
        for kind, count in summary.error_kinds.items()
        if kind not in groups
    ]
    return rows


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
