from __future__ import annotations

from dataclasses import replace

from benchgate.metrics.latency_verdict import latency_verdict, moments
from benchgate.request_record import ClientFacts, RequestRecord
from tests.unit.metrics.cells import a_cell, a_request

FACTS = ClientFacts("benchgate", "0", cpu_share=0.3, loop_lag_p99_ms=1.0, reads=1000, events=1010)


def with_(records: list[RequestRecord], **changes: object) -> list[RequestRecord]:
    return [replace(record, **changes) for record in records]  # type: ignore[arg-type]


def test_a_stream_token_by_token_is_valid() -> None:
    assert latency_verdict(a_cell(), FACTS).verdict == "valid"


def test_several_tokens_an_event_above_the_limit_are_a_burst() -> None:
    cell = with_(a_cell(tokens=11), completion_tokens=55)
    verdict = latency_verdict(cell, FACTS)
    assert verdict.verdict == "burst"
    assert "5.0 tokens arrived at a time" in (verdict.reason or "")
    assert latency_verdict(cell, FACTS, max_tokens_per_event=6.0).verdict == "valid"


def test_speculative_decoding_with_two_tokens_an_event_is_no_burst() -> None:
    assert latency_verdict(with_(a_cell(tokens=11), completion_tokens=22), FACTS).verdict == "valid"


def test_many_events_at_one_moment_are_a_burst() -> None:
    cell = [a_request(number, ttft=14.0, gap=0.0, tokens=100) for number in range(10)]
    assert moments(cell[0]) == 1
    assert latency_verdict(cell, FACTS).verdict == "burst"


def test_most_text_in_one_event_is_a_burst() -> None:
    cell = with_(a_cell(tokens=4), completion_tokens=12, content_chars=120, largest_event_chars=100)
    assert latency_verdict(cell, FACTS).verdict == "burst"


def test_one_long_event_of_one_token_is_no_burst() -> None:
    cell = with_(a_cell(tokens=16), content_chars=1000, largest_event_chars=900)
    assert latency_verdict(cell, FACTS).verdict == "valid"


def test_short_answers_in_one_event_are_no_burst() -> None:
    cell = with_([a_request(number, tokens=1) for number in range(10)], completion_tokens=5)
    assert latency_verdict(cell, FACTS).verdict == "valid"


def test_plain_json_answers_are_no_stream() -> None:
    assert latency_verdict(with_(a_cell(), streamed=False), FACTS).verdict == "no_stream"


def test_a_late_event_loop_is_the_clients_fault() -> None:
    late = replace(FACTS, loop_lag_p99_ms=45.0)
    verdict = latency_verdict(a_cell(ttft=0.2), late)
    assert verdict.verdict == "client_bound"
    assert "45.0 ms late" in (verdict.reason or "")


def test_the_same_lag_is_noise_beside_a_long_ttft() -> None:
    assert latency_verdict(a_cell(ttft=2.0), replace(FACTS, loop_lag_p99_ms=45.0)).verdict == "valid"


def test_a_full_core_is_the_clients_fault_and_comes_before_burst() -> None:
    full = replace(FACTS, cpu_share=0.99, reads=1000, events=5000)
    assert latency_verdict(with_(a_cell(tokens=11), completion_tokens=99), full).verdict == "client_bound"


def test_too_few_samples_are_said() -> None:
    assert latency_verdict(a_cell(users=1, waves=4), FACTS).verdict == "too_few_samples"
    assert latency_verdict(a_cell(users=1, waves=4), FACTS, min_samples=4).verdict == "valid"
    assert latency_verdict([], FACTS).verdict == "too_few_samples"


def test_without_facts_about_the_client_nothing_is_client_bound() -> None:
    assert latency_verdict(a_cell()).verdict == "valid"
