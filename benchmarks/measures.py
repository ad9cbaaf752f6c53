"""What a client reported against the truth: errors, cost, and the load that it really offered."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers import Load, Reading
from benchmarks.reference_server.truth import RequestTruth
from benchmarks.running import Run


@dataclass(frozen=True)
class Schedule:
    """The server's schedule: TTFT and gap are the same for every request, the lengths are the truth's."""

    ttft_s: float
    itl_s: float

    def duration_s(self, tokens: int) -> float:
        """How long an answer takes when nobody is late."""
        return self.ttft_s + (tokens - 1) * self.itl_s


@dataclass(frozen=True)
class Comparison:
    """One run of one client. Errors are reported minus true; None where the client reports no such number."""

    completed: int
    errors: int | None
    ttft_p50_error_ms: float | None
    ttft_p99_error_ms: float | None
    tpot_p50_error_percent: float | None
    throughput_error_percent: float | None
    share_of_ideal_percent: float
    cpu_us_per_token: float | None
    startup_s: float
    peak_mib: float
    others_cpu_percent: float  # of one core, used by others meanwhile: above 10 the run says little
    server_late_p99_ms: float  # how late the server wrote
    server_cpu_us_per_token: float
    said: str = ""


def measured_only(truth: Sequence[RequestTruth]) -> list[RequestTruth]:
    """Without our client's warm-up and probes, which name themselves; the others send none."""
    return [one for one in truth if (one.client_request_id or "").partition("-")[0] not in ("warmup", "probe")]


def percentile(values: Sequence[float], share: float) -> float:
    """Linear between the closest ranks."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def ideal_s(tokens: Sequence[int], streams: int, schedule: Schedule) -> float:
    """How long a perfect client takes: every user sends its next request the moment the last one ends."""
    users = [0.0] * min(streams, len(tokens))
    for count in tokens:
        heapq.heapreplace(users, users[0] + schedule.duration_s(count))
    return max(users)


def compare(
    load: Load, schedule: Schedule, reading: Reading, run: Run, truth: Sequence[RequestTruth], server_cpu_s: float
) -> Comparison:
    """Put one run against the truth. ``server_cpu_s``: what the server used between first request and last token."""
    measured = [one for one in measured_only(truth) if one.token_ns]
    ttft = [one.ttft_s * 1000 for one in measured if one.ttft_s is not None]
    tpot = [one.tpot_s * 1000 for one in measured if one.tpot_s is not None]
    begin = min(one.received_ns for one in measured) / 1e9
    end = max(one.token_ns[-1] for one in measured) / 1e9
    tokens = sum(one.completion_tokens or 0 for one in measured)
    everything = [one for one in truth if one.token_ns]
    first = min(one.received_ns for one in everything) / 1e9
    all_tokens = sum(sum(one.event_tokens[: len(one.token_ns)]) for one in everything)
    cpu = run.cpu_between(first, end)
    late = [
        (mark - one.received_ns) / 1e6 - 1000 * (schedule.ttft_s + i * schedule.itl_s)
        for one in measured
        for i, mark in list(enumerate(one.token_ns))[:: max(1, len(one.token_ns) // 8)]
    ]
    others = run.machine_between(first, end) - cpu - server_cpu_s
    return Comparison(
        completed=reading.completed,
        errors=reading.errors,
        ttft_p50_error_ms=_minus(reading.ttft_p50_ms, percentile(ttft, 0.5)),
        ttft_p99_error_ms=_minus(reading.ttft_p99_ms, percentile(ttft, 0.99)),
        tpot_p50_error_percent=_percent(reading.tpot_p50_ms, statistics.median(tpot)),
        throughput_error_percent=_percent(reading.output_tok_s, tokens / (end - begin)),
        share_of_ideal_percent=100
        * ideal_s([one.completion_tokens or 1 for one in measured], load.streams, schedule)
        / (end - begin),
        cpu_us_per_token=1e6 * cpu / all_tokens if cpu > 0.2 else None,  # below, the clock's ticks are too coarse
        startup_s=first - run.started_at,
        peak_mib=run.peak_mib,
        others_cpu_percent=100 * max(0.0, others) / (end - first),
        server_late_p99_ms=percentile(late, 0.99),
        server_cpu_us_per_token=1e6 * server_cpu_s / all_tokens,
        said=reading.said,
    )


def _minus(reported: float | None, true: float) -> float | None:
    return None if reported is None else reported - true


def _percent(reported: float | None, true: float) -> float | None:
    return None if reported is None else 100 * (reported - true) / true
