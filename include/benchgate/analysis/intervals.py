"""Intervals from few repeats. All 95 %, two-sided; on logarithms where the effect is a ratio.

Why not a bootstrap for 2 or 3 repeats: resampling n values knows only their spread times sqrt((n-1)/n) and uses normal
quantiles, so it covers the truth in 70 % (n=2) and 81 % (n=3) of cases instead of 95 %. Student's t pays for not
knowing the noise, and is right. docs/statistics.md has the measured rates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
POWER = 0.80  # of the smallest effect that a comparison could have seen


@dataclass(frozen=True)
class Scatter:
    """Noise of one repeat within a comparison, so that comparisons can learn from each other's."""

    variance: float
    degrees_of_freedom: float
    scale: float  # squared standard error of the effect = scale x variance


@dataclass(frozen=True)
class Estimate:
    """An effect on its own additive scale (log ratio or difference) with its uncertainty."""

    effect: float
    standard_error: float
    degrees_of_freedom: float
    method: str
    scatter: Scatter | None = None  # what it knows about the noise of one repeat; None where that is not one number

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return float(special.stdtrit(self.degrees_of_freedom, 0.5 + CONFIDENCE / 2)) * self.standard_error

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.effect - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.effect + self.half_width

    @property
    def p_value(self) -> float:
        """Two-sided probability of an effect at least this large when there is none."""
        if self.standard_error == 0:
            return 0.0 if self.effect else 1.0
        return float(2 * special.stdtr(self.degrees_of_freedom, -abs(self.effect) / self.standard_error))

    @property
    def minimum_detectable(self) -> float:
        """The effect that this comparison would have found in 80 % of cases: (t_.975 + t_.80) standard errors."""
        quantiles = special.stdtrit(self.degrees_of_freedom, [0.5 + CONFIDENCE / 2, POWER])
        return float(quantiles.sum()) * self.standard_error


def level(values: Sequence[float]) -> Estimate | None:
    """Mean of one group with Student's t; None for fewer than two values.

    On logs of repeats this is an interval for their median: logs of performance numbers are near symmetric.
    """
    n = len(values)
    if n < 2:
        return None
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    return Estimate(float(np.mean(values)), error, n - 1, f"Student's t over {n} repeats")


def difference(baseline: Sequence[float], arm: Sequence[float]) -> Estimate | None:
    """Mean of ``arm`` minus mean of ``baseline``, unpaired; None unless both have at least two values.

    Welch's t, which lets each group have its own noise. With two values each one variance is assumed instead:
    Welch's degrees of freedom are then drawn between 1 and 2 by chance, and would hide any effect below 20 %
    at 3 % noise; the pooled form still covers 94 % when one group is twice as noisy.
    """
    n_a, n_b = len(baseline), len(arm)
    if n_a < 2 or n_b < 2:
        return None
    var_a, var_b = float(np.var(baseline, ddof=1)) / n_a, float(np.var(arm, ddof=1)) / n_b
    effect = float(np.mean(arm)) - float(np.mean(baseline))
    # with equal numbers the mean variance serves even when the arms differ in noise; otherwise there is no one number
    scatter = Scatter(n_a * (var_a + var_b) / 2, 2 * n_a - 2, 2 / n_a) if n_a == n_b else None
    if n_a == n_b == 2 or var_a + var_b == 0:
        return Estimate(effect, math.sqrt(var_a + var_b), n_a + n_b - 2, f"pooled t, {n_a}+{n_b} repeats", scatter)
    freedom = (var_a + var_b) ** 2 / (var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1))
    return Estimate(effect, math.sqrt(var_a + var_b), freedom, f"Welch's t, {n_a}+{n_b} repeats", scatter)


@dataclass(frozen=True)
class TwoWay:
    """Arm and placement effects of ``value = arm + placement + noise``, and whether the arm effect depends on where."""

    arm: Estimate
    placements: dict[str, Estimate]  # each placement minus the first (alphabetically)
    interaction_p: float | None  # small: the arm effect differs between placements. None: cannot be tested
    by_placement: dict[str, Estimate | None]  # arm effect on each placement alone
    # how much launches differ beyond their repeats' noise, as the variance that explains the interaction; can come out
    # negative, as an estimate around 0 must. None: cannot be told from the repeats
    launch_variance: float | None = None


def two_way(baseline: Mapping[str, Sequence[float]], arm: Mapping[str, Sequence[float]]) -> TwoWay | None:
    """Least squares of the additive model over the placements that both arms ran on.

    ``baseline`` and ``arm`` map placement -> values of the repeats. None unless there are two common placements and
    each arm has one with at least two repeats. Balanced data give the mean over placements of the paired differences.
    """
    common = sorted(set(baseline) & set(arm))
    if len(common) < 2 or any(max(len(side[p]) for p in common) < 2 for side in (baseline, arm)):
        return None
    rows, values = [], []
    for is_arm, side in ((0.0, baseline), (1.0, arm)):
        for index, place in enumerate(common):
            for value in side[place]:
                rows.append([1.0, is_arm, *(float(index == j) for j in range(1, len(common)))])
                values.append(value)
    design, observed = np.array(rows), np.array(values)
    freedom = len(values) - design.shape[1]
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ observed
    residual = observed - design @ coefficients
    variance = float(residual @ residual) / freedom
    repeats = f"{sum(len(baseline[p]) for p in common)}+{sum(len(arm[p]) for p in common)} repeats"
    method = f"t of the two-way model arm + placement, {repeats} on {len(common)} placements"

    def estimate(column: int) -> Estimate:
        scale = float(inverse[column, column])
        error = math.sqrt(max(variance * scale, 0.0))
        return Estimate(float(coefficients[column]), error, freedom, method, Scatter(variance, freedom, scale))

    return TwoWay(
        arm=estimate(1),
        placements={place: estimate(1 + j) for j, place in enumerate(common) if j > 0},
        interaction_p=_interaction(common, baseline, arm, float(residual @ residual)),
        by_placement={place: difference(baseline[place], arm[place]) for place in common},
        launch_variance=_launch_variance(common, baseline, arm, float(residual @ residual)),
    )


def _within(
    common: Sequence[str], baseline: Mapping[str, Sequence[float]], arm: Mapping[str, Sequence[float]]
) -> tuple[float, int]:
    """Sum of squares of the repeats around the mean of their launch, and its degrees of freedom."""
    groups = [side[place] for side in (baseline, arm) for place in common]
    return sum(float(np.var(group)) * len(group) for group in groups), sum(len(group) - 1 for group in groups)


def _launch_variance(
    common: Sequence[str],
    baseline: Mapping[str, Sequence[float]],
    arm: Mapping[str, Sequence[float]],
    additive: float,
) -> float | None:
    """The interaction's mean square is noise of repeats + repeats x variance between launches."""
    within, freedom = _within(common, baseline, arm)
    if freedom < 1:
        return None
    launches = [len(side[place]) for side in (baseline, arm) for place in common]
    repeats = len(launches) / sum(1 / count for count in launches)
    return ((additive - within) / (len(common) - 1) - within / freedom) / repeats


def _interaction(
    common: Sequence[str],
    baseline: Mapping[str, Sequence[float]],
    arm: Mapping[str, Sequence[float]],
    additive: float,
) -> float | None:
    """F test of the additive model against one mean for each arm on each placement."""
    within, freedom = _within(common, baseline, arm)
    extra = len(common) - 1
    if freedom < 1:
        return None
    if within <= 1e-18:
        return 1.0 if additive <= 1e-18 else 0.0
    return float(special.fdtrc(extra, freedom, max(additive - within, 0.0) / extra / (within / freedom)))
