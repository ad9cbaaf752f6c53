"""How much a share of requests scatters by counting alone: where one of a hundred failed, it could have been none.

Repeats that happen to agree (no error in any of one arm, one in each of the other) show no scatter of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.intervals import Estimate


@dataclass(frozen=True)
class Counting:
    """The variance that counting gives a difference of shares, and how well the errors that were seen know it."""

    variance: float
    degrees_of_freedom: float


def counting_of_difference(base: Iterable[MeasuredCell], arm: Iterable[MeasuredCell]) -> Counting | None:
    """Of the error rates of two arms, if there is one rate behind both; None where a cell does not say its counts."""
    ours, theirs = _counts(base), _counts(arm)
    if ours is None or theirs is None:
        return None
    errors, requests = ours[0] + theirs[0], ours[1] + theirs[1]
    variance = _of_one_request(errors, requests) * (1 / ours[1] + 1 / theirs[1])
    # k errors know their rate to 1 / sqrt(k), as a variance of 2 k degrees of freedom is known
    return Counting(variance, 2 * (errors + 0.5))


def counting_error(cells: Iterable[MeasuredCell]) -> float | None:
    """Standard error that counting gives the error rate of these repeats; None where one does not say its counts."""
    counts = _counts(cells)
    return None if counts is None else math.sqrt(_of_one_request(*counts) / counts[1])


def with_counting(estimate: Estimate, counting: Counting | None) -> Estimate:
    """The estimate, with a standard error that is not below that of counting."""
    if counting is None or counting.variance <= estimate.standard_error**2:
        return estimate
    return replace(
        estimate,
        standard_error=math.sqrt(counting.variance),
        degrees_of_freedom=max(counting.degrees_of_freedom, estimate.degrees_of_freedom),
        method=f"{estimate.method}, not narrower than counting errors allows",
    )


def _counts(cells: Iterable[MeasuredCell]) -> tuple[int, int] | None:
    """Errors and requests of all cells together."""
    rows: Sequence[MeasuredCell] = list(cells)
    errors = requests = 0
    for cell in rows:
        if cell.errors is None or cell.completed is None:
            return None
        errors, requests = errors + cell.errors, requests + cell.errors + cell.completed
    return (errors, requests) if requests else None


def _of_one_request(errors: int, requests: int) -> float:
    """Variance of one request's failing; a rate of 0 of few requests is not known to be 0."""
    rate = (errors + 0.5) / (requests + 1)
    return rate * (1 - rate)
