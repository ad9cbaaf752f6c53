"""Streams that real servers sent, replayed with their timing, through the real client."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from benchgate.metrics.summary import summarise
from benchmarks.reference_server.scenarios import replay
from tests.integration.client.conftest import measure
from tests.support.reference_server import RunningServer

COUNTED = -1  # no usage: the client counts, with the reference server's tokenizer of words


@dataclass(frozen=True)
class Said:
    """What the capture holds, read by hand: status, usage, events by channel, finish reason."""

    status: str
    tokens: int | None
    content: int
    reasoning: int = 0
    tool: int = 0
    finish: str | None = "length"
    endpoint: str = "chat"


CAPTURES = {
    # vLLM 0.26, gpt-oss-20b's architecture with random weights: harmony recovers the whole answer in one event
    "chat_stream_usage": Said("ok", 64, 1),
    "chat_stream_nousage": Said("ok", COUNTED, 1),
    "chat_stream_continuous_usage": Said("ok", 16, 1),
    "completion_stream_usage": Said("ok", 32, 32, endpoint="completions"),
    "completion_stream_ignore_eos": Said("ok", 128, 128, endpoint="completions"),
    "completion_n2_stream": Said("ok", 8, 8, endpoint="completions"),
    "completion_return_token_ids_stream": Said("ok", 16, 16, endpoint="completions"),
    "abort_midstream": Said("truncated_stream", None, 9, finish=None, endpoint="completions"),
    # the same server with forced tokens
    "sc_good_stream": Said("ok", 46, 21, 15, finish="stop"),
    "sc_good_tool_call_stream": Said("ok", 36, 0, 5, 12, finish="tool_calls"),
    "sc_tool_call_bad_json_stream": Said("ok", 18, 0, 0, 5, finish="tool_calls"),
    "sc_analysis_only_length_stream": Said("ok", 40, 0, 36),
    "sc_final_only_length_stream": Said("ok", 40, 36),
    "sc_final_then_return_hidden_reasoning_stream": Said("ok", 46, 21, finish="stop"),
    "sc_preamble_commentary_stream": Said("ok", 38, 27, finish="stop"),
    "sc_immediate_end_stream": Said("ok", 24, 1),
    "sc_immediate_start_stream": Said("ok", 7, 1, finish="stop"),
    "sc_invalid_utf8_stream": Said("ok", 7, 3, finish="stop"),
    "sc_no_harmony_text_stream": Said("ok", 15, 1, finish="stop"),
    "sc_oov_id_in_content_stream": Said("ok", 8, 4, finish="stop"),
    "sc_reserved_id_in_content_stream": Said("ok", 8, 4, finish="stop"),
    "sc_truncated_header_stream": Said("ok", 2, 1),
    "sc_bad_header_junk_stream": Said("harmony_parse", None, 0, finish=None),
    "sc_bad_role_second_msg_stream": Said("harmony_parse", None, 0, 15, finish=None),
    "sc_bad_text_after_end_stream": Said("harmony_parse", None, 0, 15, finish=None),
    # vLLM on a CPU
    "vllm027_harmony_garbled": Said("harmony_parse", None, 0, 180, finish=None),
    "vllm032_chat_stream": Said("ok", 16, 16),
    "vllm032_chat_continuous_usage": Said("ok", 16, 13),
    "vllm032_chat_reasoning": Said("ok", 54, 32, finish="stop"),
    "vllm032_harmony_recovered_burst": Said("ok", 16, 1),
    # llama.cpp's server
    "llamacpp_chat_stream": Said("ok", 12, 11, finish="stop"),
    "llamacpp_completion_stream": Said("ok", 8, 8, endpoint="completions"),
    "sglang_completion_stream": Said("ok", 8, 8, endpoint="completions"),
}


def test_every_capture_is_described() -> None:
    assert set(CAPTURES) == set(replay.names())


@pytest.mark.parametrize("name", CAPTURES)
def test_capture_is_read_as_what_it_holds(name: str, reference_server: RunningServer) -> None:
    said = CAPTURES[name]

    measured = measure(reference_server, f"replay:{name}", endpoint=said.endpoint, users=1, num_prompts=1)

    record, truth = measured.pairs[0].record, measured.pairs[0].truth
    assert record.status == said.status, record.error_message
    if said.tokens == COUNTED:
        assert record.token_count_source == "tokenizer"
        assert record.completion_tokens
    else:
        assert record.completion_tokens == said.tokens
        assert record.token_count_source == (None if said.tokens is None else "usage")
    assert (record.content_events, record.reasoning_events, record.tool_events) == (
        said.content,
        said.reasoning,
        said.tool,
    )
    assert record.finish_reason == said.finish
    if truth.token_ns:
        assert record.first_token_at is not None
        assert record.last_token_at is not None
        assert record.first_token_at >= truth.token_ns[0] / 1e9
        assert record.last_token_at >= truth.token_ns[-1] / 1e9


def test_a_recovered_harmony_answer_in_one_event_is_a_burst_not_a_latency(reference_server: RunningServer) -> None:
    # 200 ms of generating, then 64 tokens in one event: its "TTFT" is the whole request
    measured = measure(reference_server, "replay:chat_stream_usage", num_prompts=6)

    summary = summarise(measured.records)

    assert summary.latency_verdict == "burst"
    assert summary.ttft_ms is None
    assert summary.decode_tok_s is not None
