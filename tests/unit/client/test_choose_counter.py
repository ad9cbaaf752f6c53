"""Who counts tokens: the server, a file that agrees with it, or nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate.client.datasets import counting
from benchgate.client.datasets.counting import choose_counter
from benchgate.client.wire.calls import CallFailed


@pytest.fixture
def word_tokenizer(tmp_path: Path) -> str:
    """A tokenizer.json that counts words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def choose(monkeypatch: pytest.MonkeyPatch, count: object, tokenizer: str | None) -> str:
    async def answer(self: object, texts: Sequence[str]) -> list[int]:
        if count is None:
            raise CallFailed("404")
        return [count(text) for text in texts]  # type: ignore[operator]

    monkeypatch.setattr(counting.ServerCounter, "count", answer)
    chosen = asyncio.run(choose_counter(None, "m", tokenizer=tokenizer, api_key=None))  # type: ignore[arg-type]
    assert (chosen.refused is None) == (count is words or count is len)
    return chosen.counter.source


def words(text: str) -> int:
    return len(text.split())


def test_the_server_counts_when_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, words, None) == "server"


def test_a_file_that_agrees_with_the_server_counts_in_its_place(
    monkeypatch: pytest.MonkeyPatch, word_tokenizer: str
) -> None:
    assert choose(monkeypatch, words, word_tokenizer) == "tokenizer"


def test_a_file_of_another_model_gives_way_to_the_server(monkeypatch: pytest.MonkeyPatch, word_tokenizer: str) -> None:
    assert choose(monkeypatch, len, word_tokenizer) == "server"


def test_a_file_counts_where_the_server_cannot(monkeypatch: pytest.MonkeyPatch, word_tokenizer: str) -> None:
    assert choose(monkeypatch, None, word_tokenizer) == "tokenizer"


def test_a_route_that_always_answers_the_same_is_no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(monkeypatch, lambda text: 7, None) == "approximation"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A server whose /tokenize fails; the texts that it was asked for."""
    texts: list[str] = []

    async def call_json(pool: object, method: str, path: str, body: dict[str, Any], **_: object) -> tuple[int, Any]:
        texts.append(body["prompt"])
        return 500, {"object": "error", "message": "Integer exceeds 64-bit range"}

    monkeypatch.setattr(counting, "call_json", call_json)
    return texts


def choice(refused: str | None = None) -> counting.Choice:
    pool: Any = SimpleNamespace(target=SimpleNamespace(root_path=""))
    return asyncio.run(choose_counter(pool, "m", tokenizer=None, api_key=None, refused=refused))


def test_a_tokenizer_that_fails_is_asked_once_and_its_words_are_kept(asked: list[str]) -> None:
    chosen = choice()

    assert asked == ["one"]
    assert chosen.counter.source == "approximation"
    assert chosen.refused == "it answered 500: Integer exceeds 64-bit range"


def test_a_tokenizer_that_is_known_to_fail_is_not_asked(asked: list[str]) -> None:
    chosen = choice("it answered 500: Integer exceeds 64-bit range")

    assert asked == []
    assert chosen.counter.source == "approximation"
    assert chosen.refused == "it answered 500: Integer exceeds 64-bit range"
