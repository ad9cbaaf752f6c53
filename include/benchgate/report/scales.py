"""Axes of the charts: where a value lies, and which ticks a person can read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps values of ``low``..``high`` to pixels of ``start``..``end``, linearly or logarithmically."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Pixel of ``value``."""
        if self.log:
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Readable ticks inside the scale."""
        return _log_ticks(self.low, self.high, most) if self.log else _linear_ticks(self.low, self.high, most)


def fit(values: Sequence[float], start: float, end: float, *, log: bool = False, from_zero: bool = False) -> Scale:
    """A scale that holds every value with a little room. A log scale falls back to linear unless all are positive."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return Scale(0.0, 1.0, start, end)
    low, high = min(finite), max(finite)
    if log and low > 0:
        room = (high / low) ** 0.06 if high > low else 1.25
        return Scale(low / room, high * room, start, end, log=True)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low if from_zero and low == 0 else low - room, high + room, start, end)


def _linear_ticks(low: float, high: float, most: int) -> list[float]:
    raw = (high - low) / max(most - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for multiples in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**d for d in decades for m in multiples if low <= m * 10.0**d <= high]
        if len(ticks) <= most:
            break
    if len(ticks) >= 2:
        return ticks[:: math.ceil(len(ticks) / most)]
    return [tick for tick in _linear_ticks(low, high, most) if tick > 0]


def label(value: float) -> str:
    """A tick's text: 4379 -> 4.4k, 0.05 -> 0.05."""
    if value == 0:
        return "0"
    size = abs(value)
    for limit, divisor, suffix in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if size >= limit:
            return f"{value / divisor:.3g}{suffix}"
    return f"{value:.4g}"
