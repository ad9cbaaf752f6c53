from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.metrics.percentiles import percentile, percentiles_ms

SECONDS = st.lists(st.floats(0, 1e4, allow_nan=False), min_size=1, max_size=200)


def test_interpolation_is_linear_between_closest_ranks() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert percentile([10.0], 0.99) == 10.0


@given(SECONDS)
def test_percentiles_agree_with_numpys_default(values: list[float]) -> None:
    found = percentiles_ms(values)
    assert found is not None
    expected = 1000 * np.percentile(values, [50, 90, 95, 99])
    assert [found.p50, found.p90, found.p95, found.p99] == pytest.approx(list(expected), rel=1e-9, abs=1e-9)
    assert found.mean == pytest.approx(1000 * float(np.mean(values)), rel=1e-9, abs=1e-9)
    assert found.n == len(values)


@given(SECONDS)
def test_percentiles_are_ordered_and_within_the_samples(values: list[float]) -> None:
    found = percentiles_ms(values)
    assert found is not None
    low, high = 1000 * min(values), 1000 * max(values)
    assert low * (1 - 1e-9) <= found.p50 <= found.p90 <= found.p95 <= found.p99 <= high * (1 + 1e-9)


def test_no_samples_have_no_percentiles() -> None:
    assert percentiles_ms([]) is None
