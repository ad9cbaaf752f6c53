"""Whether neighbouring nights are alike: a machine that wanders makes a level of three nights more often than dice do.

Told by turning points. Of independent nights two of three stand above or below both their neighbours, whatever they are
distributed like; of nights that wander, fewer do. A change of level moves no more than two of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean, stdev

from benchgate.analysis.series import NightlySeries

FEWEST_NIGHTS = 4  # with a night on either side: fewer say nothing
FEWEST_SERIES = 4  # fewer know no more than each does by itself
LARGEST = 0.9


def correlation_of(group: Sequence[NightlySeries]) -> float:
    """Lag-one correlation that the series of a metric show together, at its lower end (one standard error); else 0.

    A night counts once, however many series have it: what moves all of them at once is one piece of news. Neighbours
    correlated by c turn in a share of arccos((c - 1) / 2) / pi of the nights, when they are normal.
    """
    if len(group) < FEWEST_SERIES:
        return 0.0
    turns: dict[str, list[bool]] = defaultdict(list)
    for one in group:
        values = [night.value for night in one.nights]
        for night, before, here, after in zip(one.nights[1:], values, values[1:], values[2:], strict=False):
            bend = (here - before) * (after - here)
            if bend:
                turns[night.run].append(bend < 0)
    shares = [mean(found) for found in turns.values()]
    if len(shares) < FEWEST_NIGHTS:
        return 0.0
    share = mean(shares) + stdev(shares) / math.sqrt(len(shares))
    return min(max(1 + 2 * math.cos(math.pi * min(share, 1.0)), 0.0), LARGEST)
