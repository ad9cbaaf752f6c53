"""What comparisons may learn about the noise of their repeats from each other.

Two or three repeats estimate their own noise badly; the other cells of the run, measured by the same metric, know more.
Each comparison's variance is moved towards a common one, by as much as the variances of the run agree with each other
(the empirical Bayes variance of Smyth 2004, doi:10.2202/1544-6115.1027). We take a quarter of the weight that the fit
allows, and a comparison that is plainly noisier than the common variance keeps its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from benchgate.analysis.intervals import Estimate, Scatter

FEWEST_COMPARISONS = 4
WEIGHT = 0.25  # of the degrees of freedom that the fit gives the common variance
CONTRADICTION = 0.10  # chance of this much more noise than the common, below which a comparison stands alone
_NOTHING = 1e-12  # variance of values that are equal


def moderated(estimates: Sequence[Estimate | None]) -> list[Estimate | None]:
    """The estimates of one metric in one run, each with the noise that all of them together suggest."""
    known = [e.scatter for e in estimates if e is not None and e.scatter is not None and e.scatter.variance > _NOTHING]
    if len(known) < FEWEST_COMPARISONS:
        return list(estimates)
    common, freedom = _common([s.variance for s in known], [s.degrees_of_freedom for s in known])
    total = sum(scatter.degrees_of_freedom for scatter in known)
    return [None if e is None else _moderate(e, e.scatter, common, freedom, total) for e in estimates]


def _moderate(estimate: Estimate, own: Scatter | None, common: float, freedom: float, total: float) -> Estimate:
    if own is None or own.variance <= _NOTHING:
        return estimate
    others = total - own.degrees_of_freedom
    weight = WEIGHT * min(freedom, others)  # never more than the others know
    noisier = special.fdtrc(own.degrees_of_freedom, max(min(freedom, others), 1.0), own.variance / common)
    if weight <= 0 or noisier < CONTRADICTION:
        return estimate
    joint = weight + own.degrees_of_freedom
    variance = (weight * common + own.degrees_of_freedom * own.variance) / joint
    return replace(
        estimate,
        standard_error=math.sqrt(variance * own.scale),
        degrees_of_freedom=joint,
        method=f"{estimate.method}, noise moderated over the run",
    )


def _common(variances: Sequence[float], freedoms: Sequence[float]) -> tuple[float, float]:
    """The common variance and how many degrees of freedom it is worth (infinite when the variances agree)."""
    half = np.asarray(freedoms) / 2
    logs = np.log(variances) - special.digamma(half) + np.log(half)
    spread = float(np.var(logs, ddof=1)) - float(np.mean(special.polygamma(1, half)))
    if spread <= 0:
        return float(np.exp(np.mean(logs))), math.inf
    freedom = 2 * _inverse_trigamma(spread)
    return float(np.exp(np.mean(logs) + special.digamma(freedom / 2) - np.log(freedom / 2))), freedom


def _inverse_trigamma(value: float) -> float:
    """Newton's method on 1/trigamma, which is nearly a straight line."""
    guess = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, guess))
        change = trigamma * (1 - trigamma / value) / float(special.polygamma(2, guess))
        guess += change
        if abs(change) < 1e-9 * guess:
            break
    return guess
