from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.metrics.stalls import FLOOR_S, stalls
from benchgate.metrics.summary import summarise
from benchgate.request_record import RequestRecord
from tests.unit.metrics.cells import a_cell, a_request

CAPTURE = Path(__file__).parents[2] / "fixtures" / "metrics" / "h200_short_64_users.json"


def captured(arm: str) -> list[RequestRecord]:
    """The requests of a cell that was measured on an H200; gaps under 50 ms are evened out."""
    records = []
    for number, (user, sent, first, last, events, long) in enumerate(json.loads(CAPTURE.read_text())[arm]):
        rest = (last - first - sum(long.values())) / max(1, events - 1 - len(long))
        record = a_request(number, sent_at=sent, ttft=first - sent, tokens=256, prompt=256, user=user)
        record.events, record.last_token_at, record.ended_at = events, last, last
        record.itl_s = [long.get(str(index), rest) for index in range(events - 1)]
        records.append(record)
    return records


def pause(cell: list[RequestRecord], at: float, seconds: float) -> list[RequestRecord]:
    """What a closed loop sees of a server that stands still for ``seconds``: all that comes later is later."""
    for record in cell:
        gaps, now = [], record.first_token_at or 0.0
        for gap in record.itl_s:
            gaps.append(gap + (seconds if now <= at < now + gap else 0.0))
            now += gap
        record.itl_s = gaps
        for name in ("sent_at", "first_token_at", "last_token_at", "ended_at"):
            value = getattr(record, name)
            setattr(record, name, value + seconds if value > at else value)
    return cell


def test_a_kernel_compiled_for_a_new_batch_shape_is_seen_in_the_streams() -> None:
    cell = captured("triton")
    began_at = min(record.sent_at or 0.0 for record in cell)
    found = stalls(cell)
    assert [stall.begins_at - began_at for stall in found] == pytest.approx([2.06, 6.09, 6.93], abs=0.01)
    assert [stall.seconds for stall in found] == pytest.approx([2.12, 0.79, 2.55], abs=0.01)
    assert sum(stall.excess_s for stall in found) == pytest.approx(5.06, abs=0.05)


def test_the_other_kernel_under_the_same_load_never_stood_still() -> None:
    assert stalls(captured("marlin")) == []


def test_half_of_a_cell_spent_compiling_is_not_warm_although_the_median_token_is_as_fast_as_ever() -> None:
    summary = summarise(captured("triton"))
    assert summary.warm_verdict == "not_warm"
    assert summary.warm_reason is not None
    assert summary.warm_reason.startswith("nobody got a token for 5.1 of 11.2 s beyond what waiting prompts explain (3")
    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p50 == pytest.approx(6.9, abs=0.1)  # Marlin's was 7.8 in this cell
    assert summarise(captured("marlin")).warm_verdict == "warm"


def test_a_pause_while_tokens_flow_is_a_stall_of_that_length() -> None:
    (found,) = stalls(pause(a_cell(users=4, waves=20), at=3.11, seconds=2.0))
    assert found.seconds == pytest.approx(2.0, abs=0.05)
    assert found.excess_s == pytest.approx(found.seconds)  # nobody waited for a prompt


def test_a_pause_while_prompts_wait_is_only_the_part_that_reading_them_does_not_explain() -> None:
    cell = pause(a_cell(users=4, waves=20, ttft=0.2), at=4.1, seconds=3.0)  # waves begin every 0.4 s
    (found,) = stalls(cell)
    assert found.seconds == pytest.approx(3.2, abs=0.01)
    assert found.excess_s == pytest.approx(3.0, abs=0.01)


def test_one_user_who_waits_for_each_long_document_sees_no_stall() -> None:
    cell = [
        a_request(number, sent_at=10.0 * number, ttft=8.0, gap=0.005, tokens=256, prompt=126_000) for number in range(5)
    ]
    assert stalls(cell) == []


def test_a_longer_prompt_waits_longer_and_that_is_no_stall() -> None:
    cell = []
    now = 0.0
    for number, prompt in enumerate([1_000] * 9 + [60_000]):
        cell.append(a_request(number, sent_at=now, ttft=prompt / 15_000, gap=0.005, tokens=100, prompt=prompt))
        now = cell[-1].ended_at or 0.0
    assert stalls(cell) == []


def test_prompts_that_are_read_one_after_another_while_all_wait_are_no_stall() -> None:
    cell = [
        a_request(user, sent_at=0.0, ttft=2.0 * (user + 1), gap=0.01, tokens=11, prompt=30_000, user=user)
        for user in range(8)
    ]
    assert stalls(cell) == []


def test_text_that_a_parser_holds_back_is_no_stall() -> None:
    cell = a_cell(users=1, waves=20, tokens=100)
    for record in cell:  # 60 tokens come as the text of one event, 1.2 s after the last one
        record.events -= 59
        record.itl_s = [0.02] * 39 + [1.2]
        record.last_token_at = (record.first_token_at or 0.0) + sum(record.itl_s)
    assert stalls(cell) == []


def test_nobody_in_flight_is_no_stall() -> None:
    cell = [a_request(number, sent_at=30.0 * number) for number in range(10)]  # an open loop at a request in 30 s
    assert stalls(cell) == []


def test_a_request_that_was_cut_off_breaks_a_silence_as_well() -> None:
    waits = a_request(0, sent_at=0.0, ttft=9.0, user=0)
    served = a_request(1, sent_at=0.0, ttft=0.2, gap=0.02, tokens=450, user=1, status="cut_off")
    rest = [a_request(2 + number, sent_at=9.3 + number, user=1) for number in range(4)]
    assert stalls([waits, served, *rest]) == []


def test_a_host_that_stutters_all_the_time_has_no_stall_that_stands_out() -> None:
    cell = a_cell(users=1, waves=6, gap=0.1, tokens=101)
    for record in cell:
        record.itl_s = [0.8 if index % 20 == 0 else 0.1 for index in range(100)]
        record.last_token_at = (record.first_token_at or 0.0) + sum(record.itl_s)
    for before, after in itertools.pairwise(cell):
        shift = (before.last_token_at or 0.0) - (after.sent_at or 0.0)
        for name in ("sent_at", "first_token_at", "last_token_at", "ended_at"):
            setattr(after, name, getattr(after, name) + shift)
    assert stalls(cell) == []


def test_answers_in_one_piece_have_no_stalls_because_their_tokens_have_no_time() -> None:
    assert stalls([a_request(number, sent_at=5.0 * number, ttft=4.9, tokens=1) for number in range(8)]) == []


def test_nothing_sent_has_no_stalls() -> None:
    assert stalls([]) == []
    assert stalls([RequestRecord(0, status="connect")]) == []


@given(
    st.lists(st.tuples(st.floats(0, 20), st.floats(0.01, 3), st.lists(st.floats(0.001, 2), max_size=30)), min_size=1)
)
def test_every_stall_is_a_silence_of_all_streams(requests: list[tuple[float, float, list[float]]]) -> None:
    cell = []
    for number, (sent, ttft, gaps) in enumerate(requests):
        record = a_request(number, sent_at=sent, ttft=ttft, tokens=len(gaps) + 1)
        record.itl_s, record.last_token_at = gaps, sent + ttft + sum(gaps)
        record.ended_at = record.last_token_at
        cell.append(record)
    events = []
    for record in cell:
        now = record.first_token_at or 0.0
        events.append(now)
        for gap in record.itl_s:
            now += gap
            events.append(now)
    for stall in stalls(cell):
        assert stall.seconds >= FLOOR_S
        assert 0 < stall.excess_s <= stall.seconds
        inside = [at for at in events if stall.begins_at + 1e-6 < at < stall.begins_at + stall.seconds - 1e-6]
        assert not inside


@given(st.floats(-1e4, 1e6))
def test_the_clocks_zero_does_not_matter(shift: float) -> None:
    cell = pause(a_cell(users=2, waves=20), at=3.11, seconds=2.0)
    for record in cell:
        for name in ("sent_at", "first_token_at", "last_token_at", "ended_at"):
            setattr(record, name, getattr(record, name) + shift)
    assert [round(stall.seconds, 3) for stall in stalls(cell)] == [2.02]
