"""Checks on one record: what is wrong, in words, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.gates import checks
from benchgate.records import Evidence, Percentiles, Proof, ServerMetrics, ServerMetricsSnapshot, TokenTotals
from tests.support.runs import campaign, cell_record, ledger_of, percentiles, summary


def proof(name: str, value: str | int | float | bool, line: int | None = 88) -> Proof:
    return Proof(name=name, value=value, evidence=Evidence(line=line, text=f"Using {value} backend"))


def test_a_value_without_a_proof_is_unproven() -> None:
    assert checks.unproven({"moe_kernel": "triton"}, {}) == "moe_kernel (asked for triton)"
    assert checks.unproven({"moe_kernel": "triton"}, {"moe_kernel": proof("moe_kernel", "marlin")}) is None


def test_a_different_kernel_is_disproven_with_its_line() -> None:
    said = checks.disproven({"moe_kernel": "triton"}, {"moe_kernel": proof("moe_kernel", "marlin")})

    assert said == "moe_kernel is marlin, not triton (line 88: Using marlin backend)"


@pytest.mark.parametrize(
    ("wanted", "proven", "same"),
    [
        ("triton", "Triton", True),
        (4096, "4096", True),
        (4096, 4096.0, True),
        ("4096", 4097, False),
        (True, "true", True),
        (True, 1, False),  # a flag is not a count
        ("", "triton", False),
    ],
)
def test_proofs_are_compared_as_what_they_are(wanted: Any, proven: Any, same: bool) -> None:
    assert checks.same_value(wanted, proven) is same


def test_clean_summary_has_no_problem() -> None:
    assert checks.range_problem(summary()) is None
    assert checks.latency_problem(summary()) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"completed": -1}, "completed is -1"),
        ({"duration_s": -3.0}, "duration_s is -3"),
        ({"duration_s": 0.0}, "duration_s is 0"),
        ({"decode_tok_s": float("inf")}, "decode_tok_s is inf"),
        ({"decode_tok_s": -1.0}, "decode_tok_s is -1"),
        ({"decode_tok_s": 2000.0}, "decode_tok_s is 2000, 10000 tokens in 10 s are 1000"),
        ({"prefill_tok_s": 3e8, "prompt_tokens": 3_000_000_000}, "prefill_tok_s is 3e+08"),
        ({"completion_tokens": 0, "decode_tok_s": 0.0}, "without a single completion token"),
        ({"errors": 5, "error_kinds": {"timeout": 4}, "error_rate": 5 / 105}, "error_kinds add up to 4, errors is 5"),
        ({"error_rate": 0.5}, "error_rate is 0.5"),
        ({"ttft_ms": percentiles(-1.0)}, "ttft_ms holds a negative"),
        ({"ttft_ms": percentiles(5000.0)}, "comes after the median last one"),
        ({"tpot_ms": Percentiles(p50=9, p90=8, p95=10, p99=11, mean=9, n=5)}, "tpot_ms percentiles are out of order"),
        ({"tpot_ms": percentiles(9.0, n=0)}, "tpot_ms has 0 samples"),
    ],
)
def test_numbers_that_cannot_be_are_named(changes: dict[str, Any], words: str) -> None:
    said = checks.range_problem(summary(**changes))

    assert said is not None
    assert words in said


def test_unknown_numbers_are_not_out_of_range() -> None:
    unknown = summary(
        errors=None,
        cut_off=None,
        error_rate=None,
        prompt_tokens=None,
        completion_tokens=None,
        prefill_tok_s=None,
        decode_tok_s=None,
        ttft_ms=Percentiles(p50=80, p90=None, p95=None, p99=120, mean=None, n=None),
    )

    assert checks.range_problem(unknown) is None
    assert checks.cut_off_share(unknown) is None


@given(st.lists(st.floats(min_value=0, max_value=1e6), min_size=4, max_size=4))
def test_ordered_percentiles_pass_and_disordered_ones_never_do(values: list[float]) -> None:
    p50, p90, p95, p99 = values
    said = checks.range_problem(
        summary(itl_ms=Percentiles(p50=p50, p90=p90, p95=p95, p99=p99, mean=1.0, n=4), e2e_ms=None, ttft_ms=None)
    )

    assert (said is None) == (values == sorted(values))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"latency_verdict": "fine"}, "unknown latency verdict 'fine'"),
        ({"latency_verdict": "burst", "latency_reason": "4.2 at a time"}, "ttft_ms, tpot_ms, itl_ms, e2e_ms holds"),
        (
            {"latency_verdict": "burst", "ttft_ms": None, "tpot_ms": None, "itl_ms": None, "e2e_ms": None},
            "without a reason",
        ),
        ({"ttft_ms": None}, "called valid"),
    ],
)
def test_latency_verdict_that_contradicts_its_numbers(changes: dict[str, Any], words: str) -> None:
    assert words in str(checks.latency_problem(summary(**changes)))


def test_record_of_another_cell_is_told_apart() -> None:
    planned = ledger_of(campaign()).cells[0]

    assert checks.identity_problem(cell_record(planned), planned) is None
    assert "users is 99, planned 1" in str(checks.identity_problem(cell_record(planned, users=99), planned))
    assert "did not plan" in str(checks.identity_problem(cell_record(planned), None))


def _metrics(prompt: float, completion: float) -> ServerMetrics:
    zero = ServerMetricsSnapshot(at="2026-11-30T02:00:00Z", prompt_tokens_total=100, generation_tokens_total=50)
    after = ServerMetricsSnapshot(
        at="2026-11-30T02:01:00Z", prompt_tokens_total=100 + prompt, generation_tokens_total=50 + completion
    )
    return ServerMetrics(before=zero, after=after)


@pytest.mark.parametrize(
    ("totals", "server", "gaps"),
    [
        ((20_400, 10_200, 0), (20_400, 10_200), (0.0, 0.0)),
        ((20_400, 10_200, 0), (20_400, 20_400), (0.0, 0.5)),  # the server made twice as many
        ((20_400, 10_200, 0), (20_400, 5_100), (0.0, 0.5)),  # and half as many
        ((20_400, 10_200, 3), (20_400, 20_400), (0.0, 0.0)),  # three requests nobody counted explain more
        ((20_400, 10_200, 3), (20_400, 5_100), (0.0, 0.5)),  # nothing explains less
        (None, (40_000, 20_000), (0.0, 0.0)),  # without totals the warm-up is unknown
        (None, (10_000, 10_000), (0.5, 0.0)),
    ],
)
def test_token_totals_are_held_against_the_servers_counters(
    totals: tuple[int, int, int] | None, server: tuple[float, float], gaps: tuple[float, float]
) -> None:
    planned = ledger_of(campaign()).cells[0]
    ours = TokenTotals(prompt_tokens=totals[0], completion_tokens=totals[1], unaccounted=totals[2]) if totals else None

    assert checks.token_gaps(
        cell_record(planned, server_metrics=_metrics(*server), client_totals=ours)
    ) == pytest.approx(gaps)


def test_a_server_without_counters_says_nothing() -> None:
    planned = ledger_of(campaign()).cells[0]
    silent = ServerMetricsSnapshot(at="2026-11-30T02:00:00Z")

    assert checks.token_gaps(cell_record(planned)) == (None, None)
    assert checks.token_gaps(cell_record(planned, server_metrics=ServerMetrics(before=silent, after=silent))) == (
        None,
        None,
    )
