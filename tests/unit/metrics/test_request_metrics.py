from __future__ import annotations

import pytest

from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.itl import itl_s
from benchgate.metrics.queue import queue_s
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.metrics.ttfv import ttfv_s
from benchgate.request_record import RequestRecord
from tests.unit.metrics.cells import a_request


def test_latencies_of_a_known_request() -> None:
    record = a_request(sent_at=10.0, ttft=0.2, gap=0.02, tokens=11)
    assert ttft_s(record) == pytest.approx(0.2)
    assert tpot_s(record) == pytest.approx(0.02)
    assert e2e_s(record) == pytest.approx(0.4)


def test_visible_text_after_reasoning_has_its_own_latency() -> None:
    record = a_request(sent_at=1.0)
    record.first_visible_at = 1.3
    assert ttfv_s(record) == pytest.approx(0.3)
    record.first_visible_at = None
    assert ttfv_s(record) is None


def test_in_an_open_loop_latency_counts_from_the_intended_arrival() -> None:
    record = a_request(sent_at=10.0, ttft=0.2, tokens=11, gap=0.02)
    record.intended_at = record.queued_at = 9.5
    assert ttft_s(record) == pytest.approx(0.7)
    assert e2e_s(record) == pytest.approx(0.9)
    assert queue_s(record) == pytest.approx(0.5)
    assert tpot_s(record) == pytest.approx(0.02)


def test_tpot_divides_by_tokens_and_not_by_events() -> None:
    record = a_request(tokens=11, gap=0.02)
    record.completion_tokens = 21  # two tokens an event
    assert tpot_s(record) == pytest.approx(0.01)


@pytest.mark.parametrize("tokens", [None, 0, 1])
def test_tpot_of_fewer_than_two_tokens_is_unknown(tokens: int | None) -> None:
    record = a_request()
    record.completion_tokens = tokens
    assert tpot_s(record) is None


def test_a_request_that_got_nothing_has_no_latency_and_not_zero() -> None:
    record = RequestRecord(1, sent_at=1.0, queued_at=1.0)
    assert [metric(record) for metric in (ttft_s, ttfv_s, tpot_s, e2e_s)] == [None] * 4


def test_a_request_that_was_never_sent_never_queued() -> None:
    assert queue_s(RequestRecord(1, queued_at=1.0)) is None


def test_itl_has_one_sample_an_event() -> None:
    assert list(itl_s([a_request(tokens=3, gap=0.5), a_request(tokens=2, gap=0.1)])) == [0.5, 0.5, 0.1]
