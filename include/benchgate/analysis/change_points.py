"""Change points in the past of a series, by the ``ruptures`` library; the newest nights have their own rule.

Kernel change point detection with a linear kernel is least-squares segmentation, solved exactly. The penalty is in
units of the noise, which is estimated from differences between neighbours (a level shift touches only one of them).
A segment needs three nights, so that one odd night is not a level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import ruptures

SMALLEST_SEGMENT = 3
FEWEST_NIGHTS = 8
# Penalty of a change point: this times noise^2 times log(nights). Chosen so that noise alone gives a change point in
# at most 5 % of series of 12 to 90 nights (benchmarks/statistics_rates.py measures it).
PENALTY = 6.0
MAD_TO_SIGMA = 1.4826
SPIKE = 4.0  # a night this many standard deviations from the nights around it is an odd one


def noise(values: Sequence[float]) -> float:
    """Standard deviation of the noise, from the median absolute difference between neighbours. 0 when constant."""
    steps = np.abs(np.diff(np.asarray(values, dtype=float)))
    return float(np.median(steps)) * MAD_TO_SIGMA / float(np.sqrt(2)) if len(steps) else 0.0


def without_spikes(values: Sequence[float], least_noise: float) -> list[float]:
    """Odd nights replaced by the median of the five nights around them; a level of three nights is left alone.

    Too few nights to tell an odd one are returned as they are.
    """
    if len(values) < FEWEST_NIGHTS:
        return list(values)
    data = np.asarray(values, dtype=float)
    limit = SPIKE * max(noise(values), least_noise)
    middle = np.empty(len(data))
    middle[2:-2] = np.median(np.lib.stride_tricks.sliding_window_view(data, 5), axis=1)
    for index in (0, 1, len(data) - 2, len(data) - 1):
        middle[index] = np.median(data[max(index - 2, 0) : index + 3])
    return [float(v) for v in np.where(np.abs(data - middle) > limit, middle, data)]


def change_points(values: Sequence[float], least_noise: float) -> list[int]:
    """Indexes at which a new level begins. ``values`` should be :func:`without_spikes`.

    ``least_noise`` bounds the noise from below: smaller steps do not matter.
    """
    count = len(values)
    if count < FEWEST_NIGHTS:
        return []
    sigma = max(noise(values), least_noise)
    signal = np.asarray(values, dtype=float).reshape(-1, 1)
    solver = ruptures.KernelCPD(kernel="linear", min_size=SMALLEST_SEGMENT).fit(signal)
    return [int(index) for index in solver.predict(pen=PENALTY * sigma**2 * float(np.log(count)))[:-1]]
