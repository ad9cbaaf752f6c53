from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.datasets.synthetic import (
    SyntheticSource,
    WordCounts,
    calibrate_words,
    uncalibrated_words,
)
from benchgate.client.datasets.words import WORDS
from benchgate.client.template import Prompt


class Vocabulary:
    """A counter that splits some words, and counts how often it is asked."""

    source = "server"
    described = "a vocabulary"

    def __init__(self, split: dict[str, int], *, otherwise: int = 1, special: int = 0) -> None:
        self._split, self._otherwise, self._special = split, otherwise, special
        self.texts = 0

    async def count(self, texts: Sequence[str]) -> list[int]:
        self.texts += len(texts)
        return [self._special + sum(self._split.get(w, self._otherwise) for w in text.split()) for text in texts]


def text_of(prompt: Prompt) -> str:
    """A prompt as the server reads it."""
    return str(json.loads(b'"' + b"".join(bytes(piece) for piece in prompt.pieces) + b'"'))


def source_of(tokens: int, *, seed: int = 1, overhead: int = 0, words: WordCounts | None = None) -> SyntheticSource:
    known = words or uncalibrated_words()
    return SyntheticSource(known.words, known.tokens_per_word, tokens, overhead, seed)


def words_around() -> int:
    """Words of head and tail."""
    return len(text_of(source_of(1, overhead=1).prompt(0)).split())


@given(st.integers(min_value=40, max_value=20_000), st.integers(min_value=0, max_value=2**31), st.integers(0, 99))
def test_a_prompt_has_exactly_the_length_that_was_asked_for(tokens: int, seed: int, index: int) -> None:
    source = source_of(tokens, seed=seed, overhead=words_around())
    assert len(text_of(source.prompt(index)).split()) == tokens


def test_prompts_of_126k_and_a_million_tokens_are_exact() -> None:
    for tokens in (126_000, 1_000_000):
        prompt = source_of(tokens, overhead=words_around()).prompt(3)
        assert len(text_of(prompt).split()) == tokens


def test_a_million_token_prompt_refers_to_blocks_and_copies_nothing() -> None:
    source = source_of(1_000_000)
    tracemalloc.start()
    prompts = [source.prompt(index) for index in range(20)]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(piece) for prompt in prompts for piece in prompt.pieces) > 80_000_000
    assert held < 2_000_000


def test_no_two_prompts_begin_with_the_same_words() -> None:
    source = source_of(100)
    starts = {tuple(text_of(source.prompt(index)).split()[:4]) for index in range(3000)}
    starts |= {tuple(text_of(source.warmup_prompt(index)).split()[:4]) for index in range(100)}
    assert len(starts) == 3100


def test_neighbours_differ_from_their_second_word_on() -> None:
    source = source_of(100)
    first = [text_of(source.prompt(index)).split()[1] for index in range(200)]
    assert len(set(first)) == 200


def test_the_same_seed_gives_the_same_prompts_and_another_seed_others() -> None:
    again, other = source_of(500, seed=1), source_of(500, seed=2)
    assert text_of(source_of(500, seed=1).prompt(7)) == text_of(again.prompt(7))
    assert text_of(again.prompt(7)).split()[6:20] != text_of(other.prompt(7)).split()[6:20]


def test_calibration_drops_the_words_that_a_vocabulary_splits_and_asks_little() -> None:
    split = {WORDS[5]: 2, WORDS[300]: 3, WORDS[301]: 2}
    counter = Vocabulary(split, special=1)
    counts = asyncio.run(calibrate_words(counter))
    assert counts.tokens_per_word == 1.0
    assert set(counts.words) == set(WORDS) - set(split)
    assert counter.texts < 80


def test_a_vocabulary_that_splits_every_word_still_gives_words_of_one_length() -> None:
    counts = asyncio.run(calibrate_words(Vocabulary({word: len(word) + 1 for word in WORDS})))
    assert counts.tokens_per_word == 5.0
    assert {len(word) for word in counts.words} == {4}


def test_usage_of_the_first_answers_corrects_the_length() -> None:
    source = source_of(1000, overhead=20)
    template = 75  # what the server really counts around the filler

    def counted() -> int:
        return source.filler_words + template

    assert counted() == 1055
    source.correct([counted(), counted()])
    assert counted() == 1000


def test_a_small_miss_is_left_alone() -> None:
    source = source_of(1000, overhead=20)
    source.correct([1001, 1001])
    assert source.overhead == 20


def test_a_probe_teaches_the_overhead() -> None:
    source = source_of(1000, overhead=20)
    source.learn_overhead(331, 256)
    assert source.overhead == 75


@pytest.mark.parametrize("tokens", [1, 10])
def test_a_prompt_shorter_than_its_template_has_no_filler(tokens: int) -> None:
    assert source_of(tokens, overhead=40).filler_words == 0
