from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.metrics.errors import error_groups, error_rate
from benchgate.metrics.goodput import Limits, goodput
from benchgate.metrics.steady import busy_window, steady
from benchgate.metrics.throughput import rate, total
from benchgate.metrics.window import measured_window
from benchgate.request_record import RequestRecord
from tests.unit.metrics.cells import a_cell, a_request


def failed(kind: str, message: str, *, near_cap: bool = False) -> RequestRecord:
    return RequestRecord(1, sent_at=0.0, ended_at=1.0, status=kind, error_message=message, near_cap=near_cap)


def test_the_window_reaches_from_the_first_send_to_the_last_event_of_any_request() -> None:
    window = measured_window([a_request(sent_at=5.0), a_request(sent_at=6.0), failed("timeout", "x")])
    assert window is not None
    assert (window.start, window.end) == (0.0, pytest.approx(6.4))


def test_nothing_sent_is_no_window() -> None:
    assert measured_window([RequestRecord(1, status="connect")]) is None


def test_unknown_counts_are_not_zero() -> None:
    assert total([None, None]) is None
    assert total([3, None]) == 3
    assert total([]) == 0
    assert rate(None, 1.0) is None
    assert rate(5, 0.0) is None


def test_the_error_rate_leaves_out_what_was_cut_off() -> None:
    assert error_rate(8, 2) == 0.2
    assert error_rate(0, 0) is None


def test_errors_are_grouped_by_kind_with_their_first_message() -> None:
    groups = error_groups(
        [
            failed("http_5xx", "first"),
            failed("harmony_parse", "Unknown role", near_cap=True),
            failed("http_5xx", "second"),
            a_request(),
            a_request(status="cut_off"),
        ]
    )
    assert [(group.kind, group.count, group.near_cap, group.sample) for group in groups] == [
        ("http_5xx", 2, 0, "first"),
        ("harmony_parse", 1, 1, "Unknown role"),
    ]


def test_goodput_is_the_share_of_requests_that_meet_every_limit() -> None:
    fast, slow, broken = a_request(ttft=0.1), a_request(ttft=0.5), failed("timeout", "x")
    assert goodput([fast, slow, broken], Limits(ttft_ms=200)) == pytest.approx(1 / 3)
    assert goodput([fast, slow], Limits(ttft_ms=200, tpot_ms=10)) == 0.0
    assert goodput([fast, slow], Limits(e2e_ms=500)) == 0.5
    assert goodput([fast], None) is None


def test_an_answer_of_one_token_breaks_no_tpot_limit() -> None:
    assert goodput([a_request(tokens=1)], Limits(ttft_ms=500, tpot_ms=1)) == 1.0


def test_steady_throughput_of_a_full_closed_loop_is_the_whole_one() -> None:
    cell = a_cell(users=4, waves=5, ttft=0.2, gap=0.02, tokens=11)  # 0.4 s a request
    calm = steady(cell, 4)
    assert calm is not None
    assert calm.seconds == pytest.approx(2.0)
    assert calm.decode_tok_s == pytest.approx(4 * 11 / 0.4)
    assert calm.prefill_tok_s == pytest.approx(4 * 100 / 0.4)


def test_a_tail_with_one_user_left_is_cut_off_the_steady_window() -> None:
    cell = a_cell(users=4, waves=5)
    tail = a_request(99, sent_at=2.0, tokens=501, user=0)  # 10 s alone
    calm = steady([*cell, tail], 4)
    assert calm is not None
    assert calm.seconds == pytest.approx(2.0, abs=0.01)
    assert calm.decode_tok_s == pytest.approx(4 * 11 / 0.4, rel=0.02)


def test_a_request_that_was_cut_off_does_not_stretch_the_steady_window() -> None:
    cell = a_cell(users=2, waves=5)
    cut = [a_request(90 + user, sent_at=2.0, tokens=501, user=user, status="cut_off") for user in range(2)]
    calm, without = steady([*cell, *cut], 2), steady(cell, 2)
    assert calm == without


def test_there_is_no_steady_window_without_users_or_when_they_were_never_busy_at_once() -> None:
    assert steady(a_cell(users=2), None) is None
    assert busy_window([a_request(sent_at=0.0), a_request(sent_at=5.0)], 2) is None


@given(st.integers(1, 6), st.integers(2, 6), st.floats(0.01, 2), st.floats(0.001, 0.1), st.integers(2, 50))
def test_no_token_is_counted_twice(users: int, waves: int, ttft: float, gap: float, tokens: int) -> None:
    cell = a_cell(users=users, waves=waves, ttft=ttft, gap=gap, tokens=tokens)
    calm = steady(cell, users)
    assert calm is not None
    assert (calm.decode_tok_s or 0) * calm.seconds <= users * waves * tokens * (1 + 1e-6)
    assert (calm.prefill_tok_s or 0) * calm.seconds <= users * waves * 100 * (1 + 1e-6)
