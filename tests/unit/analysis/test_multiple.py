from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.analysis.multiple import adjusted


def test_the_procedure_agrees_with_a_worked_example() -> None:
    found = adjusted([0.01, 0.04, 0.03, 0.5])

    assert found == pytest.approx([0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5])


@given(st.lists(st.floats(0, 1), max_size=40))
def test_adjusting_never_lowers_a_p_value_and_keeps_the_order(values: list[float]) -> None:
    found = adjusted(values)

    assert all(b >= a - 1e-12 for a, b in zip(values, found, strict=True))
    assert all(0 <= value <= 1 for value in found)
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert [found[i] for i in order] == sorted(found)


def test_a_single_test_is_left_as_it_is() -> None:
    assert adjusted([0.03]) == [0.03]


def test_noise_alone_is_called_in_5_percent_of_families() -> None:
    rng = np.random.default_rng(1)

    called = np.mean([min(adjusted(list(rng.random(30)))) <= 0.05 for _ in range(2000)])

    assert 0.035 <= called <= 0.065
