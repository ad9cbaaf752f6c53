from __future__ import annotations

from dataclasses import replace

import pytest

from benchgate.metrics.goodput import Limits
from benchgate.metrics.summary import summarise
from benchgate.request_record import ClientFacts, RequestRecord
from tests.unit.metrics.cells import a_cell, a_request

FACTS = ClientFacts("benchgate", "0.1", users=4, cpu_share=0.2, loop_lag_p99_ms=0.5, reads=100, events=100)


def test_the_numbers_of_a_known_cell() -> None:
    summary = summarise(a_cell(users=4, waves=5), FACTS, limits=Limits(ttft_ms=250))
    assert (summary.completed, summary.errors, summary.cut_off) == (20, 0, 0)
    assert (summary.prompt_tokens, summary.completion_tokens) == (2000, 220)
    assert summary.duration_s == pytest.approx(2.0)
    assert summary.decode_tok_s == pytest.approx(110.0)
    assert summary.prefill_tok_s == pytest.approx(1000.0)
    assert summary.request_s == pytest.approx(10.0)
    assert summary.error_rate == 0.0
    assert summary.ttft_ms is not None
    assert summary.ttft_ms.p50 == pytest.approx(200.0)
    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p99 == pytest.approx(20.0)
    assert summary.itl_ms is not None
    assert summary.itl_ms.n == 200
    assert summary.e2e_ms is not None
    assert summary.e2e_ms.mean == pytest.approx(400.0)
    assert (summary.latency_verdict, summary.token_count_source) == ("valid", "usage")
    assert summary.goodput == 1.0
    assert summary.notes[-1] == "goodput is the share of requests within TTFT 250 ms"
    assert summary.tokens_per_event == 1.0


def test_failed_requests_take_time_but_give_no_tokens() -> None:
    cell = a_cell(users=4, waves=5)
    cell.append(a_request(99, sent_at=2.0, ttft=2.0, tokens=1, status="stream_error"))
    summary = summarise(cell, FACTS)
    assert (summary.errors, summary.error_kinds) == (1, {"stream_error": 1})
    assert summary.completion_tokens == 220
    assert summary.duration_s == pytest.approx(4.0)
    assert summary.error_rate == pytest.approx(1 / 21)


def test_warm_up_and_probes_are_outside() -> None:
    cell = a_cell(users=4, waves=5)
    warm = a_request(1, sent_at=-50.0, ttft=20.0)
    warm.phase = "warmup"
    assert summarise([*cell, warm], FACTS) == summarise(cell, FACTS)


def test_what_was_cut_off_is_counted_apart() -> None:
    cell = [*a_cell(users=4, waves=5), a_request(99, sent_at=2.0, status="cut_off")]
    summary = summarise(cell, FACTS)
    assert (summary.completed, summary.errors, summary.cut_off, summary.error_rate) == (20, 0, 1, 0.0)


def test_latencies_that_are_none_are_null_with_a_reason_and_throughput_stays() -> None:
    cell = [a_request(number, gap=0.0, tokens=100) for number in range(10)]
    summary = summarise(cell, FACTS)
    assert summary.latency_verdict == "burst"
    assert summary.latency_reason
    assert [summary.ttft_ms, summary.ttfv_ms, summary.tpot_ms, summary.itl_ms, summary.e2e_ms] == [None] * 5
    assert summary.goodput is None
    assert summary.decode_tok_s is not None


def test_a_cell_where_everything_failed_has_no_rates() -> None:
    records = [RequestRecord(n, sent_at=0.0, ended_at=1.0, status="http_5xx", error_message="no") for n in range(3)]
    summary = summarise(records, FACTS)
    assert (summary.completed, summary.errors, summary.error_rate) == (0, 3, 1.0)
    assert (summary.decode_tok_s, summary.prefill_tok_s, summary.request_s) == (None, None, None)
    assert summary.token_count_source == "unknown"


def test_nothing_at_all_is_still_a_summary() -> None:
    summary = summarise([], FACTS)
    assert (summary.completed, summary.error_rate, summary.duration_s) == (0, None, 0.0)


def test_tokens_that_nobody_counted_are_unknown_and_not_zero() -> None:
    cell = a_cell(users=4, waves=5)
    for record in cell:
        record.completion_tokens = record.token_count_source = None
    summary = summarise(cell, FACTS)
    assert (summary.completion_tokens, summary.decode_tok_s, summary.tpot_ms) == (None, None, None)
    assert summary.token_count_source == "unknown"
    assert any("no answer has a token count" in note for note in summary.notes)


def test_a_partly_counted_cell_says_that_its_totals_are_lower_bounds() -> None:
    cell = a_cell(users=4, waves=5)
    cell[0].completion_tokens = cell[0].token_count_source = None
    summary = summarise(cell, FACTS)
    assert summary.completion_tokens == 209
    assert summary.token_count_source == "unknown"
    assert any("lower bounds" in note for note in summary.notes)


def test_a_cell_counted_by_usage_here_and_by_the_tokenizer_there_is_mixed() -> None:
    cell = a_cell(users=4, waves=5)
    for record in cell:
        record.token_count_source = "usage"
    cell[0].token_count_source = "tokenizer"
    assert summarise(cell, FACTS).token_count_source == "mixed"


def test_who_timed_the_reads_stands_in_the_summary() -> None:
    assert summarise(a_cell(users=4, waves=5), replace(FACTS, stamp_source="kernel")).stamp_source == "kernel"
    assert summarise(a_cell(users=4, waves=5)).stamp_source is None


def test_prompts_from_the_prefix_cache_are_noted() -> None:
    cell = a_cell(users=4, waves=5)
    for record in cell:
        record.cached_tokens = 60
    assert any("60% of the prompt tokens came from" in note for note in summarise(cell, FACTS).notes)
