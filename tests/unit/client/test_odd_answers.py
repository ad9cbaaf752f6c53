"""Answers that are unusual and answers that are wrong: each must end as docs/metrics.md says, and soon."""

from __future__ import annotations

import gzip
import json
import zlib
from time import monotonic

import pytest

from benchgate.client.wire.inflate import Inflate
from benchgate.request_record import RequestRecord
from tests.unit.client.replies import (
    LAST_CHUNK,
    STREAM_HEAD,
    an_exchange,
    chunk,
    delta,
    event,
    json_reply,
    read,
    record_of,
    usage,
)

EVENTS = [*(delta(content=f" t{i}") for i in range(4)), delta("length"), usage(10, 4), event("[DONE]")]
BODY = b"".join(EVENTS)


def head(*lines: str, kind: str = "text/event-stream") -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Type: {kind}", *lines, "", ""]).encode()


def streamed(*events: bytes, end: bytes = LAST_CHUNK, start: bytes = STREAM_HEAD) -> RequestRecord:
    reads = [start, *(chunk(one) for one in events), end]
    return record_of([(float(at), data) for at, data in enumerate(reads) if data])


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize("size", [1, 2, 3, 10, 100_000])
@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(BODY, mtime=0)),
        ("gzip", gzip.compress(BODY[:300], mtime=0) + gzip.compress(BODY[300:], mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", raw_deflate(BODY)),
    ],
    ids=["gzip", "two members", "zlib", "raw deflate"],
)
def test_compressed_in_any_pieces(coding: str, body: bytes, size: int) -> None:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    record = streamed(*pieces, start=head(f"Content-Encoding: {coding}", "Transfer-Encoding: chunked"))
    assert (record.status, record.events, record.completion_tokens) == ("ok", 4, 4), record.error_message


def test_compressed_by_its_transfer_coding() -> None:
    record = streamed(gzip.compress(BODY, mtime=0), start=head("Transfer-Encoding: gzip, chunked"))
    assert (record.status, record.events) == ("ok", 4)


def test_a_compressed_answer_that_stops_is_truncated_and_its_half_event_no_event() -> None:
    body = gzip.compress(BODY, 0)
    record = streamed(body[: len(body) // 2], start=head("Content-Encoding: gzip", "Transfer-Encoding: chunked"))
    assert record.status == "truncated_stream"
    assert "compressed answer stopped" in (record.error_message or "")


def test_inflate_knows_whether_it_was_cut() -> None:
    inflate, body = Inflate("gzip"), gzip.compress(b"abc")
    assert not inflate.cut
    inflate.feed(body[:-1])
    assert inflate.cut
    inflate.feed(body[-1:])
    assert not inflate.cut


def test_a_coding_that_nobody_can_read_ends_the_request_at_once() -> None:
    with an_exchange() as exchange:
        read(exchange, head("Content-Encoding: br", "Transfer-Encoding: chunked"), 0.1)
        assert exchange.future.done()
        assert "'br' was not asked for" in (exchange.protocol_error or "")


@pytest.mark.parametrize(
    "between", [b"data:\n\n", b"data: \n\n", b": ping\n\n", b"retry: 5\n\n", b"id: 7\n\n", b"data: {}\n\n"]
)
def test_an_event_without_content_is_no_event(between: bytes) -> None:
    record = streamed(EVENTS[0], between, *EVENTS[1:])
    assert (record.status, record.events) == ("ok", 4), record.error_message


@pytest.mark.parametrize("done", [b"data: [DONE] \n\n", b"data:[DONE]\n\n", b"data: [DONE]", b"data: [DONE]\n"])
def test_the_end_is_known_however_it_is_spaced(done: bytes) -> None:
    with an_exchange() as exchange:
        for at, data in enumerate([STREAM_HEAD, *map(chunk, EVENTS[:-1]), chunk(done), LAST_CHUNK]):
            read(exchange, data, float(at))
        assert exchange.answer.done
        assert exchange.answer.bad_event is None


@pytest.mark.parametrize(
    ("sign", "says"),
    [
        (b'event: error\ndata: {"message":"boom"}\n\n', "boom"),
        (b"event: error\ndata: boom\n\n", "boom"),
        (b'error: {"message":"boom","code":500}\n\n', "boom"),
        (b'data: {"errors":[{"message":"boom"}]}\n\n', "boom"),
        (b'data: {"error":"boom"}\n\n', "boom"),
        (b'data: {"error":{"message":"boom"}}\n\n', "boom"),
        (b'data: {"type":"error","error":{"message":"boom"}}\n\n', "boom"),
        (b'data: {"object":"error","message":"boom"}\n\n', "boom"),
        (b'data: {"detail":"boom"}\n\n', "boom"),
    ],
)
def test_an_error_inside_a_stream_is_one_however_it_is_said(sign: bytes, says: str) -> None:
    record = streamed(*EVENTS[:2], sign, EVENTS[-1])
    assert record.status == "stream_error"
    assert says in (record.error_message or "")


@pytest.mark.parametrize("reason", ["abort", "cancelled", "error", "timeout"])
def test_a_finish_reason_by_which_the_engine_gives_up_is_an_error(reason: str) -> None:
    assert streamed(*EVENTS[:4], delta(reason), *EVENTS[5:]).status == "stream_error"


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/octet-stream"])
def test_a_stream_under_another_name_is_a_stream(kind: str) -> None:
    record = streamed(*EVENTS, start=head("Transfer-Encoding: chunked", kind=kind))
    assert (record.status, record.events, record.streamed) == ("ok", 4, True)


@pytest.mark.parametrize(
    "behind",
    [
        b"garbage\n\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno",
        b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nContent-Le",
        b"\r\n",
    ],
)
def test_what_comes_behind_a_whole_answer_spoils_the_connection_only(behind: bytes) -> None:
    record = streamed(*EVENTS, end=LAST_CHUNK + behind)
    assert (record.status, record.http_status, record.streamed) == ("ok", 200, True)


@pytest.mark.parametrize("together", [True, False])
def test_a_connection_with_a_second_answer_is_not_used_again(together: bool) -> None:
    second = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with an_exchange() as exchange:
        for data in (STREAM_HEAD, *map(chunk, EVENTS)):
            read(exchange, data, 1.0)
        for data in [LAST_CHUNK + second] if together else [LAST_CHUNK, second]:
            read(exchange, data, 2.0)
        assert exchange.complete
        assert not exchange.keep_alive


@pytest.mark.parametrize("count", [4.0, 4])
def test_a_count_written_as_a_float_is_a_count(count: float) -> None:
    counts = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": count}})
    assert streamed(*EVENTS[:5], counts).completion_tokens == 4


@pytest.mark.parametrize("count", ["4", -4, 4.5, None, True, [4]])
def test_what_is_no_count_is_unknown(count: object) -> None:
    counts = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": count}})
    assert streamed(*EVENTS[:5], counts).completion_tokens is None


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (301, b"", "bad_response"),
        (307, b"", "bad_response"),
        (401, {"detail": "Unauthorized"}, "http_4xx"),
        (403, b"<html>", "http_4xx"),
        (404, {"error": {"message": "no such model", "type": "NotFoundError"}}, "http_4xx"),
        (413, {"error": "too large"}, "http_4xx"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "http_4xx"),
        (502, b"", "http_5xx"),
        (201, {"choices": []}, "bad_response"),
    ],
)
def test_a_status_that_is_not_200_is_told_by_its_kind(status: int, body: object, kind: str) -> None:
    record = record_of([(1.0, json_reply(status, body))])
    assert (record.status, record.http_status) == (kind, status)


def test_no_content_is_no_completion() -> None:
    record = record_of([(1.0, b"HTTP/1.1 204 No Content\r\n\r\n")])
    assert record.status == "bad_response"


def test_another_protocol_is_named() -> None:
    record = record_of([(1.0, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")])
    assert record.status == "bad_response"
    assert "another protocol" in (record.error_message or "")


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "several lines"])
def test_an_error_body_that_calls_itself_an_event_stream_is_the_servers_error(indent: int | None) -> None:
    body = json.dumps({"error": {"message": "no worker is ready", "code": 503}}, indent=indent).encode()
    record = record_of([(1.0, json_reply(200, body, "text/event-stream"))])
    assert (record.status, record.error_message) == (
        "stream_error",
        "HTTP 200 with an error in the body: no worker is ready",
    )


def test_a_page_that_calls_itself_an_event_stream_is_shown() -> None:
    record = record_of([(1.0, json_reply(200, b"<html>\n<b>Bad Gateway</b>", "text/event-stream"))])
    assert record.status == "bad_response"
    assert "<b>Bad Gateway</b>" in (record.error_message or "")


def test_stray_lines_between_events_are_ignored_as_the_standard_says() -> None:
    record = streamed(b"proxy: hello\n", *EVENTS)
    assert (record.status, record.events, record.error_message) == ("ok", 4, None)


def test_arguments_of_a_tool_call_may_come_as_an_object() -> None:
    call = [{"index": 0, "function": {"name": "look", "arguments": {"city": "Oslo"}}}]
    record = streamed(delta(tool_calls=call), delta("tool_calls"), usage(10, 9), event("[DONE]"))
    assert (record.status, record.tool_events, record.tool_chars) == ("ok", 1, len('{"city": "Oslo"}'))


def test_an_answer_that_broke_off_ended_when_it_broke_off() -> None:
    before = monotonic()
    record = record_of([(before - 60.0, STREAM_HEAD)], closed="connection closed by the server", sent_at=before - 61.0)
    assert record.status == "truncated_stream"
    assert record.ended_at is not None
    assert before <= record.ended_at <= monotonic()
