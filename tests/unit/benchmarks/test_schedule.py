"""When the reference server's tokens are due."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reference_server.schedule import ScheduleError, Settings, Span, build


def test_every_token_follows_the_last_by_the_gap() -> None:
    schedule = build(Settings().changed({"ttft_ms": 100, "itl_ms": 20}), "p", 4)

    assert schedule.offsets_s == pytest.approx((0.1, 0.12, 0.14, 0.16))
    assert schedule.tokens == (1, 1, 1, 1)
    assert schedule.finish_reason == "length"


def test_an_answer_shorter_than_the_cap_stops_by_itself() -> None:
    schedule = build(Settings().changed({"tokens": 3}), "p", 10)

    assert schedule.total_tokens == 3
    assert schedule.finish_reason == "stop"


def test_the_cap_limits_the_answer() -> None:
    assert build(Settings().changed({"tokens": 300}), "p", 10).total_tokens == 10


def test_the_same_prompt_always_draws_the_same_length_and_prompts_differ() -> None:
    settings = Settings().changed({"tokens": "32:256"})

    lengths = [build(settings, f"prompt {i}", 256).total_tokens for i in range(50)]

    assert lengths == [build(settings, f"prompt {i}", 256).total_tokens for i in range(50)]
    assert len(set(lengths)) > 20
    assert all(32 <= length <= 256 for length in lengths)


def test_explicit_offsets_override_the_rest() -> None:
    schedule = build(Settings().changed({"offsets_ms": [10, 10, 500], "tokens_per_event": [2, 1]}), "p", 99)

    assert schedule.offsets_s == (0.01, 0.01, 0.5)
    assert schedule.tokens == (2, 1, 2)


@given(total=st.integers(1, 300), per_event=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_events_carry_exactly_the_tokens_that_were_asked_for(total: int, per_event: list[int]) -> None:
    schedule = build(Settings().changed({"tokens_per_event": per_event}), "p", total)

    assert schedule.total_tokens == total
    assert all(count >= 1 for count in schedule.tokens)
    assert len(schedule.offsets_s) == len(schedule.tokens)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"ttft": 5}, "simulate.ttft is unknown"),
        ({"ttft_ms": "soon"}, "neither a number nor LOW:HIGH"),
        ({"tokens": "9:3"}, "at most HIGH"),
        ({"itl_ms": -1}, "at least 0"),
        ({"offsets_ms": [5, 1]}, "back in time"),
        ({"offsets_ms": []}, "at least one entry"),
        ({"text": "word"}, "must be a list"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_by_name(values: dict[str, object], says: str) -> None:
    with pytest.raises(ScheduleError, match=says):
        Settings().changed(values)


def test_a_span_is_a_number_or_a_range() -> None:
    assert Span.parse("7") == Span(7, 7)
    assert Span.parse("1.5:2") == Span(1.5, 2)
