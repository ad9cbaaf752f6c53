"""A stream that never ends an event, or ends none in a whole, costs a bounded amount of memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.wire import exchange as module
from benchgate.client.wire.sse import LINE_COST, SseDecoder
from tests.unit.client.replies import an_exchange, delta, event, json_reply, read, record_of, stream

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 1000, b"data: x\n" * 100, b"x" * 1000, b": comment" * 100])
def test_an_event_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
    monkeypatch.setattr(module, "EVENT_LIMIT", 100_000)
    fed = 0
    with an_exchange() as exchange:
        read(exchange, HEAD, 0.1)
        for number in range(2_000):
            read(exchange, piece, 0.2 + number)
            fed += len(piece)
            if exchange.protocol_error:
                break

    assert exchange.protocol_error == "an event is larger than 0 MiB"
    assert fed < 250_000


@pytest.mark.parametrize(
    ("deep", "opens", "inside", "closes"),
    [
        ('{"choices":[{"delta":{"content":%s}}]}', '[{"text":', '"x"', "}]"),
        ('{"error":%s}', "[", "", "]"),
        ('{"choices":[{"delta":{},"finish_reason":{"type":%s}}]}', "[", "", "]"),
    ],
)
@pytest.mark.parametrize("levels", [505, 1015, 5000])
def test_json_that_is_nested_too_deeply_ends_its_answer_and_nothing_else(
    deep: str, opens: str, inside: str, closes: str, levels: int
) -> None:
    body = deep % (opens * levels + inside + closes * levels)
    in_a_stream = record_of(stream(delta(content="a"), event(body), delta("stop", content="")))
    whole = record_of([(1.0, json_reply(200, body.encode()))])
    refused = record_of([(1.0, json_reply(500, body.encode()))])
    assert in_a_stream.events >= 1
    assert whole.status in ("bad_response", "stream_error", "empty_completion")
    assert refused.status == "http_5xx"


def test_many_small_events_are_no_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVENT_LIMIT", 1_000)
    with an_exchange() as exchange:
        read(exchange, HEAD, 0.1)
        for number in range(500):
            read(exchange, b'data: {"choices":[]}\n\ndata: {"cho', 0.2 + number)
            read(exchange, b'ices":[]}\n\n', 0.3 + number)

    assert exchange.protocol_error is None
    assert exchange.events == 1_000


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_what_waits_is_no_more_than_what_was_fed_and_nothing_after_the_end(pieces: list[bytes]) -> None:
    decoder = SseDecoder()
    for piece in pieces:
        decoder.feed(piece)
    assert 0 <= decoder.pending <= sum(map(len, pieces)) + LINE_COST * sum(piece.count(b"data") for piece in pieces)

    decoder.feed(b"\n\n\n")
    assert decoder.pending == 0
