"""Warm verdict: was the server warm while the cell was measured?

``not_warm`` when the engine's log names kernels that it compiled in the window (given by the caller), when the server
stood still for more than :data:`STALLED` of it (see :mod:`benchgate.metrics.stalls`; a log names each kernel once, and
compiles it for further shapes silently), or when the first part of the cell was slower than the rest beyond noise;
``warm`` otherwise; None when there is too little to tell.

The data rule compares the first quarter of the successful requests (in the order they were sent) with the rest, for
TPOT and for TTFT. "Beyond noise" means both: a rank-sum test (Mann-Whitney U, normal approximation) gives z above
:data:`Z`, and the median of the first part is more than :data:`SLOWER` times that of the rest, times the spread of the
rest: largest over smallest median of its three thirds. A machine whose load drifts is noisy all along; a server that
was cold is noisy at the start only.
For TTFT each user's first request is judged more mildly: all users start at once there, so their prompts queue for one
another also on a warm server. They count as slow only when their median TTFT is above ``users`` times that of the rest.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchgate.metrics.stalls import Stall
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.metrics.window import Window
from benchgate.request_record import RequestRecord

SLOWER = 1.3
Z = 3.0  # one false alarm in about 700 cells a metric
FIRST_PART = 0.25
MIN_PART = 4  # samples on either side
STALLED = 0.05  # share of the window in silences that nothing explains


@dataclass(frozen=True, slots=True)
class WarmVerdict:
    """``warm``, ``not_warm`` or None, and why."""

    verdict: str | None
    reason: str | None = None


def rank_sum_z(first: Sequence[float], rest: Sequence[float]) -> float:
    """Mann-Whitney U of ``first`` against ``rest`` as a z score: positive when ``first`` is larger."""
    merged = sorted([(value, 0) for value in first] + [(value, 1) for value in rest])
    ranks = 0.0
    at = 0
    while at < len(merged):
        end = at
        while end + 1 < len(merged) and merged[end + 1][0] == merged[at][0]:
            end += 1
        shared = (at + end) / 2 + 1
        ranks += shared * sum(side == 0 for _, side in merged[at : end + 1])
        at = end + 1
    n, m = len(first), len(rest)
    u = ranks - n * (n + 1) / 2
    return (u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)


def drift(values: Sequence[float]) -> float:
    """Largest over smallest median of the three thirds of ``values``; 1 when there are too few to cut."""
    third = len(values) // 3
    if third < 1:
        return 1.0
    medians = [statistics.median(values[at : at + third]) for at in (0, third, len(values) - third)]
    return max(medians) / min(medians) if min(medians) > 0 else 1.0


def _first_part_slower(values: Sequence[float], what: str) -> str | None:
    size = max(MIN_PART, int(len(values) * FIRST_PART))
    first, rest = values[:size], values[size:]
    if len(rest) < MIN_PART:
        return None
    before, after = statistics.median(first), statistics.median(rest)
    if before > SLOWER * drift(rest) * after and rank_sum_z(first, rest) > Z:
        ms = f"{before * 1000:.1f} ms, the rest {after * 1000:.1f} ms"
        return f"the first {len(first)} requests had a median {what} of {ms}"
    return None


def _first_wave_slow(wave: Sequence[float], rest: Sequence[float], users: int) -> str | None:
    if len(wave) < MIN_PART or len(rest) < MIN_PART:
        return None
    before, after = statistics.median(wave), statistics.median(rest)
    if before > max(users, SLOWER) * after and rank_sum_z(wave, rest) > Z:
        return (
            f"the users' first requests had a median TTFT of {before * 1000:.1f} ms, later ones {after * 1000:.1f} ms"
        )
    return None


def _stood_still(stalled: Sequence[Stall], began_at: float, window_s: float) -> str | None:
    total = sum(stall.excess_s for stall in stalled)
    if not stalled or total < STALLED * window_s:
        return None
    longest = max(stalled, key=lambda stall: stall.seconds)
    times = "once" if len(stalled) == 1 else f"{len(stalled)} times"
    return (
        f"nobody got a token for {total:.1f} of {window_s:.1f} s beyond what waiting prompts explain ({times}, the "
        f"longest {longest.seconds:.1f} s from {longest.begins_at - began_at:.1f} s on): so looks a kernel that is "
        "compiled for a new shape"
    )


def _known(records: Sequence[RequestRecord], value: Callable[[RequestRecord], float | None]) -> list[float]:
    return [found for found in map(value, records) if found is not None]


def warm_verdict(
    successful: Sequence[RequestRecord],
    users: int | None,
    *,
    compiled: Sequence[str] = (),
    stalled: Sequence[Stall] = (),
    window: Window | None = None,
) -> WarmVerdict:
    """The verdict over a cell.

    Args:
        compiled: lines of the engine's log that name kernels compiled in the window.
        stalled: the cell's stalls. They count only with the window that they are a share of.
    """
    if compiled:
        return WarmVerdict("not_warm", f"the engine compiled kernels meanwhile: {compiled[0]}")
    still = _stood_still(stalled, window.start, window.seconds) if window else None
    if still:
        return WarmVerdict("not_warm", still)
    ordered = sorted((r for r in successful if r.sent_at is not None), key=lambda r: r.sent_at or 0.0)
    if len(ordered) < 2 * MIN_PART:
        return WarmVerdict(None, f"{len(ordered)} requests are too few to tell")
    seen: set[int | None] = set()
    wave: list[RequestRecord] = []
    later: list[RequestRecord] = []
    for record in ordered:
        (later if record.user in seen or (users or 0) <= 1 else wave).append(record)
        seen.add(record.user)
    reason = (
        _first_part_slower(_known(ordered, tpot_s), "TPOT")
        or _first_part_slower(_known(later, ttft_s), "TTFT")
        or _first_wave_slow(_known(wave, ttft_s), _known(later, ttft_s), users or 1)
    )
    return WarmVerdict("not_warm", reason) if reason else WarmVerdict("warm")
