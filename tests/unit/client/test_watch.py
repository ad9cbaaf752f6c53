"""The client's view of its own lateness."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.client.watch import LagHistogram


def test_a_lag_is_known_to_nine_percent_and_never_made_smaller() -> None:
    lags = LagHistogram()
    lags.note(0.0123)
    assert 0.0123 <= (lags.quantile_s(0.99) or 0.0) <= 0.0123 * 1.1


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200))
@settings(deadline=None)
def test_quantiles_are_those_of_the_sorted_values(values: list[float]) -> None:
    lags = LagHistogram()
    for value in values:
        lags.note(value)
    exact = sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]
    found = lags.quantile_s(0.99)
    assert found is not None
    assert found <= max(max(values) * 1.1, 1.1e-6)
    assert found >= sorted(values)[max(0, int(0.99 * len(values)) - 1)] * 0.999 or exact <= 1e-6


def test_one_late_read_in_a_thousand_is_not_the_p99() -> None:
    lags = LagHistogram()
    lags.note(0.0001, 999)
    lags.note(5.0)
    assert lags.quantile_s(0.99) == pytest.approx(0.0001, rel=0.1)
    assert lags.quantile_s(0.9999) == pytest.approx(5.0, rel=0.1)


def test_without_reads_there_is_no_lag() -> None:
    assert LagHistogram().quantile_s(0.99) is None


def test_a_clock_that_went_back_a_little_is_no_lag() -> None:
    lags = LagHistogram()
    lags.note(-1e-5)
    assert (lags.quantile_s(0.99) or 0.0) <= 1e-6
