"""Error rates of few requests: what counting alone makes them differ by is no finding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.compare import compare
from benchgate.analysis.counted import counting_error
from benchgate.analysis.findings import Comparison
from benchgate.analysis.regression import judge
from benchgate.analysis.series import NightlySeries, nightly
from tests.unit.analysis.fabricate import cell


def failing(arm: str, errors: int, requests: int, **where: object) -> MeasuredCell:
    """A cell of which ``errors`` of ``requests`` failed."""
    return cell(
        arm,
        errors / requests,
        metric="error_rate",
        errors=errors,
        completed=requests - errors,
        **where,  # type: ignore[arg-type]
    )


def compared(ours: list[int], theirs: list[int], requests: int) -> Comparison:
    """Errors of each repeat of arm a against those of arm b."""
    sides = (("a", ours), ("b", theirs))
    [found] = compare([failing(arm, n, requests, repeat=r) for arm, errors in sides for r, n in enumerate(errors, 1)])
    return found


def test_repeats_that_agree_by_chance_are_no_certainty() -> None:
    found = compared([0, 0], [1, 1], 100)

    assert found.verdict == "inconclusive"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high
    assert "counting errors" in (found.method or "")


def test_one_in_nine_requests_failing_is_found_whatever_the_repeats_scatter_by() -> None:
    """892 of 1,000 completed, against none that failed."""
    assert compared([0, 0], [108, 108], 1000).verdict == "more errors"
    assert compared([0, 0, 0], [108, 97, 115], 1000).verdict == "more errors"


def test_errors_that_scatter_more_than_counting_keep_their_own_interval() -> None:
    found = compared([0, 0, 0], [10, 300, 90], 1000)

    assert found.verdict == "inconclusive"
    assert "counting" not in (found.method or "")


@pytest.mark.parametrize(("rate", "requests", "repeats"), [(0.005, 200, 2), (0.01, 100, 3), (0.1, 50, 2)])
@pytest.mark.parametrize("placements", [("h/p",), ("h/p", "h/q")])
def test_equal_error_rates_are_told_apart_in_at_most_5_percent_of_runs(
    rate: float, requests: int, repeats: int, placements: tuple[str, ...]
) -> None:
    rng = np.random.default_rng(7)
    claims = 0
    for _ in range(150):
        cells = [
            failing(arm, int(rng.binomial(requests, rate)), requests, repeat=r, users=users, placement=place)
            for arm in "ab"
            for users in range(1, 11)
            for place in placements
            for r in range(1, repeats + 1)
        ]
        claims += any(c.direction for c in compare(cells))
    assert claims / 150 <= 0.05


def test_an_imported_rate_without_counts_is_compared_by_its_repeats_alone() -> None:
    cells = [cell(arm, v, metric="error_rate", repeat=r) for arm, v in (("a", 0.0), ("b", 0.1)) for r in (1, 2)]

    [found] = compare(cells)

    assert found.verdict == "more errors"


def nights(errors: list[int], requests: int) -> NightlySeries:
    """One night for each number of errors."""
    cells = [replace(failing("a", n, requests, night=f"2026-01-{i:02d}"), run=f"r{i}") for i, n in enumerate(errors, 1)]
    return next(one for one in nightly(cells) if one.measure.name == "error_rate")


def test_two_errors_among_twenty_requests_are_no_regression_and_among_a_thousand_they_are() -> None:
    assert judge(nights([0] * 8 + [2, 2], 20)).answer == "INCONCLUSIVE"
    assert judge(nights([0] * 8 + [100, 100], 1000)).answer == "REGRESSED"


def test_a_night_of_few_requests_passes_nothing_that_it_could_not_have_seen() -> None:
    assert judge(nights([0] * 12, 1000)).answer == "PASS"
    few = judge(nights([0] * 12, 10))
    assert few.answer == "INCONCLUSIVE"
    assert (few.smallest_visible_change or 0) > 0.05


def test_the_counting_error_is_that_of_the_binomial_and_never_zero() -> None:
    assert counting_error([failing("a", 100, 1000)]) == pytest.approx((0.1 * 0.9 / 1000) ** 0.5, rel=0.01)
    assert (counting_error([failing("a", 0, 20)]) or 0) > 0
    assert counting_error([cell("a", 0.1, metric="error_rate")]) is None
