"""What differs from launch to launch. Repeats share their launch and cannot see it; an interval must hold it.

A server that starts again has other memory addresses, another clock and temperature, other kernels tuned. Where the
series has nights enough, they say how much that is. Before, it is assumed, and what the run's own swapped launches say
is added to the assumption: two arms on two placements are four launches, and what a placement and an arm do not explain
of them is the launches' own. docs/statistics.md has the rates with which such intervals hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from benchgate.analysis.intervals import Estimate

# 2 % between launches of the same arm: what launches of one arm on H200s differed by in throughput and time per token
# (0.7 to 2.1 %, docs/h200.md), taken at its upper end
ASSUMED = 0.02
ASSUMED_LAUNCHES = 8.0  # degrees of freedom that the assumption counts for


@dataclass(frozen=True)
class NightNoise:
    """How much the value of one night scatters between nights, on the additive scale. Repeats' noise is in it."""

    sigma: float
    degrees_of_freedom: float


@dataclass(frozen=True)
class LaunchNoise:
    """How much launches differ beyond the noise of their repeats, on the additive scale."""

    variance: float
    degrees_of_freedom: float


def launch_noise(seen: Iterable[tuple[str, int, float | None]]) -> LaunchNoise:
    """The assumption together with what swapped launches of one metric in one run say.

    ``seen`` has, for each comparison: its two arms as a name, how many placements they share, and the variance between
    launches that their interaction gives (None where it cannot be told). The cells of a launch share what is odd about
    it, so a pair of arms counts once, however many cells it has.
    """
    known = [(pair, places, variance) for pair, places, variance in seen if variance is not None]
    if not known:
        return LaunchNoise(ASSUMED**2, ASSUMED_LAUNCHES)
    freedom = float(sum({pair: places - 1 for pair, places, _ in known}.values()))
    variance = max(sum(one for _, _, one in known) / len(known), 0.0)
    total = ASSUMED_LAUNCHES + freedom
    return LaunchNoise((ASSUMED_LAUNCHES * ASSUMED**2 + freedom * variance) / total, total)


def with_launches_of_few_nights(estimate: Estimate, noise: LaunchNoise, launches: tuple[int, int]) -> Estimate:
    """The estimate with the variance between launches added; ``launches`` of each arm stand behind it.

    Degrees of freedom of the sum by Welch and Satterthwaite. Where these make up for the noise, the estimate stays:
    more noise is no reason for a narrower interval.
    """
    own = estimate.standard_error**2
    added = noise.variance * (1 / launches[0] + 1 / launches[1])
    total = own + added
    freedom = total**2 / (own**2 / estimate.degrees_of_freedom + added**2 / noise.degrees_of_freedom)
    method = f"{estimate.method}; launches taken to differ by {100 * math.sqrt(noise.variance):.1f} %"
    widened = replace(estimate, standard_error=math.sqrt(total), degrees_of_freedom=freedom, method=method)
    return widened if widened.half_width >= estimate.half_width else replace(estimate, method=method)


def with_nights(estimate: Estimate, nights: NightNoise, launches: tuple[int, int]) -> Estimate:
    """Widened to the noise between nights, where that is larger: two arms differ by it as two launches do."""
    error = nights.sigma * math.sqrt(1 / launches[0] + 1 / launches[1])
    if error <= estimate.standard_error:
        return estimate
    return replace(
        estimate,
        standard_error=error,
        degrees_of_freedom=nights.degrees_of_freedom,
        method=f"{estimate.method}, widened to the noise between nights",
    )
