"""The rule for the newest nights: has the level moved within the last seven, and since when?

For each possible first night of a new level the nights since then are tested against the level before, one-sided for
worse and for better. The level's noise is estimated from the series itself together with an assumption that counts as
much as eight nights, so that the first nights have something to go by and the assumption fades. docs/statistics.md has
the rates of false alarms and of found regressions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

NIGHTLY_LEVEL = 0.004  # accepted rate of false alarms of one series in one night
POWER = 0.80
# Share of NIGHTLY_LEVEL for each number of nights since the change. Two nights get most: that is when a person
# wants to know. One night alone must be extreme; more nights find smaller changes.
SHARES = {1: 0.02, 2: 0.80, 3: 0.06, 4: 0.03, 5: 0.03, 6: 0.03, 7: 0.03}
WORSE_SHARE = 0.85  # a regression that is overlooked costs more than an improvement
ASSUMED_NIGHTS = 8.0  # weight of the assumed noise
CONTRADICTION = 0.10  # chance of this much scatter under the assumed noise, below which the assumption is dropped
# The weakest night of a new level must show this part of the change, so that one outlier is not taken for a level.
WEAKEST_NIGHT = 0.35
FEW_NIGHTS = 4  # below: one odd night can make a level, and the plain rule of the first nights may decide, too
FEWEST_TO_CORRELATE = 8
SHRINK_CORRELATION = 20.0  # nights that the assumption of independence counts for


@dataclass(frozen=True)
class Step:
    """The best guess of a level change: ``length`` nights since it began. Effects on the additive scale."""

    length: int
    effect: float
    standard_error: float
    degrees_of_freedom: float
    before: float
    after: float
    p_value: float  # corrected for the start nights and for the two directions
    persistent: bool  # no single night makes it, neither of the new level nor of the old one
    spread: float  # standard error of a newest night from its own repeats; 0 where it is not known

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval."""
        return float(special.stdtrit(self.degrees_of_freedom, 0.975)) * self.standard_error


@dataclass(frozen=True)
class Baseline:
    """The level before: its nights on the additive scale."""

    values: tuple[float, ...]
    mean: float
    correlation: float  # lag one; see _correlation

    @classmethod
    def of(cls, values: Sequence[float], least_correlation: float) -> Baseline:
        """Level and memory of these nights; other series may know that nights remember more."""
        mean = float(np.mean(values))
        return cls(tuple(values), mean, max(_correlation(np.asarray(values) - mean), least_correlation))


def _correlation(rest: np.ndarray) -> float:
    """Lag-one autocorrelation, corrected for its bias and shrunk towards independence; never negative."""
    n = len(rest)
    total = float(rest @ rest)
    if n < FEWEST_TO_CORRELATE or total <= 0:
        return 0.0
    raw = float(rest[1:] @ rest[:-1]) / total + 1.0 / n
    return float(np.clip(raw * n / (n + SHRINK_CORRELATION), 0.0, 0.9))


def _variance_of_mean(count: int, correlation: float) -> float:
    """Variance of the mean of ``count`` nights, in units of one night's, when neighbours are correlated."""
    if correlation == 0:
        return 1.0 / count
    lags = np.arange(1, count)
    return float(1.0 + 2.0 * np.sum((1.0 - lags / count) * correlation**lags)) / count


def _noise(baseline: Baseline, newest: Sequence[float], assumed: float) -> tuple[float, float]:
    """Standard deviation of one night and its degrees of freedom, from both levels and the assumption."""
    levels, correlation = [values for values in (baseline.values, newest) if len(values)], baseline.correlation
    squares = sum(float(np.var(values)) * len(values) for values in levels)
    # what the squares of one night's noise are expected to be in, when each level takes its own mean out
    expected = sum(len(values) * (1.0 - _variance_of_mean(len(values), correlation)) for values in levels)
    own = sum(len(values) - 1 for values in levels)
    effective = own * (1.0 - correlation) / (1.0 + correlation)
    variance = squares / expected if own else 0.0
    # a series that is plainly noisier than assumed speaks for itself
    contradicted = own >= 2 and float(special.chdtrc(own, squares / assumed**2)) < CONTRADICTION
    weight = 0.0 if contradicted else ASSUMED_NIGHTS
    freedom = max(weight + effective, 1.0)
    return math.sqrt((weight * assumed**2 + effective * variance) / (weight + effective)), freedom


def step(
    before: Sequence[float],
    newest: Sequence[float],
    *,
    assumed_noise: float,
    correlation: float,
    odd_nights: float,
    spread: float | None,
    worse: int,
) -> Step:
    """Test ``newest`` nights against those ``before``.

    ``correlation`` is what neighbouring nights share at least. ``odd_nights`` is the share of nights that are far off
    and mean nothing: so many in a row come by chance, too.
    ``spread`` is the standard error of a newest night from its own repeats; it counts when it is larger than the
    noise between nights. ``worse`` is the sign of a change for the worse.
    """
    baseline = Baseline.of(before, correlation)
    sigma, freedom = _noise(baseline, newest, assumed_noise)
    correlation = baseline.correlation
    length = len(newest)
    own = max(sigma, spread or 0.0) ** 2 * _variance_of_mean(length, correlation)
    error = math.sqrt(own + sigma**2 * _variance_of_mean(len(before), correlation))
    after = float(np.mean(newest))
    effect = after - baseline.mean
    one_sided = float(special.stdtr(freedom, -abs(effect) / error)) if error > 0 else (0.0 if effect else 0.5)
    by_chance = odd_nights ** min(length, len(before))  # on either side
    direction_share = WORSE_SHARE if effect * worse > 0 else 1.0 - WORSE_SHARE
    return Step(
        length=length,
        effect=effect,
        standard_error=error,
        degrees_of_freedom=freedom,
        before=baseline.mean,
        after=after,
        p_value=max(min(1.0, one_sided / (SHARES[length] * direction_share)), by_chance),
        persistent=length >= 2
        and _persistent([value - baseline.mean for value in newest], effect)
        and (len(before) >= FEW_NIGHTS or _persistent([after - value for value in before], effect)),
        spread=spread or 0.0,
    )


def _persistent(deviations: Sequence[float], effect: float) -> bool:
    """Every night (from the fourth on: all but one) shows a good part of the change."""
    showing = sum(deviation * effect >= WEAKEST_NIGHT * effect**2 for deviation in deviations)
    return showing >= len(deviations) - (1 if len(deviations) >= 4 else 0)


def smallest_visible(before: Sequence[float], assumed_noise: float, correlation: float, spread: float) -> float:
    """The change that would be found within two nights in 80 % of cases, on the additive scale."""
    baseline = Baseline.of(before, correlation)
    sigma, freedom = _noise(baseline, [], assumed_noise) if len(before) > 1 else (assumed_noise, ASSUMED_NIGHTS)
    correlation = baseline.correlation
    own = max(sigma, spread) ** 2 * _variance_of_mean(2, correlation)
    error = math.sqrt(own + sigma**2 * _variance_of_mean(len(before), correlation))
    level = NIGHTLY_LEVEL * SHARES[2] * WORSE_SHARE
    return float(special.stdtrit(freedom, 1.0 - level) + special.stdtrit(freedom, POWER)) * error
