from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchgate.client.datasets.sharegpt import DatasetError, is_kept, read_sharegpt, sample, sharegpt_source


class WordCounter:
    """One token a word."""

    source = "server"
    described = "words"

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def turns(*values: tuple[str, str]) -> dict[str, object]:
    return {"id": "x", "conversations": [{"from": who, "value": what} for who, what in values]}


def write(folder: Path, content: object) -> str:
    path = folder / "data.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return str(path)


def long_enough(number: int) -> dict[str, object]:
    return turns(("human", f"question number {number} of this file"), ("gpt", "an answer of five words"))


def test_the_first_human_turn_and_its_answer_are_taken(tmp_path: Path) -> None:
    file = read_sharegpt(
        write(
            tmp_path,
            [
                turns(("human", "a"), ("gpt", "b"), ("human", "c"), ("gpt", "d")),
                turns(("gpt", "left over"), ("human", "not its answer")),
                turns(("human", "alone")),
                turns(("system", "be kind"), ("human", "e"), ("gpt", "f")),
                {"conversations": [{"role": "user", "content": "g"}, {"role": "assistant", "content": "h"}]},
                turns(),
            ],
        )
    )
    assert file.pairs == [("a", "b"), ("e", "f"), ("g", "h")]
    assert file.conversations == 6


def test_one_object_a_line_works_as_well(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(long_enough(number)) for number in range(3))
    assert len(read_sharegpt(write(tmp_path, lines.encode())).pairs) == 3


def test_a_cut_off_file_is_refused_with_the_byte_and_the_count(tmp_path: Path) -> None:
    data = json.dumps([long_enough(number) for number in range(50)]).encode()[:3000]
    whole = data.count(b"five words")
    path = write(tmp_path, data)
    with pytest.raises(DatasetError) as caught:
        read_sharegpt(path)
    message = str(caught.value)
    assert path in message
    assert "ends at byte 3,000" in message
    assert f"{whole} whole conversations" in message
    assert "--allow-truncated" in message


@pytest.mark.parametrize("cut", [*range(2, 200, 7)])
def test_what_is_whole_of_a_cut_off_file_can_be_used(tmp_path: Path, cut: int) -> None:
    data = json.dumps([long_enough(number) for number in range(3)]).encode()
    kept = data[:-cut]
    file = read_sharegpt(write(tmp_path, kept), allow_truncated=True)
    assert file.truncated_at == len(kept)
    assert len(file.pairs) == file.conversations


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello", "is no JSON"),
        (b"PK\x03\x04", "is no JSON"),
        (b"[]", "holds no conversations"),
        (b'[{"prompt": "x", "answer": "y"}]', "entry 0 is an object with prompt, answer"),
        (b"[1, 2]", "entry 0 is int"),
        (b'{"train": [1]}', "entry 0 is an object with train"),
        (b'[{"conversations": []},, ]', "no valid JSON near byte"),
        (b'[{"conversations": [{"from": "gpt", "value": "x"}]}]', "none of its 1 conversations"),
    ],
)
def test_a_foreign_file_is_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DatasetError, match=message) as caught:
        read_sharegpt(path)
    assert path in str(caught.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DatasetError, match=r"/none/x\.json does not exist"):
        read_sharegpt("/none/x.json")


@pytest.mark.parametrize(
    ("prompt", "answer", "kept"),
    [(4, 4, True), (3, 4, False), (4, 3, False), (1024, 1024, True), (1025, 4, False), (1024, 1025, False)],
)
def test_the_filter_has_the_known_limits(prompt: int, answer: int, kept: bool) -> None:
    assert is_kept(prompt, answer) is kept


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    pairs = [(f"question number {number} here", "an answer of five words") for number in range(500)]
    one, same, other = (asyncio.run(sample(pairs, WordCounter(), wanted=20, seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert len(one) == 20
    assert all(tokens == 4 for _, tokens in one)


def test_warm_up_takes_prompts_that_are_not_measured_and_repeats_are_said(tmp_path: Path) -> None:
    path = write(tmp_path, [long_enough(number) for number in range(10)])

    def source(requests: int, warmup: int):
        return asyncio.run(
            sharegpt_source(path, WordCounter(), requests=requests, warmup=warmup, seed=1, allow_truncated=False)
        )

    enough = source(6, 4)
    measured = {enough.prompt(index) for index in range(6)}
    assert len(measured) == 6
    assert not measured & {enough.warmup_prompt(index) for index in range(4)}
    assert enough.notes == []
    short = source(30, 0)
    assert short.prompt(0) == short.prompt(10)
    assert "30 prompts wanted, 10 fit" in short.notes[0]
