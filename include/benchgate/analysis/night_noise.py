"""What is assumed about the noise of one night before a series shows its own, and what the campaign's other series say.

A series of two or three nights cannot tell noise from change. The other series of its metric can: time to first token
may scatter by 8 % from night to night where throughput scatters by 1 %.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from benchgate.analysis.measures import Measure
from benchgate.analysis.night_memory import correlation_of
from benchgate.analysis.series import NightlySeries

QUARTILE = 1.1503  # upper quartile of the absolute value of a standard normal
FEWEST_STEPS = 12  # from one night to the next, over all series of a metric: fewer say nothing about its noise
FEWEST_TOGETHER = 4  # series of one night whose common move is taken out: a new image may move them all


@dataclass(frozen=True)
class Rules:
    """What matters and what is assumed, on the additive scale: logs for ratios, the share itself for error rates."""

    assumed_noise: float  # of one night, until the series shows its own
    relevant: float  # a PASS means that this would have been found within two nights
    plain: float  # a first-nights change this large is called without knowing the noise
    correlation: float = 0.0  # of neighbouring nights, at least


# 3 %: what a quiet machine shows between nights. 15 %: two single runs at 5 % noise differ by it in 2 of 100 pairs.
RATIO = Rules(assumed_noise=0.03, relevant=math.log(1.10), plain=0.16)
DIFFERENCE = Rules(assumed_noise=0.01, relevant=0.05, plain=0.10)


def rules_of(measure: Measure) -> Rules:
    """The rules for a measure."""
    return RATIO if measure.effect == "ratio" else DIFFERENCE


def least_noise(measure: Measure) -> float:
    """Noise below which a change point of the past does not matter."""
    return rules_of(measure).assumed_noise / 3


def rules_of_night(series: Sequence[NightlySeries]) -> list[Rules]:
    """The rules for each of a campaign's series: where its metric is plainly noisier than assumed, it is held to that.

    Steps of the same workload and load decide where there are enough, else those of the same load, else those of all.
    Only ever wider: a quiet campaign may hold a noisy series. Nights that wander are told from all series of a metric.
    """
    scopes = [_scopes(one) for one in series]
    groups: dict[Scope, list[NightlySeries]] = defaultdict(list)
    for one, names in zip(series, scopes, strict=True):
        for name in names:
            groups[name].append(one)
    noise = {name: _noise_of(group) for name, group in groups.items()}
    memory = {names[-1]: correlation_of(groups[names[-1]]) for names in scopes}
    found = []
    for one, names in zip(series, scopes, strict=True):
        seen = next((noise[name] for name in names if noise[name] is not None), None)
        found.append(_widened(rules_of(one.measure), seen, memory[names[-1]]))
    return found


Scope = tuple[object, ...]


def _scopes(one: NightlySeries) -> tuple[Scope, ...]:
    """Series that may know its noise, the nearest first; the last are all of its metric."""
    metric = one.measure.name
    load = one.users, one.request_rate
    return (metric, load, one.workload), (metric, load), (metric,)


def _widened(rules: Rules, noise: float | None, correlation: float) -> Rules:
    rules = replace(rules, correlation=correlation)
    if noise is None:
        return rules
    noise /= math.sqrt(1 - correlation)  # neighbours that are alike step less than they scatter
    if noise <= rules.assumed_noise:
        return rules
    return replace(rules, assumed_noise=noise, plain=rules.plain * noise / rules.assumed_noise)


def _noise_of(group: Iterable[NightlySeries]) -> float | None:
    """Standard deviation of one night, from the steps between neighbouring nights; None when there are too few.

    By their upper quartile: a few series that really changed do not count, and where a group holds quiet series and
    noisy ones, the noisy ones do. What all series of a night have in common is taken out.
    """
    steps: dict[str, list[float]] = defaultdict(list)
    for one in group:
        logs = one.measure.effect == "ratio"
        values = [math.log(night.value) if logs else night.value for night in one.nights]
        for night, before, after in zip(one.nights[1:], values, values[1:], strict=False):
            steps[night.run].append(after - before)
    own = []
    for moves in steps.values():
        common = median(moves) if len(moves) >= FEWEST_TOGETHER else 0.0
        own += [abs(move - common) for move in moves]
    return None if len(own) < FEWEST_STEPS else float(np.quantile(own, 0.75)) / QUARTILE / math.sqrt(2)
