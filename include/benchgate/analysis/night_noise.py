"""What is assumed about the noise of one night before a series shows its own, and what the campaign's other series say.

A series of two or three nights cannot tell noise from change. The other series of its metric can: time to first token
may scatter by 8 % from night to night where throughput scatters by 1 %.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np

from benchgate.analysis.measures import Measure
from benchgate.analysis.night_memory import correlation_of
from benchgate.analysis.series import NightlySeries

QUARTILE = 1.1503  # upper quartile of the absolute value of a standard normal
FEWEST_STEPS = 12  # from one night to the next, over all series of a metric: fewer say nothing about its noise
FAR = 4.0  # standard deviations of a step
FEWEST_TOGETHER = 4  # series of one night whose common move is taken out: a new image may move them all


@dataclass(frozen=True)
class Rules:
    """What matters and what is assumed, on the additive scale: logs for ratios, the share itself for error rates."""

    assumed_noise: float  # of one night, until the series shows its own
    relevant: float  # a PASS means that this would have been found within two nights
    plain: float  # a first-nights change this large is called without knowing the noise
    correlation: float = 0.0  # of neighbouring nights, at least
    odd_nights: float = 0.0  # share of nights that are far off for themselves, and mean nothing


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
    Only ever wider: a quiet campaign may hold a noisy series. That nights wander, or are odd now and then, is told from
    all series of a metric.
    """
    scopes = [_scopes(one) for one in series]
    groups: dict[Scope, list[NightlySeries]] = defaultdict(list)
    for one, names in zip(series, scopes, strict=True):
        for name in names:
            groups[name].append(one)
    moves = {name: _moves(group) for name, group in groups.items()}
    noise = {name: _noise_of(steps) for name, steps in moves.items()}
    of_metric = {names[-1] for names in scopes}
    memory = {name: correlation_of(groups[name]) for name in of_metric}
    least = {scopes[index][-1]: least_noise(one.measure) for index, one in enumerate(series)}
    odd = {name: _odd_nights(moves[name], max(noise[name] or 0.0, least[name])) for name in of_metric}
    found = []
    for one, names in zip(series, scopes, strict=True):
        seen = next((noise[name] for name in names if noise[name] is not None), None)
        rules = replace(rules_of(one.measure), correlation=memory[names[-1]], odd_nights=odd[names[-1]])
        found.append(_widened(rules, seen))
    return found


Scope = tuple[object, ...]


def _scopes(one: NightlySeries) -> tuple[Scope, ...]:
    """Series that may know its noise, the nearest first; the last are all of its metric."""
    metric = one.measure.name
    load = one.users, one.request_rate
    return (metric, load, one.workload), (metric, load), (metric,)


def _widened(rules: Rules, noise: float | None) -> Rules:
    if noise is None:
        return rules
    noise /= math.sqrt(1 - rules.correlation)  # neighbours that are alike step less than they scatter
    if noise <= rules.assumed_noise:
        return rules
    return replace(rules, assumed_noise=noise, plain=rules.plain * noise / rules.assumed_noise)


def _moves(group: Sequence[NightlySeries]) -> list[list[float]]:
    """Each series' steps from night to night, without what all of them have in common on a night."""
    steps: list[list[float]] = []
    together: dict[str, list[float]] = defaultdict(list)
    for one in group:
        logs = one.measure.effect == "ratio"
        values = [math.log(night.value) if logs else night.value for night in one.nights]
        steps.append([after - before for before, after in pairwise(values)])
        for night, move in zip(one.nights[1:], steps[-1], strict=True):
            together[night.run].append(move)
    common = {run: median(moves) if len(moves) >= FEWEST_TOGETHER else 0.0 for run, moves in together.items()}
    return [
        [move - common[night.run] for night, move in zip(one.nights[1:], own, strict=True)]
        for one, own in zip(group, steps, strict=True)
    ]


def _noise_of(moves: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of one night, from the steps between neighbouring nights; None when there are too few.

    By their upper quartile: a few series that really changed do not count, and where a group holds quiet series and
    noisy ones, the noisy ones do.
    """
    sizes = [abs(move) for own in moves for move in own]
    return None if len(sizes) < FEWEST_STEPS else float(np.quantile(sizes, 0.75)) / QUARTILE / math.sqrt(2)


def _odd_nights(moves: Sequence[Sequence[float]], noise: float) -> float:
    """Share of nights that went far off and came back the next night; 0 where there are too few to tell.

    A new level does not come back, so it is none of them.
    """
    pairs = [pair for own in moves for pair in pairwise(own)]
    if len(pairs) < FEWEST_STEPS:
        return 0.0
    far = FAR * noise * math.sqrt(2)
    return sum(out * back < 0 and min(abs(out), abs(back)) > far for out, back in pairs) / len(pairs)
