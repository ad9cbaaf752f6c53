from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchgate.client.config import OptionError
from benchgate.client.datasets.counting import Approximation, FileCounter, TokenCounter
from benchgate.client.missing_counts import fill_missing
from benchgate.client.wire.calls import CallFailed
from benchgate.request_record import RequestRecord


class Words:
    """One token a word; breaks after ``works`` batches."""

    source = "server"
    described = "a test"

    def __init__(self, works: int = 100) -> None:
        self._works = works

    async def count(self, texts: Sequence[str]) -> list[int]:
        self._works -= 1
        if self._works < 0:
            raise CallFailed("gone")
        return [len(text.split()) for text in texts]


def fill(records: list[RequestRecord], texts: dict[tuple[str, int], str], counter: TokenCounter) -> list[str]:
    return asyncio.run(fill_missing(records, texts, counter))


def test_answers_without_usage_are_counted_over_all_their_text() -> None:
    records = [RequestRecord(1), RequestRecord(2, completion_tokens=9, token_count_source="usage")]
    notes = fill(records, {("measured", 1): "thinking about it, then the answer"}, Words())
    assert (records[0].completion_tokens, records[0].token_count_source) == (6, "tokenizer")
    assert (records[1].completion_tokens, records[1].token_count_source) == (9, "usage")
    assert "1 answers came without usage" in notes[0]


def test_an_approximation_is_no_count() -> None:
    records = [RequestRecord(1)]
    assert fill(records, {("measured", 1): "some text"}, Approximation()) == []
    assert records[0].completion_tokens is None


def test_a_tokenizer_that_breaks_leaves_counts_unknown_and_says_so() -> None:
    records = [RequestRecord(1)]
    notes = fill(records, {("measured", 1): "some text"}, Words(works=0))
    assert records[0].completion_tokens is None
    assert "could not be counted: gone" in notes[0]


def test_the_text_of_a_failed_request_is_not_counted() -> None:
    records = [RequestRecord(1, status="stream_error")]
    fill(records, {("measured", 1): "half of a"}, Words())
    assert records[0].completion_tokens is None


def test_a_tokenizer_file_counts_tokens(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"one": 0, "two": 1, "[UNK]": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        counter = FileCounter(str(path))
        assert asyncio.run(counter.count(["one two", "one"])) == [2, 1]


def test_a_tokenizer_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"there is no tokenizer\.json there"):
        FileCounter(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("hello")
    with pytest.raises(OptionError, match="cannot be read"):
        FileCounter(str(tmp_path))
