"""The needle check against servers that are played in memory."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.errors import BenchgateError
from benchgate.needle import haystack
from benchgate.needle.check import NeedleRequest, is_found, run_needle_check

REQUEST = NeedleRequest("m", context_tokens=600, depths=[0.1, 0.5, 0.9], max_tokens=64, seed=7)


class Server:
    """A server that counts one token a word and 9 for its template, and reads the document it is given."""

    def __init__(
        self,
        *,
        tokenize: bool = True,
        plain: bool = False,
        answer: Any = None,
        status: int = 200,
        counts_too_many: float = 1.0,
    ) -> None:
        self.plain = plain  # /tokenize takes a text, as SGLang's does, and no messages
        self.counts_too_many = counts_too_many  # by /tokenize, against what the chat endpoint uses
        self.tokenize = tokenize
        self.answer = answer
        self.status = status
        self.prompts: list[str] = []

    def __call__(self, path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        request = json.loads(body)
        if path == "/tokenize":
            if not self.tokenize:
                return 404, b"not found"
            if self.plain and "prompt" not in request:
                return 400, b"prompt is missing"
            text = request["prompt"] if self.plain else request["messages"][0]["content"]
            words = len(text.split())
            template = 0 if self.plain else 9
            return 200, json.dumps({"count": int(words * self.counts_too_many) + template}).encode()
        prompt = request["messages"][0]["content"]
        tokens = len(prompt.split()) + 9
        if request["max_tokens"] > 1:
            self.prompts.append(prompt)
            if self.status != 200:
                return self.status, json.dumps(
                    {"error": {"message": "request exceeds the available context size"}}
                ).encode()
        asked = re.search(r"What is the secret code of the (\w+) archive", prompt)
        code = re.search(rf"secret code of the {asked[1]} archive is (\d+)", prompt) if asked else None
        message = self.answer(code[1]) if self.answer and code else {"content": f"It is {code[1]}." if code else "hm"}
        return 200, json.dumps({"choices": [{"message": message}], "usage": {"prompt_tokens": tokens}}).encode()


def test_a_server_that_reads_its_document_finds_every_needle() -> None:
    check = run_needle_check(REQUEST, Server())

    assert check.passed
    assert [result.depth for result in check.results] == [0.1, 0.5, 0.9]


def test_the_prompt_fills_the_context_less_the_answer_room_within_one_percent() -> None:
    check = run_needle_check(REQUEST, Server())

    for result in check.results:
        assert result.context_tokens is not None
        assert 0.99 * (600 - 64) - 14 <= result.context_tokens <= 600 - 64


def test_a_tokenize_endpoint_that_counts_otherwise_than_the_chat_is_corrected_by_usage() -> None:
    server = Server(counts_too_many=1.1)

    check = run_needle_check(REQUEST, server)

    for result in check.results:
        assert result.context_tokens is not None
        assert 0.97 * (600 - 64) <= result.context_tokens <= 1.01 * (600 - 64)
    assert len(server.prompts) == 4  # only the first document was asked again


def test_no_two_probes_share_a_prefix_that_a_cache_could_reuse() -> None:
    server = Server()
    run_needle_check(REQUEST, server)

    openings = {prompt[:24] for prompt in server.prompts}
    assert len(openings) == len(server.prompts) == 3


def test_an_answer_in_hidden_reasoning_only_is_not_found() -> None:
    check = run_needle_check(REQUEST, Server(answer=lambda code: {"content": None, "reasoning": f"it says {code}"}))

    assert check.found == 0
    assert {result.error_kind for result in check.results} == {"empty_completion"}


def test_one_missing_needle_fails_the_check() -> None:
    answers = iter(["right", "wrong", "right"])
    check = run_needle_check(
        REQUEST, Server(answer=lambda code: {"content": code if next(answers) == "right" else "000000"})
    )

    assert check.found == 2
    assert not check.passed


def test_a_context_that_the_server_refuses_is_named_and_not_found() -> None:
    check = run_needle_check(REQUEST, Server(status=400))

    assert not check.passed
    assert {result.error_kind for result in check.results} == {"context_overflow"}
    assert "available context size" in (check.results[0].error_message or "")


def test_a_tokenize_endpoint_that_takes_plain_text_sizes_the_document() -> None:
    server = Server(plain=True)
    asked: list[str] = []

    def post(path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        asked.append(path)
        return server(path, body, timeout)

    check = run_needle_check(REQUEST, post)

    assert check.passed
    assert asked.count("/tokenize") > len(check.results)  # it was used, not only tried


def test_a_server_without_tokenize_is_sized_from_its_usage() -> None:
    check = run_needle_check(REQUEST, Server(tokenize=False))

    assert check.passed
    for result in check.results:
        assert result.context_tokens is not None
        assert 0.9 * (600 - 64) <= result.context_tokens <= 1.01 * (600 - 64)


def test_a_connection_that_breaks_is_an_error_of_that_needle_not_a_crash() -> None:
    def post(path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        raise ConnectionResetError("reset by peer")

    check = run_needle_check(REQUEST, post)

    assert {result.error_kind for result in check.results} == {"connect"}


def test_a_context_without_room_for_a_document_is_refused() -> None:
    with pytest.raises(BenchgateError, match="leaves no room"):
        run_needle_check(NeedleRequest("m", 100, [0.5], max_tokens=64), Server())


@pytest.mark.parametrize(
    ("answer", "found"),
    [("418201", True), ("418,201", True), ("418 201.", True), ("1418201", False), ("4182010", False), ("41820", False)],
)
def test_a_code_counts_only_as_a_number_of_its_own(answer: str, found: bool) -> None:
    assert is_found(answer, "418201") is found


@given(depth=st.floats(0, 1), sentences=st.integers(0, 60), seed=st.integers(0, 2**48))
def test_the_fact_stands_at_its_depth_and_nowhere_else(depth: float, sentences: int, seed: int) -> None:
    needle = haystack.Needle(depth, "The secret code of the Fir archive is 123456.", "q?", "123456")

    text = haystack.build_prompt(needle, sentences, seed).split("\n\n")[1]

    assert text.count("123456") == 1
    before = text.split(needle.fact)[0].count(".")
    assert before == round(depth * sentences)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "usage", "prompt_tokens", "count", "tokens", "reasoning", "error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(st.lists(st.one_of(ANYTHING.map(json.dumps), st.text(max_size=9)), min_size=1, max_size=4))
def test_no_answer_breaks_the_check_and_nothing_is_found_in_nonsense(answers: list[str]) -> None:
    turn = [0]

    def post(path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        turn[0] += 1
        return 200, answers[turn[0] % len(answers)].encode()

    try:
        check = run_needle_check(REQUEST, post)
    except BenchgateError:  # a server that stops counting in the middle
        return
    assert check.found == 0
    assert all(result.error_kind for result in check.results)
    assert all(result.context_tokens is None or result.context_tokens >= 0 for result in check.results)
