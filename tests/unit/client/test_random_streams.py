"""Random schedules, cut into random reads: the parser must find the same tokens, channels and times in all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchgate.client.outcome import fill
from benchgate.client.wire.exchange import Exchange
from benchgate.request_record import RequestRecord
from benchmarks.reference_server import scenarios
from benchmarks.reference_server.reply import KEEP, Reply, Request
from benchmarks.reference_server.schedule import Schedule

ODD = {"big_event", "finish_abort", "short_body", "done_then_hang"}  # slow to cut, no success, or ended by a timer
FAMILIES = (*scenarios.tokens.SCENARIOS, *scenarios.wire.SCENARIOS, *scenarios.unusual.SCENARIOS)
COMPLETE = [s.__name__ for s in FAMILIES if s.__name__ not in ODD]
BROKEN = {
    "error_first": "stream_error",
    "error_mid": "stream_error",
    "error_before_done": "stream_error",
    "error_object": "stream_error",
    "error_named_event": "stream_error",
    "harmony_mid": "harmony_parse",
    "cut_clean": "truncated_stream",
    "cut": "truncated_stream",
    "no_finish": "truncated_stream",
    "bad_json": "bad_response",
    "bad_chunk": "bad_response",
}
# anything JSON can carry, with what parsers stumble over: line ends, colons, braces, several planes of Unicode
TEXTS = st.lists(
    st.one_of(
        st.sampled_from([" word", "\n", "\r\n", "data: x\n\n", "[DONE]", "}{", "é", "漢", "🙂", "\u2028", '"']),
        st.text(min_size=1),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """1 to 12 events at random times, 1 to 5 tokens each."""
    gaps = draw(st.lists(st.floats(0.004, 2.0), min_size=1, max_size=12))
    offsets = tuple(sum(gaps[: i + 1]) for i in range(len(gaps)))
    tokens = draw(st.lists(st.integers(1, 5), min_size=len(gaps), max_size=len(gaps)))
    texts = draw(TEXTS.filter(lambda parts: all(part.encode("utf-8", "replace") for part in parts)))
    texts = [text.encode("utf-8", "replace").decode() for text in texts]  # no lone surrogates on the wire
    return Schedule(offsets, tuple(tokens), draw(st.sampled_from(["stop", "length"])), None, tuple(texts))


def request_for(schedule: Schedule, endpoint: str = "chat") -> Request:
    return Request(endpoint, "m", schedule, prompt_tokens=7, include_usage=True, stream=True, accepts="gzip")


def pieces(data: bytes, cuts: Iterator[int]) -> Iterator[bytes]:
    """``data`` in parts whose lengths come from ``cuts``."""
    at = 0
    while at < len(data):
        size = max(1, next(cuts))
        yield data[at : at + size]
        at += size


def cycle(cuts: list[int]) -> Iterator[int]:
    while True:
        yield from cuts


def read(reply: Reply, reads: list[tuple[float, bytes]]) -> RequestRecord:
    """What the client makes of these reads."""
    loop = asyncio.new_event_loop()
    try:
        exchange = Exchange(loop)
        exchange.sent_at = 0.0
        for at, data in reads:
            exchange.last_read_at = at
            exchange.reads.append((at, data))
            exchange.work()
        if reply.ending != KEEP:
            exchange.connection_ended("connection closed by the server")
        record = RequestRecord(0, max_tokens=1000)
        fill(record, exchange)
        return record
    finally:
        loop.close()


def truth(reply: Reply) -> tuple[list[float], list[str]]:
    tokens = [step for step in reply.steps if step.tokens]
    return [step.offset_s for step in tokens], [step.channel or "" for step in tokens]


@pytest.mark.parametrize("name", COMPLETE)
@given(schedule=schedules(), cuts=st.lists(st.integers(1, 400), min_size=1, max_size=20))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_write_cut_anywhere_gives_the_same_tokens_at_the_same_times(
    name: str, schedule: Schedule, cuts: list[int]
) -> None:
    reply = scenarios.answer(name, request_for(schedule))
    sizes = cycle(cuts)
    reads = [(step.offset_s, part) for step in reply.steps for part in pieces(step.data, sizes)]

    record = read(reply, reads)

    written, channels = truth(reply)
    assert record.status == "ok", record.error_message
    assert record.events == len(written)
    assert record.content_events == channels.count("content")
    assert record.reasoning_events == channels.count("reasoning") + channels.count("reasoning_content")
    assert record.tool_events == channels.count("tool")
    assert record.completion_tokens == (None if name == "no_usage" else schedule.total_tokens)
    assert record.first_token_at == written[0]
    assert record.last_token_at == written[-1]
    assert list(record.itl_s) == pytest.approx([b - a for a, b in pairwise(written)], rel=1e-5, abs=1e-6)
    assert record.finish_reason == reply.finish_reason


@pytest.mark.parametrize("name", COMPLETE)
@given(schedule=schedules(), cuts=st.lists(st.integers(1, 5000), min_size=1, max_size=8))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reads_that_join_writes_lose_no_token(name: str, schedule: Schedule, cuts: list[int]) -> None:
    reply = scenarios.answer(name, request_for(schedule))
    parts = pieces(b"".join(step.data for step in reply.steps), cycle(cuts))

    record = read(reply, [(float(i), part) for i, part in enumerate(parts)])

    written, _ = truth(reply)
    assert record.status == "ok", record.error_message
    assert record.events == len(written)
    assert len(record.itl_s) == len(written) - 1
    assert record.completion_tokens == (None if name == "no_usage" else schedule.total_tokens)


@pytest.mark.parametrize("name", BROKEN)
@given(schedule=schedules(), cuts=st.lists(st.integers(1, 400), min_size=1, max_size=8))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_fault_is_a_fault_however_it_is_cut(name: str, schedule: Schedule, cuts: list[int]) -> None:
    reply = scenarios.answer(name, request_for(schedule))
    sizes = cycle(cuts)
    reads = [(step.offset_s, part) for step in reply.steps for part in pieces(step.data, sizes)]

    record = read(reply, reads)

    assert record.status == BROKEN[name], record.error_message
    assert record.error_message
    if name != "bad_json":  # tokens go on behind the bad event
        assert record.events == len(truth(reply)[0])


@given(schedule=schedules(), cuts=st.lists(st.integers(1, 400), min_size=1, max_size=8))
@settings(max_examples=50, deadline=None)
def test_completions_streams_are_read_like_chat(schedule: Schedule, cuts: list[int]) -> None:
    reply = scenarios.answer("steady", request_for(schedule, "completions"))
    sizes = cycle(cuts)

    record = read(reply, [(step.offset_s, part) for step in reply.steps for part in pieces(step.data, sizes)])

    assert record.status == "ok", record.error_message
    assert record.content_events == len(schedule.tokens)
    assert record.completion_tokens == schedule.total_tokens
