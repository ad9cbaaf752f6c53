from __future__ import annotations

import gzip
import zlib

import pytest

from benchgate import secrets
from tests.unit.client.replies import (
    LAST_CHUNK,
    STREAM_HEAD,
    chunk,
    delta,
    event,
    json_reply,
    record_of,
    stream,
    usage,
)

ROLE = delta(role="assistant", content="")
DONE = event("[DONE]")
CLOSED = "connection closed by the server"


def test_a_good_stream_is_ok_with_its_times() -> None:
    record = record_of(stream(ROLE, delta(content="a"), delta(content="b"), delta("stop"), usage(5, 2), DONE))
    assert record.status == "ok"
    assert (record.headers_at, record.first_token_at, record.last_token_at) == (0.5, 2.0, 3.0)
    assert record.ended_at == pytest.approx(6.1)
    assert (record.prompt_tokens, record.completion_tokens, record.token_count_source) == (5, 2, "usage")
    assert record.streamed is True
    assert record.near_cap is None


def test_a_stream_without_done_is_ok_when_it_has_its_finish_reason() -> None:
    assert record_of(stream(delta(content="a"), delta("stop"), usage(5, 1))).status == "ok"


def test_a_stream_without_usage_has_an_unknown_number_of_tokens() -> None:
    record = record_of(stream(delta(content="a"), delta("stop"), DONE))
    assert (record.status, record.completion_tokens, record.token_count_source) == ("ok", None, None)


@pytest.mark.parametrize("tokens_before", [0, 1, 3])
def test_an_error_frame_inside_a_200_stream_is_an_error(tokens_before: int) -> None:
    frame = event({"error": {"message": "EngineCore died", "code": 500}})
    record = record_of(stream(ROLE, *[delta(content="x")] * tokens_before, frame, DONE))
    assert (record.status, record.http_status) == ("stream_error", 200)
    assert record.error_message == "EngineCore died"


def test_an_error_frame_after_the_finish_reason_is_an_error_too() -> None:
    frame = event({"error": {"message": "late"}})
    assert record_of(stream(delta(content="x"), delta("stop"), frame, DONE)).status == "stream_error"


@pytest.mark.parametrize(
    "message",
    [
        "Unexpected token 12606 while expecting start token 200006",
        "Unknown role: wizard",
        'unexpected tokens remaining in message header: Some("oops more")',
        "Could not parse header: too many tokens remaining after extracting content-type and recipient",
    ],
)
def test_messages_of_the_harmony_parser_have_their_own_kind(message: str) -> None:
    in_stream = record_of(stream(ROLE, event({"error": {"message": message, "code": 500}}), DONE))
    in_http = record_of([(1.0, json_reply(500, {"error": {"message": message, "code": 500}}))])
    assert in_stream.status == in_http.status == "harmony_parse"


def test_an_error_at_the_cap_is_marked_and_one_in_the_middle_is_not() -> None:
    frame = event({"error": {"message": "Unknown role: wizard"}})
    tokens = [delta(content="x")] * 98
    assert record_of(stream(*tokens, frame), max_tokens=100).near_cap is True
    assert record_of(stream(*tokens[:50], frame), max_tokens=100).near_cap is False


def test_a_cut_stream_is_truncated_and_is_not_credited_with_tokens() -> None:
    record = record_of(stream(delta(content="a"), delta(content="b"), end=False), closed=CLOSED)
    assert (record.status, record.completion_tokens, record.events) == ("truncated_stream", None, 2)


def test_a_stream_that_ends_without_a_finish_reason_is_truncated() -> None:
    assert record_of(stream(delta(content="a"), usage(5, 1), DONE)).status == "truncated_stream"


def test_a_completion_without_any_text_is_an_error_whatever_usage_says() -> None:
    record = record_of(stream(ROLE, delta("stop"), usage(5, 40), DONE))
    assert record.status == "empty_completion"
    assert "40 completion tokens" in (record.error_message or "")


def test_a_finish_reason_of_an_engine_that_gave_up_is_an_error() -> None:
    assert record_of(stream(delta(content="a"), delta("abort"), DONE)).status == "stream_error"


def test_an_event_that_is_no_json_is_a_bad_response() -> None:
    assert record_of(stream(delta(content="a"), event("{oops"), delta("stop"))).status == "bad_response"


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "http_4xx"), (429, "http_4xx"), (500, "http_5xx"), (503, "http_5xx")]
)
def test_http_errors_keep_the_servers_message(status: int, kind: str) -> None:
    record = record_of([(1.0, json_reply(status, {"error": {"message": "because", "code": status}}))])
    assert (record.status, record.http_status) == (kind, status)
    assert record.error_message == f"HTTP {status}: because"


@pytest.mark.parametrize(
    "body",
    [
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, your prompt contains at least "
                "4097 input tokens, which exceeds this limit even without any output tokens.",
                "type": "BadRequestError",
                "code": 400,
            }
        },
        {
            "error": {
                "code": 400,
                "message": "request (3031 tokens) exceeds the available context size (2048 tokens), try increasing it",
                "type": "exceed_context_size_error",
            }
        },
        {
            "object": "error",
            "message": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            "code": 400,
        },
        {
            "object": "error",
            "message": "Requested token count exceeds the model's maximum context length of 8192 tokens.",
            "code": 400,
        },
    ],
)
def test_prompts_that_are_too_long_are_recognised_for_each_engine(body: object) -> None:
    assert record_of([(1.0, json_reply(400, body))]).status == "context_overflow"


def test_an_error_with_status_200_is_an_error() -> None:
    body = {"code": 400, "message": "Unknown role: assistantassistant"}
    assert record_of([(1.0, json_reply(200, body))]).status == "harmony_parse"
    body = {"error": {"message": "bad temperature", "code": 400}}
    assert record_of([(1.0, json_reply(200, body))]).status == "stream_error"


def test_a_plain_json_answer_to_a_stream_request_is_ok_but_no_stream() -> None:
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}}
    record = record_of([(2.0, json_reply(200, body))])
    assert (record.status, record.streamed, record.completion_tokens) == ("ok", False, 1)
    assert record.first_token_at is None


@pytest.mark.parametrize(
    ("body", "content_type"), [(b"<html>sign in</html>", "text/html"), (b'"text"', "application/json")]
)
def test_an_answer_that_is_no_completion_is_a_bad_response(body: bytes, content_type: str) -> None:
    assert record_of([(1.0, json_reply(200, body, content_type))]).status == "bad_response"


def test_a_redirect_names_its_address() -> None:
    head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://other/v1\r\nContent-Length: 0\r\n\r\n"
    record = record_of([(1.0, head)])
    assert record.status == "bad_response"
    assert "http://other/v1" in (record.error_message or "")


def test_something_that_is_not_http_is_a_bad_response() -> None:
    assert record_of([(1.0, b"SSH-2.0-OpenSSH_9.2\r\n")]).status == "bad_response"


def test_a_broken_chunk_size_is_a_bad_response() -> None:
    assert record_of([(0.5, STREAM_HEAD), (1.0, b"zz\r\nhello\r\n")]).status == "bad_response"


def test_a_connection_that_ends_before_any_answer_is_a_connect_error() -> None:
    record = record_of([], closed="connection lost: [Errno 104] Connection reset by peer")
    assert record.status == "connect"
    assert "reset by peer" in (record.error_message or "")


def test_a_timeout_says_how_far_the_stream_came() -> None:
    record = record_of(stream(delta(content="a"), end=False), ended_by="timeout")
    assert record.status == "timeout"
    assert "after 1 token events" in (record.error_message or "")


def test_what_the_client_cut_off_is_no_error() -> None:
    record = record_of(stream(delta(content="a"), end=False), ended_by="cut_off")
    assert record.status == "cut_off"
    assert not record.is_error


def test_an_error_frame_wins_over_the_clients_own_ending() -> None:
    frame = event({"error": {"message": "died"}})
    assert record_of(stream(frame, end=False), ended_by="timeout").status == "stream_error"


def test_an_answer_without_length_ends_where_its_connection_does() -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    reads = [(0.5, head), (1.0, delta(content="a")), (2.0, delta("stop")), (3.0, usage(3, 1))]
    assert record_of(reads, closed=CLOSED).status == "ok"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate"])
def test_compressed_answers_are_read_event_by_event(encoding: str) -> None:
    wbits = {"gzip": 31, "deflate": 15, "raw deflate": -15}[encoding]
    packer = zlib.compressobj(wbits=wbits)
    head = STREAM_HEAD.replace(b"\r\n\r\n", f"\r\nContent-Encoding: {encoding.split()[-1]}\r\n\r\n".encode())
    reads = [(0.5, head)]
    for number, one in enumerate([ROLE, delta(content="a"), delta(content="b"), delta("stop"), usage(2, 2)]):
        reads.append((1.0 + number, chunk(packer.compress(one) + packer.flush(zlib.Z_SYNC_FLUSH))))
    reads.append((9.0, chunk(packer.flush()) + LAST_CHUNK))
    record = record_of(reads)
    assert record.status == "ok"
    assert (record.first_token_at, record.last_token_at, record.events) == (2.0, 3.0, 2)


def test_a_compressed_error_keeps_its_message() -> None:
    body = gzip.compress(b'{"error": {"message": "because"}}')
    head = f"HTTP/1.1 400 No\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert record_of([(1.0, head + body)]).error_message == "HTTP 400: because"


def test_an_unknown_encoding_is_a_bad_response() -> None:
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n")
    assert record_of([(1.0, head + LAST_CHUNK)]).status == "bad_response"


def test_one_byte_at_a_time_gives_the_same_record() -> None:
    whole = b"".join(
        data for _, data in stream(ROLE, delta(reasoning="hm"), delta(content="ö"), delta("stop"), usage(4, 2), DONE)
    )
    record = record_of([(0.001 * at, whole[at : at + 1]) for at in range(len(whole))])
    assert (record.status, record.events, record.completion_tokens) == ("ok", 2, 2)


def test_a_secret_in_an_error_message_is_masked_and_the_message_is_cut() -> None:
    secrets.register("very-secret-token")
    record = record_of([(1.0, json_reply(401, {"error": {"message": "bad key very-secret-token " + "x" * 900}}))])
    assert record.error_message is not None
    assert "very-secret-token" not in record.error_message
    assert len(record.error_message) <= 400
