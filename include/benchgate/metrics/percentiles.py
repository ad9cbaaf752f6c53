"""Percentiles: p50, p90, p95, p99, mean and the number of samples.

Formula: linear interpolation between closest ranks (Hyndman and Fan 1996, type 7; the default of numpy and Excel).
For sorted x[0..n-1] and share p: h = (n - 1) p, value = x[floor h] + (h - floor h) (x[floor h + 1] - x[floor h]).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from benchgate.records import Percentiles


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which ``share`` (0..1) of the sorted, non-empty ``ordered`` lies."""
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def percentiles_ms(seconds: Iterable[float]) -> Percentiles | None:
    """The distribution of samples given in seconds, in ms; None when there are none."""
    ordered = sorted(seconds)
    if not ordered:
        return None
    p50, p90, p95, p99 = (1000.0 * percentile(ordered, share) for share in (0.50, 0.90, 0.95, 0.99))
    mean = 1000.0 * math.fsum(ordered) / len(ordered)
    return Percentiles(p50=p50, p90=p90, p95=p95, p99=p99, mean=mean, n=len(ordered))
