"""The parts of a summary that every format fills alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchgate.importers.errors import groups, unknown_groups
from benchgate.metrics.latency_verdict import MAX_TOKENS_PER_EVENT, latency_verdict
from benchgate.metrics.stalls import stalls
from benchgate.metrics.warm_verdict import WarmVerdict, warm_verdict
from benchgate.metrics.window import measured_window
from benchgate.records import CellSummary, Percentiles
from benchgate.request_record import OK, RequestRecord

NOT_JUDGED = "not judged: the file does not say when each event came, so a burst cannot be told from a latency"


@dataclass
class Facts:
    """What a format's reader found. None is unknown."""

    client_name: str
    metric_definition: str
    completed: int
    errors: int | None
    duration_s: float
    client_version: str | None = None
    started_at: str | None = None
    token_count_source: str = "unknown"  # noqa: S105 - where counts come from
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    users: int | None = None
    request_rate: float | None = None
    cut_off: int | None = None
    goodput: float | None = None
    one_clock: bool = False  # the request rows have their times on one clock
    latencies: dict[str, Percentiles | None] = field(default_factory=dict)  # ttft_ms, ttfv_ms, tpot_ms, ..
    notes: list[str] = field(default_factory=list)


def summarise(facts: Facts, records: Sequence[RequestRecord] | None) -> CellSummary:
    """A summary that says what the file says.

    Latencies are the file's own figures. Where request rows came along they are judged by our rules, and a burst is
    NULL here as everywhere; where none did, the verdict says that nobody could judge.
    """
    successful = [record for record in records if record.status == OK] if records is not None else []
    verdict, reason = _judge(facts, successful)
    latencies = {name: value for name, value in facts.latencies.items() if verdict == "valid"}
    if records is not None:
        kinds, grouped = dict(Counter(r.status for r in records if r.is_error)), groups(records)
    else:
        kinds, grouped = unknown_groups(facts.errors or 0)
    warm = _warm(facts, records, verdict)
    tried = facts.completed + (facts.errors or 0)
    events = sum(record.events for record in successful) or None
    return CellSummary(
        client_name=facts.client_name,
        client_version=facts.client_version,
        metric_definition=facts.metric_definition,
        token_count_source=facts.token_count_source,
        started_at=facts.started_at,
        completed=facts.completed,
        errors=facts.errors,
        cut_off=facts.cut_off,
        error_kinds=kinds,
        error_groups=grouped,
        prompt_tokens=facts.prompt_tokens,
        completion_tokens=facts.completion_tokens,
        duration_s=facts.duration_s,
        prefill_tok_s=_rate(facts.prompt_tokens, facts),
        decode_tok_s=_rate(facts.completion_tokens, facts),
        request_s=_rate(facts.completed, facts),
        error_rate=facts.errors / tried if facts.errors is not None and tried else None,
        ttft_ms=latencies.get("ttft_ms"),
        ttfv_ms=latencies.get("ttfv_ms"),
        tpot_ms=latencies.get("tpot_ms"),
        itl_ms=latencies.get("itl_ms"),
        e2e_ms=latencies.get("e2e_ms"),
        queue_ms=facts.latencies.get("queue_ms"),
        latency_verdict=verdict,
        latency_reason=reason,
        warm_verdict=warm.verdict,
        warm_reason=warm.reason,
        events=events,
        tokens_per_event=facts.completion_tokens / events if events and facts.completion_tokens else None,
        goodput=facts.goodput,
        stopped_by="unknown",
        users=facts.users,
        request_rate=facts.request_rate,
        notes=facts.notes,
    )


def _judge(facts: Facts, successful: Sequence[RequestRecord]) -> tuple[str, str | None]:
    if facts.completed == 0:
        return "too_few_samples", "no request was completed"
    if any(record.itl_s for record in successful):
        judged = latency_verdict(successful, min_samples=1)
        return judged.verdict, judged.reason
    counted = [record for record in successful if record.events and record.completion_tokens]
    if not counted:
        return "valid", NOT_JUDGED
    per_event = sum(record.completion_tokens or 0 for record in counted) / sum(record.events for record in counted)
    if per_event > MAX_TOKENS_PER_EVENT:
        return "burst", f"{per_event:.1f} tokens came in each event, more than {MAX_TOKENS_PER_EVENT:g}"
    return "valid", None


def _warm(facts: Facts, records: Sequence[RequestRecord] | None, verdict: str) -> WarmVerdict:
    """``not_warm`` when all streams stood still; else unknown: users and the engine's log are not in the file."""
    window = measured_window(records) if records and facts.one_clock and verdict == "valid" else None
    if window is None or records is None:
        return WarmVerdict(None)
    judged = warm_verdict([], facts.users, stalled=stalls(records), window=window)
    return judged if judged.verdict == "not_warm" else WarmVerdict(None)


def _rate(count: int | None, facts: Facts) -> float | None:
    return count / facts.duration_s if count is not None and facts.completed and facts.duration_s > 0 else None
