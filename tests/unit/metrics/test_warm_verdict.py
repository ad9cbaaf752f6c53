from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchgate.metrics.warm_verdict import rank_sum_z, warm_verdict
from benchgate.request_record import RequestRecord
from tests.unit.metrics.cells import a_request


def noisy_cell(
    users: int, waves: int, *, slow_first: int = 0, factor: float = 1.0, seed: int = 1
) -> list[RequestRecord]:
    """A cell with 10 % noise; the TTFT and TPOT of the first ``slow_first`` requests are ``factor`` times as long."""
    rng = random.Random(seed)
    cell = []
    for number in range(users * waves):
        slow = factor if number < slow_first else 1.0
        cell.append(
            a_request(
                number,
                sent_at=float(number // users),
                ttft=0.2 * slow * rng.gauss(1, 0.1),
                gap=0.02 * slow * rng.gauss(1, 0.1),
                user=number % users,
            )
        )
    return cell


@pytest.mark.parametrize("seed", range(30))
def test_noise_alone_is_warm(seed: int) -> None:
    assert warm_verdict(noisy_cell(4, 20, seed=seed), 4).verdict == "warm"


def test_a_slow_first_quarter_is_not_warm_and_says_by_how_much() -> None:
    verdict = warm_verdict(noisy_cell(4, 20, slow_first=20, factor=3.0), 4)
    assert verdict.verdict == "not_warm"
    assert "the first 20 requests had a median TPOT of" in (verdict.reason or "")


def test_a_machine_whose_load_drifts_all_along_is_noise() -> None:
    cell = noisy_cell(4, 20)
    for number, record in enumerate(cell):  # the load on the machine falls from double to none
        slow = 2.0 - number / len(cell)
        record.last_token_at = (record.first_token_at or 0.0) + 0.2 * slow
    assert warm_verdict(cell, 4).verdict == "warm"


def test_a_faster_first_part_is_no_fault() -> None:
    assert warm_verdict(noisy_cell(4, 20, slow_first=20, factor=0.4), 4).verdict == "warm"


def test_prompts_that_queue_for_each_other_at_the_start_are_no_fault() -> None:
    cell = noisy_cell(8, 10)
    for number, record in enumerate(cell[:8]):  # all prompts arrive at once: the k-th waits for k others
        assert record.first_token_at is not None
        record.first_token_at += 0.15 * number
        record.last_token_at = record.first_token_at + 0.2
    assert warm_verdict(cell, 8).verdict == "warm"


def test_a_first_wave_beyond_any_queueing_is_not_warm() -> None:
    cell = noisy_cell(8, 10)
    for record in cell[:8]:
        assert record.first_token_at is not None
        record.first_token_at += 7.0
        record.last_token_at = record.first_token_at + 0.2
    assert warm_verdict(cell, 8).verdict == "not_warm"


def test_a_kernel_that_the_engine_compiled_meanwhile_is_enough() -> None:
    verdict = warm_verdict(noisy_cell(4, 20), 4, compiled=["Triton kernel JIT compilation during inference: moe"])
    assert verdict.verdict == "not_warm"
    assert "Triton kernel JIT" in (verdict.reason or "")


def test_too_little_to_tell_is_unknown_and_not_warm_by_default() -> None:
    assert warm_verdict(noisy_cell(1, 5), 1).verdict is None


SAMPLES = st.lists(st.integers(0, 20).map(float), min_size=4, max_size=30)


@given(SAMPLES, SAMPLES)
def test_the_rank_sum_agrees_with_scipy(first: list[float], rest: list[float]) -> None:
    u = stats.mannwhitneyu(first, rest).statistic
    n, m = len(first), len(rest)
    expected = (u - n * m / 2) / (n * m * (n + m + 1) / 12) ** 0.5
    assert rank_sum_z(first, rest) == pytest.approx(expected, abs=1e-9)
