"""Events read without JSON must be counted exactly as JSON counts them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.client.wire.alike import GIVE_UP, Alike
from benchgate.client.wire.answer import Answer
from benchgate.client.wire.chunks import chunk_size, sole_event
from tests.unit.client.replies import chunk, event

TEXTS = st.one_of(
    st.sampled_from(
        [" the", "", '"', "\\", "\\n", "\n", "\u2028", "\x00", "é", "漢字", "🙂", '","finish_reason":"stop', "}"]
    ),
    st.text(max_size=6),
)
DELTAS = st.one_of(
    st.fixed_dictionaries({"content": TEXTS}),
    st.fixed_dictionaries({"reasoning": TEXTS}),
    st.fixed_dictionaries({"reasoning_content": TEXTS, "content": st.none()}),
    st.fixed_dictionaries({"content": TEXTS, "reasoning": TEXTS}),
    st.fixed_dictionaries({"content": TEXTS, "role": st.just("assistant"), "tool_calls": st.just([])}),
    st.just({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
    st.just({}),
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": ")])


def chat(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def counted(answer: Answer) -> tuple[object, ...]:
    names = [name for name in Answer.__slots__ if name not in ("_alike", "texts", "gaps")]
    return (*(getattr(answer, name) for name in names), answer.texts, list(answer.gaps))


@given(
    deltas=st.lists(st.tuples(DELTAS, st.sampled_from([None, None, None, "length"])), min_size=1, max_size=12),
    separators=SEPARATORS,
    ascii_only=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_the_short_way_counts_what_json_counts(
    deltas: list[tuple[dict[str, Any], str | None]], separators: tuple[str, str], ascii_only: bool
) -> None:
    short, general = Answer(keep_text=True), Answer(keep_text=True)
    for number, (delta, finish) in enumerate(deltas):
        payload = json.dumps(chat(delta, finish), separators=separators, ensure_ascii=ascii_only)
        data = payload.encode("utf-8", "replace")
        general.on_event(data, float(number))
        if not short.on_chunk(chunk(b"data: " + data + b"\n\n"), float(number)):
            short.on_event(data, float(number))
    assert counted(short) == counted(general)


def learned(payload: dict[str, Any] | str, channel: str = "content", text: str = " a") -> Alike:
    alike = Alike()
    data = payload if isinstance(payload, str) else json.dumps(payload)
    alike.learn(data.encode(), channel, text)
    return alike


def test_an_event_that_differs_in_its_text_is_recognised() -> None:
    alike = learned(chat({"content": " a"}))
    assert alike.text(chunk(event(chat({"content": " другой"}))).replace(b"\\u", b"?")) is None
    data = b"data: " + json.dumps(chat({"content": " другой"}), ensure_ascii=False).encode() + b"\n\n"
    assert alike.text(chunk(data)) == " другой"


@pytest.mark.parametrize(
    "other",
    [
        chat({"content": ""}),
        chat({"content": 'say "x"'}),
        chat({"content": "back\\slash"}),
        chat({"content": "line\nend"}),
        chat({"content": " b"}, "stop"),
        chat({"content": " b"}, usage={"completion_tokens": 1}),
        chat({"reasoning": " b"}),
        {"error": {"message": " b"}},
    ],
)
def test_whatever_else_differs_goes_the_general_way(other: dict[str, Any]) -> None:
    assert learned(chat({"content": " a"})).text(chunk(event(other))) is None


def test_half_an_event_or_two_of_them_are_not_one() -> None:
    alike, one = learned(chat({"content": " a"})), event(chat({"content": " b"}))
    assert alike.text(chunk(one)) == " b"
    for data in (
        chunk(one)[:-1],
        chunk(one)[1:],
        chunk(one + one),
        chunk(one) + chunk(one),
        one,
        chunk(one) + b"0\r\n\r\n",
    ):
        assert alike.text(data) is None


@pytest.mark.parametrize("size", [b"1", b"zz", b"+40", b" 40", b"4_0", b"40;x=y", b""])
def test_a_chunk_whose_size_is_not_its_length_goes_the_general_way(size: bytes) -> None:
    alike, one = learned(chat({"content": " a"})), event(chat({"content": " b"}))
    assert alike.text(size + b"\r\n" + one + b"\r\n") is None
    assert sole_event(size + b"\r\n" + one + b"\r\n") is None


def test_leading_zeros_of_a_chunk_size_are_fine() -> None:
    one = event(chat({"content": " b"}))
    assert sole_event(b"00%x\r\n%b\r\n" % (len(one), one)) == one[6:-2]
    assert chunk_size(b"00FF") == 255


def test_the_pattern_is_not_learned_from_several_lines_of_data() -> None:
    text = '{"choices":[{"delta":\n{"content":" a"}}]}'
    alike = learned(text)
    assert alike.text(chunk(f"data: {text}\n\n".encode())) is None


def test_a_server_that_changes_something_in_each_event_is_not_learned_for_ever() -> None:
    alike = Alike()
    for number in range(GIVE_UP + 1):
        alike.learn(json.dumps(chat({"content": " a"}, created=number)).encode(), "content", " a")
    assert alike.text(chunk(event(chat({"content": " b"}, created=GIVE_UP)))) is None
