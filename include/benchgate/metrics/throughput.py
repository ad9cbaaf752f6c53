"""Throughput over a window, in tokens (or requests) per second.

Formulas: prefill tok/s = sum of prompt_tokens / wall clock, decode tok/s = sum of completion_tokens / wall clock, both
over *successful* requests only; request/s = successful requests / wall clock. The two token rates are never added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchgate.request_record import RequestRecord


def total(values: Iterable[int | None]) -> int | None:
    """Sum of what is known; None when values exist and none is known."""
    seen = False
    known: list[int] = []
    for value in values:
        seen = True
        if value is not None:
            known.append(value)
    if seen and not known:
        return None
    return sum(known)


def rate(amount: int | None, seconds: float) -> float | None:
    """``amount`` per second; None when either says nothing."""
    return None if amount is None or seconds <= 0 else amount / seconds


def prompt_tokens(successful: Sequence[RequestRecord]) -> int | None:
    """Prompt tokens of successful requests, as the server counted them."""
    return total(record.prompt_tokens for record in successful)


def completion_tokens(successful: Sequence[RequestRecord]) -> int | None:
    """Completion tokens of successful requests."""
    return total(record.completion_tokens for record in successful)
