"""Prometheus text as engines publish it on ``/metrics``. Broken lines are skipped; unknown stays unknown."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?[ \t]+([^\s]+)(?:[ \t]+-?\d+)?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """The samples of a page by name; labels are dropped, since engines and ranks are summed or averaged."""

    samples: dict[str, list[float]] = field(default_factory=dict)

    def total(self, *names: str) -> float | None:
        """The sum over all series of the first name that exists; None when none does.

        A counter is found with and without its ``_total`` ending.
        """
        values = self._first(names)
        return math.fsum(values) if values else None

    def mean(self, *names: str) -> float | None:
        """The average over all series of the first name that exists; None when none does."""
        values = self._first(names)
        return math.fsum(values) / len(values) if values else None

    def _first(self, names: tuple[str, ...]) -> list[float]:
        for name in names:
            values = self.samples.get(name) or self.samples.get(f"{name}_total")
            if values:
                return values
        return []


def parse(text: str) -> Page:
    """Read a page. NaN and infinities are no measurement and are left out."""
    samples: dict[str, list[float]] = {}
    for name, _labels, value in _SAMPLE.findall(text):
        try:
            number = float(value)
        except ValueError:
            continue
        if math.isfinite(number):
            samples.setdefault(name, []).append(number)
    return Page(samples)
