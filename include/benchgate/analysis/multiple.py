"""Many comparisons at once: of twenty that test nothing, one is "significant" by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FALSE_DISCOVERIES = 0.05


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Benjamini-Hochberg: calling all with an adjusted p of at most q keeps the expected share of false calls below q.

    When nothing is real, the chance of any call at all is at most q. It stays powerful when many effects are real,
    which is the usual case of two kernels. Holds for independent and for positively dependent tests (Benjamini and
    Yekutieli 2001), as the metrics of one cell are.
    """
    count = len(p_values)
    if count == 0:
        return []
    order = np.argsort(p_values)[::-1]
    scaled = np.array(p_values, dtype=float)[order] * count / np.arange(count, 0, -1)
    result = np.empty(count)
    result[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return [float(value) for value in result]
