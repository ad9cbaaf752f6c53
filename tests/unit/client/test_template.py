from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.config import BenchConfig
from benchgate.client.template import Prompt, body_template

CONFIG = BenchConfig("http://h", prompt_tokens=10, num_prompts=5, users=2, max_tokens=64)


def body_of(config: BenchConfig, prompt: Prompt) -> dict[str, object]:
    """The body as a server reads it."""
    body: dict[str, object] = json.loads(b"".join(body_template(config, "m").pieces(prompt)))
    return body


def test_a_chat_body_asks_for_a_stream_with_usage_and_never_for_ignore_eos_by_itself() -> None:
    assert body_of(CONFIG, Prompt.of("hi")) == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
    }


def test_a_completions_body_carries_the_prompt() -> None:
    body = body_of(replace(CONFIG, endpoint="completions", temperature=None, ignore_eos=True), Prompt.of("hi"))
    assert (body["prompt"], body["ignore_eos"]) == ("hi", True)
    assert "temperature" not in body
    assert "messages" not in body


def test_extra_fields_are_merged_and_null_removes_one() -> None:
    body = body_of(replace(CONFIG, extra_body={"max_tokens": None, "max_completion_tokens": 9}), Prompt.of("hi"))
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


@given(st.text())
def test_any_text_arrives_as_it_is(text: str) -> None:
    messages = body_of(CONFIG, Prompt.of(text))["messages"]
    assert messages == [{"role": "user", "content": text}]


def test_a_lone_surrogate_of_a_broken_file_does_not_stop_the_run() -> None:
    assert body_of(CONFIG, Prompt.of("a\ud83d"))["messages"] == [{"role": "user", "content": "a?"}]
