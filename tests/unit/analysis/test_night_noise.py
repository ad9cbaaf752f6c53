"""What the series of a campaign know about each other's noise: how large it is, and whether it lasts."""

from __future__ import annotations

import numpy as np
import pytest

from benchgate.analysis.family import judge_night
from benchgate.analysis.findings import CALLED
from benchgate.analysis.night_memory import correlation_of
from benchgate.analysis.night_noise import RATIO, rules_of_night
from benchgate.analysis.series import NightlySeries
from tests.unit.analysis.nights import noisy, series


def wandering(rng: np.random.Generator, nights: int, correlation: float, sigma: float = 0.03) -> np.ndarray:
    """An autoregression of first order around 1000."""
    values = [rng.normal(0, sigma)]
    for _ in range(nights - 1):
        values.append(correlation * values[-1] + rng.normal(0, sigma * np.sqrt(1 - correlation**2)))
    return 1000 * np.exp(np.asarray(values))


def campaign(rng: np.random.Generator, nights: int, correlation: float, count: int = 20) -> list[NightlySeries]:
    """Series that wander independently of each other."""
    return [series(wandering(rng, nights, correlation), users=n) for n in range(1, count + 1)]


def test_series_that_wander_together_know_it_from_each_other() -> None:
    rng = np.random.default_rng(1)

    told = [correlation_of(campaign(rng, 20, 0.5)) for _ in range(20)]

    assert 0.3 < np.median(told) < 0.5


@pytest.mark.parametrize("heavy", [False, True])
def test_independent_nights_are_hardly_taken_for_wandering(heavy: bool) -> None:
    rng = np.random.default_rng(2)
    told = []
    for _ in range(40):
        noise = rng.standard_t(2, (20, 20)) if heavy else rng.normal(0, 1, (20, 20))
        told.append(correlation_of([series(1000 * np.exp(0.02 * row), users=n) for n, row in enumerate(noise, 1)]))

    assert np.median(told) == 0.0
    assert max(told) < 0.3


def test_what_moves_all_series_at_once_counts_as_one_series() -> None:
    """Twenty copies of one independent series must not look like twenty witnesses of its chance turns."""
    rng = np.random.default_rng(3)
    told = []
    for _ in range(40):
        values = noisy(rng, 14)
        told.append(correlation_of([series(values, users=n) for n in range(1, 21)]))

    assert np.mean(np.asarray(told) > 0.5) <= 0.05


def test_a_change_of_level_is_no_wandering() -> None:
    rng = np.random.default_rng(4)
    changed = []
    for n in range(1, 21):
        values = noisy(rng, 24)
        values[12:] *= 0.8
        changed.append(series(values, users=n))

    assert correlation_of(changed) < 0.2


def test_few_nights_and_constant_ones_say_nothing() -> None:
    assert correlation_of([series([1.0, 2.0, 3.0, 4.0, 5.0], users=n) for n in range(1, 9)]) == 0.0
    assert correlation_of([series([1.0] * 30, users=n) for n in range(1, 9)]) == 0.0
    assert correlation_of([]) == 0.0


def test_a_series_that_stands_alone_is_judged_by_its_own_memory() -> None:
    rng = np.random.default_rng(7)

    assert correlation_of([series(wandering(rng, 40, 0.8))]) == 0.0


def test_noise_that_grows_with_users_is_told_by_the_other_workloads_of_the_same_users() -> None:
    rng = np.random.default_rng(5)
    made = []
    for users, sigma in ((1, 0.01), (64, 0.10)):
        for workload in ("chat", "documents", "code", "sums", "tales"):
            one = series(noisy(rng, 5, noise=sigma), users=users)
            made.append(
                NightlySeries(one.campaign, one.arm, one.placement, workload, users, None, one.measure, one.nights)
            )

    rules = {one.users: rule for one, rule in zip(made, rules_of_night(made), strict=True)}

    assert rules[1].assumed_noise == RATIO.assumed_noise
    assert rules[64].assumed_noise > 0.06


def spiky(rng: np.random.Generator, nights: int, share: float) -> list[NightlySeries]:
    """Series of which a ``share`` of nights is half as high again."""
    return [
        series(noisy(rng, nights, noise=0.02) * np.exp(0.4 * (rng.random(nights) < share)), users=n)
        for n in range(1, 21)
    ]


def test_odd_nights_are_counted_and_new_levels_are_not() -> None:
    rng = np.random.default_rng(6)
    stepped = []
    for n in range(1, 6):
        values = noisy(rng, 20, noise=0.02)
        values[10:] *= 0.7
        stepped.append(series(values, users=n))

    assert 0.05 < rules_of_night(spiky(rng, 12, 0.1))[0].odd_nights < 0.12
    assert rules_of_night([*stepped, *spiky(rng, 20, 0.0)])[0].odd_nights == 0.0


@pytest.mark.parametrize("nights", [4, 6, 9, 14])
def test_two_odd_nights_in_a_row_are_no_level_where_odd_nights_are_usual(nights: int) -> None:
    rng = np.random.default_rng(nights)

    alarms = sum(any(f.answer in CALLED for f in judge_night(spiky(rng, nights, 0.1))) for _ in range(30))

    assert alarms <= 3


def test_odd_nights_of_others_hide_a_regression_for_no_longer_than_they_last() -> None:
    rng = np.random.default_rng(8)
    values = noisy(rng, 20, noise=0.02)
    values[14:] *= 0.85
    others = spiky(rng, 20, 0.1)

    found = judge_night([series(values, users=99), *others])

    assert found[0].answer == "REGRESSED"
