"""Intervals hold what differs from launch to launch, before anybody has measured it and after."""

from __future__ import annotations

import numpy as np
import pytest

from benchgate.analysis.compare import compare
from benchgate.analysis.intervals import difference
from benchgate.analysis.launch_noise import (
    ASSUMED,
    LaunchNoise,
    NightNoise,
    launch_noise,
    with_launches_of_few_nights,
    with_nights,
)
from tests.unit.analysis.fabricate import cell, swapped


def launched(rng: np.random.Generator, arms: str, places: tuple[str, ...], between: float, users: int = 64) -> list:
    """Equal arms; repeats agree within 0.5 %, launches differ by ``between``."""
    cells = []
    for arm in arms:
        for place in places:
            launch = rng.normal(0, between)
            cells += [
                cell(arm, 1000 * float(np.exp(launch + rng.normal(0, 0.005))), repeat=r, placement=place, users=users)
                for r in (1, 2, 3)
            ]
    return cells


@pytest.mark.parametrize("places", [("h/a",), ("h/a", "h/b")])
def test_a_first_night_makes_no_claim_of_what_launches_differ_by(places: tuple[str, ...]) -> None:
    rng = np.random.default_rng(5)

    claims = sum(any(c.direction for c in compare(launched(rng, "ab", places, 0.02))) for _ in range(300))

    assert claims / 300 <= 0.075  # 5 % and two standard errors of 300 campaigns


def test_launches_of_many_swapped_arms_replace_the_assumption() -> None:
    rng = np.random.default_rng(6)
    arms, places = "abcdefghijklmnop", ("h/a", "h/b")

    calm = compare(launched(rng, arms, places, 0.0))
    wild = compare(launched(rng, arms, places, 0.06))

    assert np.median([c.smallest_visible or 0.0 for c in calm]) < 0.04
    assert np.median([c.smallest_visible or 0.0 for c in wild]) > 0.10
    assert not any(c.direction for c in wild)


def test_a_large_effect_of_one_night_is_still_found_and_its_interval_says_what_was_assumed() -> None:
    [found] = compare(swapped(np.random.default_rng(7), effect=1.1, noise=0.01))

    assert found.verdict == "faster"
    assert "launches taken to differ by" in (found.method or "")
    assert (found.high or 0) - (found.low or 0) > 0.06


def test_values_without_any_scatter_are_no_proof_of_a_small_effect() -> None:
    made = [cell(arm, value, repeat=r) for arm, value in (("a", 1000.0), ("b", 1010.0)) for r in (1, 2, 3)]

    [found] = compare(made)

    assert found.verdict == "inconclusive"
    assert (found.low or 2) < 1 < (found.high or 0)


def test_nights_that_are_known_are_used_instead_and_only_ever_widen() -> None:
    nights = {("short-chat", 64, None, "decode_tok_s"): NightNoise(0.03, 20)}
    rng = np.random.default_rng(5)
    informed = sum(
        any(c.direction for c in compare(launched(rng, "ab", ("h/a",), 0.03), nights=nights)) for _ in range(200)
    )
    assert informed / 200 <= 0.09

    estimate = difference([0.0, 0.1, 0.2], [0.3, 0.4, 0.5])
    assert estimate is not None
    assert with_nights(estimate, NightNoise(0.001, 50), (1, 1)) is estimate
    wider = with_nights(estimate, NightNoise(0.2, 50), (1, 1))
    assert wider.standard_error == pytest.approx(0.2 * np.sqrt(2))
    assert "between nights" in wider.method


def test_the_assumption_is_added_for_each_launch_behind_an_arm() -> None:
    estimate = difference([0.0, 0.01, 0.02], [0.3, 0.31, 0.32])
    assert estimate is not None

    wider = with_launches_of_few_nights(estimate, LaunchNoise(0.02**2, 8), (1, 2))

    assert wider.standard_error**2 == pytest.approx(estimate.standard_error**2 + 0.02**2 * 1.5)


def test_cells_of_a_pair_of_arms_count_its_launches_once() -> None:
    assert launch_noise(()).variance == ASSUMED**2
    once = launch_noise([("a / b", 2, 0.0)])
    often = launch_noise([("a / b", 2, 0.0)] * 20)
    assert once == often
    assert launch_noise([("a / b", 2, 0.0), ("a / c", 2, 0.0)]).variance < once.variance
    # an estimate around 0 comes out negative as often as not
    assert launch_noise([("a / b", 2, -0.001), ("a / c", 2, 0.0005)]).variance > 0


def test_error_rates_and_facts_of_a_launch_need_no_assumption() -> None:
    made = [
        cell(arm, repeat=r, values={"error_rate": rate + r * 1e-4})
        for arm, rate in (("a", 0.01), ("b", 0.05))
        for r in (1, 2, 3)
    ]

    [found] = compare(made)

    assert found.verdict == "more errors"
    assert "launches" not in (found.method or "")


def test_assumed_noise_never_makes_an_interval_narrower() -> None:
    """Few repeats that scatter by 20 %: a little more noise of better known size would pass for knowledge."""
    own = difference([0.0, 0.3], [0.2, 0.5])
    assert own is not None

    held = with_launches_of_few_nights(own, LaunchNoise(ASSUMED**2, 8.0), (1, 1))

    assert held.half_width >= own.half_width
    assert held.p_value >= own.p_value
