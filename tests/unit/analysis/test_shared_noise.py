from __future__ import annotations

import numpy as np
import pytest

from benchgate.analysis.compare import compare
from benchgate.analysis.intervals import difference
from benchgate.analysis.series import night_noise
from benchgate.analysis.shared_noise import moderated
from tests.unit.analysis.fabricate import cell, swapped
from tests.unit.analysis.nights import noisy, series


def pairs(rng: np.random.Generator, sigmas: list[float], repeats: int = 3, effect: float = 0.0) -> list[object]:
    return [difference(rng.normal(0, s, repeats), rng.normal(effect, s, repeats)) for s in sigmas]


def test_cells_of_equal_noise_learn_from_each_other() -> None:
    rng = np.random.default_rng(1)
    own = pairs(rng, [0.03] * 12)

    shared = moderated(own)  # type: ignore[arg-type]

    spread = [np.std([e.standard_error for e in side if e]) for side in (own, shared)]  # type: ignore[attr-defined]
    assert spread[1] < spread[0]
    freedom = [sum(e.degrees_of_freedom for e in side if e) for side in (own, shared)]  # type: ignore[attr-defined]
    assert freedom[1] > 1.5 * freedom[0]
    assert sum("moderated" in e.method for e in shared if e) >= 9  # one in ten looks noisier by chance


def test_a_cell_that_is_plainly_noisier_keeps_its_own_noise() -> None:
    rng = np.random.default_rng(2)
    own = pairs(rng, [0.01] * 11 + [0.3])

    shared = moderated(own)  # type: ignore[arg-type]

    assert shared[-1] == own[-1]


def test_a_few_comparisons_are_left_alone() -> None:
    own = pairs(np.random.default_rng(3), [0.03] * 3)

    assert moderated(own) == own  # type: ignore[arg-type]


@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("unequal", [False, True])
def test_moderated_intervals_cover_the_truth_in_95_percent(repeats: int, unequal: bool) -> None:
    """Also when half of the cells are four times as noisy as the others."""
    rng = np.random.default_rng(repeats)
    sigmas = [0.01] * 6 + [0.04] * 6 if unequal else [0.03] * 12
    held = []
    for _ in range(250):
        held += [e.low <= 0.1 <= e.high for e in moderated(pairs(rng, sigmas, repeats, 0.1)) if e]  # type: ignore[arg-type]
    assert 0.935 <= np.mean(held) <= 0.985


def test_more_cells_see_smaller_effects_than_a_cell_alone() -> None:
    rng = np.random.default_rng(4)
    alone, together = [], []
    for _ in range(40):
        cells = [
            cell(arm, 1000 * f * float(np.exp(rng.normal(0, 0.03))), repeat=r, users=u)
            for u in range(1, 9)
            for arm, f in (("a", 1.0), ("b", 1.1))
            for r in (1, 2, 3)
        ]
        together += [c.smallest_visible or 0.0 for c in compare(cells)]
        alone += [compare([c for c in cells if c.users == u])[0].smallest_visible or 0.0 for u in range(1, 9)]
    assert np.mean(together) < np.mean(alone)
    assert np.quantile(together, 0.9) < np.quantile(alone, 0.9) - 0.01


def test_noise_between_nights_is_not_fooled_by_a_change_of_level() -> None:
    rng = np.random.default_rng(6)
    values = noisy(rng, 40)
    values[20:] *= 0.7

    [found] = night_noise([series(values)]).values()

    assert 0.018 < found.sigma < 0.045


def test_a_swapped_campaign_with_a_placement_effect_still_finds_only_what_is_there() -> None:
    rng = np.random.default_rng(7)
    cells = [c for u in (1, 8, 64) for c in swapped(rng, effect=1.1, placement_effect=1.2, users=u, repeats=2)]
    cells += [
        c
        for u in (1, 8, 64)
        for c in swapped(rng, effect=1.0, placement_effect=1.2, users=u, repeats=2, metric="ttft_p50_ms")
    ]

    found = {(c.metric, c.direction) for c in compare(cells)}

    assert found == {("decode_tok_s", 1), ("ttft_p50_ms", 0)}
