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

    Steps of the same load decide where there are enough, else those of all loads. Only ever wider: a quiet campaign
    may hold a noisy series.
    """
    by_load: dict[object, list[NightlySeries]] = defaultdict(list)
    by_metric: dict[object, list[NightlySeries]] = defaultdict(list)
    for one in series:
        by_load[_load(one)].append(one)
        by_metric[one.measure.name].append(one)
    noise_at = {key: _noise_of(group) for key, group in by_load.items()}
    noise_of = {key: _noise_of(group) for key, group in by_metric.items()}
    found = []
    for one in series:
        rules, seen = rules_of(one.measure), noise_at[_load(one)]
        found.append(_widened(rules, noise_of[one.measure.name] if seen is None else seen))
    return found


def _load(one: NightlySeries) -> tuple[object, ...]:
    return one.workload, one.users, one.request_rate, one.measure.name


def _widened(rules: Rules, noise: float | None) -> Rules:
    if noise is None or noise <= rules.assumed_noise:
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
