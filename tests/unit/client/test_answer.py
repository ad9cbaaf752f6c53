from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.wire.answer import Answer
from tests.unit.client.replies import delta, event, usage


def answer_of(*events: bytes, keep_text: bool = False) -> Answer:
    """An answer that got these events at 1 s, 2 s, ..."""
    answer = Answer(keep_text=keep_text)
    for number, one in enumerate(events, 1):
        answer.on_event(one.removeprefix(b"data: ").rstrip(b"\n"), float(number))
    return answer


def test_a_role_only_first_delta_is_not_a_token() -> None:
    answer = answer_of(delta(role="assistant", content=""), delta(content="Hi"))
    assert answer.events == 1
    assert answer.first_at == 2.0


def test_a_null_delta_is_not_a_token() -> None:
    answer = answer_of(delta(role="assistant", content=None, reasoning=None), delta(), delta(content="x"))
    assert (answer.events, answer.first_at) == (1, 3.0)


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_is_output_and_visible_text_comes_later(field: str) -> None:
    answer = answer_of(delta(**{field: "hm"}), delta(**{field: "so"}), delta(content="yes"))
    assert (answer.first_at, answer.first_visible_at) == (1.0, 3.0)
    assert (answer.reasoning_events, answer.content_events, answer.events) == (2, 1, 3)
    assert (answer.reasoning_chars, answer.content_chars) == (4, 3)


def test_reasoning_only_has_no_visible_token() -> None:
    assert answer_of(delta(reasoning="hm")).first_visible_at is None


def test_arguments_of_a_tool_call_are_tokens_and_its_name_is_not() -> None:
    named = {"index": 0, "id": "1", "function": {"name": "weather", "arguments": ""}}
    argued = {"index": 0, "function": {"arguments": '{"city'}}
    answer = answer_of(delta(tool_calls=[named]), delta(tool_calls=[argued]), delta("tool_calls"))
    assert (answer.tool_events, answer.events, answer.first_at) == (1, 1, 2.0)
    assert answer.first_visible_at is None
    assert answer.finish_reason == "tool_calls"


def test_legacy_completions_carry_text() -> None:
    first = event({"choices": [{"text": " Paris", "finish_reason": None}]})
    last = event({"choices": [{"text": "", "finish_reason": "length"}], "usage": {"completion_tokens": 1}})
    answer = answer_of(first, last)
    assert (answer.events, answer.finish_reason, answer.completion_tokens) == (1, "length", 1)


def test_gaps_are_one_an_event_and_never_one_a_token() -> None:
    answer = answer_of(delta(content="a b c"), delta(content="d"), delta(), delta(content="e"), usage(5, 9))
    assert list(answer.gaps) == [1.0, 2.0]
    assert answer.events == 3
    assert answer.completion_tokens == 9


def test_the_last_usage_counts_where_every_chunk_has_one() -> None:
    chunks = [
        {"choices": [{"delta": {"content": "x"}}], "usage": {"prompt_tokens": 7, "completion_tokens": number}}
        for number in (1, 2, 3)
    ]
    answer = answer_of(*map(event, chunks))
    assert (answer.prompt_tokens, answer.completion_tokens, answer.events) == (7, 3, 3)


def test_details_of_the_usage_are_kept_and_missing_ones_stay_unknown() -> None:
    told = answer_of(
        usage(9, 4, completion_tokens_details={"reasoning_tokens": 3}, prompt_tokens_details={"cached_tokens": 8})
    )
    silent = answer_of(usage(9, 4, completion_tokens_details=None, prompt_tokens_details=None))
    assert (told.reasoning_tokens, told.cached_tokens) == (3, 8)
    assert (silent.reasoning_tokens, silent.cached_tokens) == (None, None)


@pytest.mark.parametrize(
    "frame",
    [
        {"error": {"message": "Unknown role: wizard", "type": "InternalServerError", "code": 500}},
        {"error": "Unknown role: wizard"},
        {"object": "error", "message": "Unknown role: wizard", "code": 400},
        {"choices": [{"delta": {"content": "x"}}], "error": {"message": "Unknown role: wizard"}},
        {"code": 400, "message": "Unknown role: wizard"},
        {"usage": None, "error": {"message": "Unknown role: wizard"}},
    ],
)
def test_every_form_of_an_error_frame_is_seen(frame: dict[str, object]) -> None:
    error = answer_of(event(frame)).error
    assert error is not None
    assert "Unknown role: wizard" in error


def test_an_event_without_choices_or_error_is_nothing() -> None:
    answer = answer_of(event({"id": "x", "object": "chat.completion.chunk"}), event({"choices": [], "usage": None}))
    assert (answer.error, answer.bad_event, answer.events) == (None, None, 0)


def test_broken_json_is_kept_as_the_bad_event() -> None:
    assert answer_of(event('{"choices": [')).bad_event == '{"choices": ['


def test_nan_and_broken_characters_do_not_break_an_event() -> None:
    answer = Answer()
    answer.on_event(b'{"choices":[{"delta":{"content":"x"},"logprobs":NaN}]}', 1.0)
    answer.on_event(b'{"choices":[{"delta":{"content":"\xff"}}]}', 2.0)
    answer.on_event(b'{"choices":[{"delta":{"content":"\\ud83d"}}]}', 3.0)
    assert (answer.events, answer.bad_event) == (3, None)


def test_content_in_parts_is_text() -> None:
    assert answer_of(delta(content=[{"type": "text", "text": "abc"}])).content_chars == 3


def test_text_is_kept_only_where_it_may_have_to_be_counted() -> None:
    events = [delta(reasoning="hm "), delta(content="yes")]
    assert answer_of(*events).texts is None
    assert "".join(answer_of(*events, keep_text=True).texts or []) == "hm yes"


def test_the_largest_event_is_known() -> None:
    answer = answer_of(delta(content="a"), delta(content="b" * 40), delta(content="c"))
    assert answer.largest_event_chars == 40


@pytest.mark.parametrize("finish", ["error", "abort"])
def test_a_finish_reason_can_say_that_the_engine_gave_up(finish: str) -> None:
    assert answer_of(delta(content="x"), delta(finish)).gave_up


def test_done_is_no_event() -> None:
    answer = answer_of(b"data: [DONE]\n\n")
    assert answer.done
    assert answer.events == 0


def test_a_whole_answer_has_tokens_but_no_token_times() -> None:
    answer = Answer()
    body = {
        "choices": [{"message": {"content": "Hello", "reasoning": "hm"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    answer.take_whole(json.loads(json.dumps(body)), 5.0)
    assert (answer.events, answer.first_at, answer.last_at) == (1, None, 5.0)
    assert (answer.finish_reason, answer.completion_tokens) == ("stop", 2)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(
            ["choices", "delta", "message", "content", "text", "reasoning", "tool_calls", "function_call", "function",
             "arguments", "usage", "prompt_tokens", "completion_tokens", "completion_tokens_details", "error",
             "reasoning_tokens", "prompt_tokens_details", "cached_tokens", "finish_reason", "type", "code"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(ANYTHING, max_size=3))
def test_no_json_breaks_the_reader_and_counts_stay_counts(events: list[object]) -> None:
    answer = Answer(keep_text=True)
    for number, value in enumerate([*events, *({"choices": [value], "usage": value} for value in events)]):
        answer.on_event(json.dumps(value).encode(), float(number))
    whole = Answer()
    for value in events:
        whole.take_whole({"choices": [value], "usage": value}, 1.0)

    for read in (answer, whole):
        for count in (read.prompt_tokens, read.completion_tokens, read.reasoning_tokens, read.cached_tokens):
            assert count is None or (type(count) is int and count >= 0)
        assert read.finish_reason is None or isinstance(read.finish_reason, str)


@pytest.mark.parametrize("choice", [5, None, "text", [], {"delta": "x"}, {"delta": {"tool_calls": 3}}])
def test_an_event_of_another_shape_is_a_bad_event(choice: object) -> None:
    answer = Answer()
    answer.on_event(json.dumps({"choices": [choice]}).encode(), 1.0)
    assert answer.bad_event is not None


def test_nesting_without_end_is_a_bad_event() -> None:
    answer = Answer()
    answer.on_event(b"[" * 100_000, 1.0)
    assert answer.bad_event is not None
