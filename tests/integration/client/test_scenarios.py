"""Every scenario of the reference server, through the real client: status, kind, tokens, channels and times."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from benchgate.metrics.summary import summarise
from benchmarks.reference_server import scenarios
from tests.integration.client.conftest import Measured, Pair, measure
from tests.support.reference_server import RunningServer

LATE_S = 5.0  # how late a stamp may be on a busy machine; which event was stamped is told by the lower bounds


@dataclass(frozen=True)
class Expected:
    """How a scenario must end. ``tokens`` None: nothing said how many there were."""

    status: str = "ok"
    says: str = ""  # part of the error message
    tokens: int | None = 16
    verdict: str = "too_few_samples"  # four requests
    source: str = "usage"


OK = Expected()
STREAM_ERROR = Expected("stream_error", "EngineCore", None)
HARMONY = Expected("harmony_parse", "while expecting start token 200006", None)
CUT = Expected("truncated_stream", tokens=None)

EXPECTED: dict[str, Expected] = {
    "steady": OK,
    "role_first": OK,
    "empty_first": OK,
    "empty_between": OK,
    "reasoning": OK,
    "reasoning_content": OK,
    "reasoning_only": OK,
    "tool_calls": OK,
    "finish_with_last_token": OK,
    "burst": Expected(verdict="burst"),
    "burst_writes": Expected(verdict="burst"),
    "no_usage": Expected(source="tokenizer"),  # counted by the server's /tokenize over all of the text
    "usage_every_chunk": OK,
    "usage_in_finish": OK,
    "late_usage": OK,
    "no_done": OK,
    "late_end": OK,
    "close_after_reply": OK,
    "crlf": OK,
    "cr": OK,
    "crlf_split": OK,
    "multiline": OK,
    "sse_fields": OK,
    "comments": OK,
    "big_event": OK,  # nearly all of the text is in one event, yet each event had one token
    "utf8_split": OK,
    "byte_chunks": OK,
    "byte_writes": OK,
    "joined_events": OK,
    "http10": OK,
    "gzip": OK,
    "gzip_always": OK,
    "unlabelled": OK,
    "plain_text": OK,
    "early_hints": OK,
    "head_bytes": OK,
    "bom": OK,
    "usage_null": OK,
    "content_length": OK,
    "trailers": OK,
    "chunk_extensions": OK,
    "done_then_close": OK,
    "done_then_hang": OK,
    "finish_abort": Expected("stream_error", "abort", None),
    "short_body": CUT,
    "error_first": STREAM_ERROR,
    "error_mid": STREAM_ERROR,
    "error_mid_no_done": STREAM_ERROR,
    "error_before_done": STREAM_ERROR,
    "error_after_finish": Expected("stream_error", "EngineCore"),
    "error_object": STREAM_ERROR,
    "error_named_event": STREAM_ERROR,
    "harmony_first": HARMONY,
    "harmony_mid": HARMONY,
    "harmony_ignore_eos": Expected("harmony_parse", "Unexpected token 200002", None),
    "cut": CUT,
    "cut_clean": CUT,
    "no_finish": Expected("truncated_stream", "finish reason"),
    "reset": Expected("connect", tokens=None),
    "reset_mid": CUT,
    "close_unanswered": Expected("connect", tokens=None),
    "stall": Expected("timeout", "stalled", None),
    "stall_first": Expected("timeout", "no token", None),
    "stall_silent": Expected("timeout", "no answer", None),
    "empty_completion": Expected("empty_completion", "no text in any channel"),
    "only_done": Expected("truncated_stream", tokens=None),
    "bad_json": Expected("bad_response", "not a JSON"),
    "bad_chunk": Expected("bad_response", "HTTP", None),
    "http_400": Expected("http_4xx", "temperature", None),
    "http_400_context": Expected("context_overflow", "maximum context length", None),
    "http_400_llamacpp_context": Expected("context_overflow", "context size", None),
    "http_401": Expected("http_4xx", "Unauthorized", None),
    "http_404": Expected("http_4xx", "does not exist", None),
    "http_429": Expected("http_4xx", "Too many", None),
    "http_500": Expected("http_5xx", "Internal server error", None),
    "http_500_harmony": HARMONY,
    "http_503": Expected("http_5xx", "unavailable", None),
    "no_stream": Expected(verdict="no_stream"),
    "error_in_200": Expected("harmony_parse", "Unknown role", None),
    "html_page": Expected("bad_response", "Sign in", None),
    "html_502": Expected("http_5xx", "502", None),
    "empty_200": Expected("truncated_stream", tokens=None),
    "redirect": Expected("bad_response", "307", None),
}


def test_every_scenario_has_an_expectation() -> None:
    assert set(EXPECTED) == set(scenarios.BY_NAME)


@pytest.mark.parametrize("name", EXPECTED)
def test_scenario_ends_as_metrics_md_defines(name: str, reference_server: RunningServer) -> None:
    expected = EXPECTED[name]
    stalls = name.startswith("stall")

    measured = measure(
        reference_server, name, timeout_s=2.0 if stalls else 20.0, idle_timeout_s=0.8 if stalls else 300.0
    )

    assert len(measured.records) == 4
    assert len(measured.pairs) == 4
    for pair in measured.pairs:
        record = pair.record
        assert record.status == expected.status, record.error_message
        assert expected.says in (record.error_message or "")
        assert record.completion_tokens == expected.tokens
        assert record.token_count_source == (None if expected.tokens is None else expected.source)
        if expected.status == "ok":
            assert record.error_message is None
            assert record.finish_reason == pair.truth.finish_reason
        _check_channels(pair)
        if name != "no_stream":
            _check_times(pair)
    _check_summary(name, expected, measured)


def _check_channels(pair: Pair) -> None:
    record = pair.record
    assert record.events == len(pair.truth.token_ns)
    assert record.content_events == pair.truth_events("content")
    assert record.reasoning_events == pair.truth_events("reasoning")
    assert record.tool_events == pair.truth_events("tool")


def _check_times(pair: Pair) -> None:
    """One clock on both sides: no stamp may lie before its cause, nor belong to another event."""
    record, truth = pair.record, pair.truth
    written = [ns / 1e9 for ns in truth.token_ns]
    assert record.sent_at is not None
    assert record.sent_at <= truth.received_ns / 1e9 <= record.sent_at + LATE_S
    if not written:
        assert record.first_token_at is None
        assert record.last_token_at is None
        assert list(record.itl_s) == []
        return
    assert record.first_token_at is not None
    assert record.last_token_at is not None
    assert written[0] <= record.first_token_at <= written[0] + LATE_S
    assert written[-1] <= record.last_token_at <= written[-1] + LATE_S
    assert len(record.itl_s) == len(written) - 1
    assert sum(record.itl_s) == pytest.approx(record.last_token_at - record.first_token_at, abs=1e-4)
    visible = [at for at, channel in zip(written, truth.event_channels, strict=True) if channel == "content"]
    if visible:
        assert record.first_visible_at is not None
        assert visible[0] <= record.first_visible_at <= visible[0] + LATE_S
    else:
        assert record.first_visible_at is None


def _check_summary(name: str, expected: Expected, measured: Measured) -> None:
    # without the client's facts: on a busy machine it would rightly call itself client_bound
    summary = summarise(measured.records)
    if expected.status == "ok":
        assert (summary.completed, summary.errors) == (4, 0)
        assert summary.completion_tokens == 64
        assert summary.token_count_source == expected.source
        assert summary.latency_verdict == expected.verdict, (name, summary.latency_reason)
        assert summary.ttft_ms is None  # never shown without a valid verdict
    else:
        assert (summary.completed, summary.errors) == (0, 4)
        assert summary.error_kinds == {expected.status: 4}
        assert summary.error_rate == 1.0
        assert summary.decode_tok_s is None


@pytest.mark.parametrize("scenario", ["role_first", "empty_first", "comments", "tool_calls"])
def test_what_comes_before_the_first_token_is_not_the_first_token(
    scenario: str, reference_server: RunningServer
) -> None:
    measured = measure(reference_server, scenario, simulate={"ttft_ms": 400}, users=1, num_prompts=1)

    record, truth = measured.pairs[0].record, measured.pairs[0].truth
    assert record.first_token_at is not None
    assert record.sent_at is not None
    assert record.first_token_at - record.sent_at >= truth.ttft_s == pytest.approx(0.4, abs=0.2)


@pytest.mark.parametrize("scenario", ["late_usage", "late_end"])
def test_what_comes_after_the_last_token_is_not_part_of_the_latency(
    scenario: str, reference_server: RunningServer
) -> None:
    measured = measure(reference_server, scenario, users=1, num_prompts=1)

    record = measured.pairs[0].record
    assert record.last_token_at is not None
    assert record.ended_at is not None
    if scenario == "late_usage":
        assert record.ended_at - record.last_token_at > 0.2


def test_several_tokens_an_event_are_counted_by_usage_and_seen_as_events(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", simulate={"tokens_per_event": [4, 1, 3]}, num_prompts=6)

    summary = summarise(measured.records)
    for pair in measured.pairs:
        assert pair.record.completion_tokens == 16
        assert pair.record.events == 6
    assert summary.tokens_per_event == pytest.approx(16 / 6)
    assert summary.latency_verdict == "valid"


def test_a_fault_at_the_cap_is_near_it_and_one_in_the_middle_is_not(reference_server: RunningServer) -> None:
    at_cap = measure(reference_server, "harmony_ignore_eos")
    in_middle = measure(reference_server, "harmony_mid")

    assert [pair.record.near_cap for pair in at_cap.pairs] == [True] * 4
    assert [pair.record.near_cap for pair in in_middle.pairs] == [False] * 4
    assert summarise(at_cap.records).error_groups[0].near_cap == 4


def test_a_server_that_closes_after_each_reply_is_no_error(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "close_after_reply", num_prompts=12, max_tokens=4)

    assert [record.status for record in measured.records] == ["ok"] * 12
    # every reply ended its connection: no request was answered over a used one
    assert all(pair.truth.requests_before == 0 for pair in measured.pairs)


def test_connections_are_reused_when_the_server_keeps_them(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", num_prompts=12, max_tokens=4)

    assert max(pair.truth.requests_before for pair in measured.pairs) >= 4


def test_connections_that_the_server_closed_while_idle_are_no_error(start_reference_server) -> None:
    # every idle connection is closed after 1 ms: the open loop's pauses meet dead sockets again and again
    server = start_reference_server("--ttft-ms", "5", "--itl-ms", "1", "--idle-close-ms", "1")

    measured = measure(server, "steady", users=None, request_rate=60.0, num_prompts=60, max_tokens=2)

    assert {record.status for record in measured.records} == {"ok"}
    assert len(measured.records) == 60


def test_waiting_for_a_slow_accept_is_part_of_the_latency_and_not_of_the_queue(start_reference_server) -> None:
    # the kernel completes the handshake and takes the bytes; the server reads them 300 ms later
    server = start_reference_server("--ttft-ms", "50", "--accept-delay-ms", "300")

    measured = measure(server, "steady", users=1, num_prompts=1, max_tokens=4)

    record, truth = measured.pairs[0].record, measured.pairs[0].truth
    assert record.status == "ok"
    assert record.sent_at is not None
    assert record.first_token_at is not None
    assert record.sent_at <= truth.received_ns / 1e9
    assert record.first_token_at >= truth.token_ns[0] / 1e9


def test_an_answer_is_whole_with_its_done_also_when_the_message_never_ends(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "done_then_hang", idle_timeout_s=0.3)
    assert [(record.status, record.events) for record in measured.records] == [("ok", 16)] * 4


def test_the_time_cap_cuts_off_a_stalled_stream_without_calling_it_an_error(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "stall", num_prompts=None, max_seconds=1.0)

    assert {record.status for record in measured.records} == {"cut_off"}
    summary = summarise(measured.records, measured.result.facts)
    assert (summary.errors, summary.cut_off) == (0, 2)
    assert summary.error_rate is None
    assert summary.stopped_by == "time_cap"


def test_completions_streams_are_measured_like_chat(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", endpoint="completions")

    for pair in measured.pairs:
        assert pair.truth.endpoint == "completions"
        assert pair.record.status == "ok"
        assert pair.record.completion_tokens == 16
        _check_channels(pair)
        _check_times(pair)


def test_the_client_asks_for_usage_and_never_for_ignore_eos(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady")

    assert all("ignore_eos" not in pair.truth.extra for pair in measured.pairs)
    assert all(pair.record.token_count_source == "usage" for pair in measured.pairs)


def test_ipv6_is_a_server_like_any_other(start_reference_server) -> None:
    try:
        server = start_reference_server("--host", "::1", "--ttft-ms", "5", "--itl-ms", "1")
    except RuntimeError:
        pytest.skip("this machine has no IPv6 loopback")

    measured = measure(server, "steady")

    assert [record.status for record in measured.records] == ["ok"] * 4
