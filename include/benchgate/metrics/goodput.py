"""Goodput: the share of good requests.

Formula: good / (completed + errors). A request is good when it succeeded and meets every limit that is given, in ms. A
value that is unknown meets no limit, except TPOT of an answer of one token, which has none to break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.request_record import OK, RequestRecord


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest latencies of a good request, in ms; None: no limit."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None

    def __str__(self) -> str:
        named = {"TTFT": self.ttft_ms, "TPOT": self.tpot_ms, "E2E": self.e2e_ms}
        return ", ".join(f"{name} {limit:g} ms" for name, limit in named.items() if limit is not None)


def _within(value_s: float | None, limit_ms: float | None) -> bool:
    return limit_ms is None or (value_s is not None and value_s * 1000.0 <= limit_ms)


def is_good(record: RequestRecord, limits: Limits) -> bool:
    """Does this request meet every limit?"""
    one_token = record.completion_tokens == 1
    return (
        record.status == OK
        and _within(ttft_s(record), limits.ttft_ms)
        and (one_token or _within(tpot_s(record), limits.tpot_ms))
        and _within(e2e_s(record), limits.e2e_ms)
    )


def goodput(finished: Sequence[RequestRecord], limits: Limits | None) -> float | None:
    """Share of good requests among ``finished``; None without limits or requests."""
    if limits is None or not finished:
        return None
    return sum(is_good(record, limits) for record in finished) / len(finished)
