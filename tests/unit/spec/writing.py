"""Helpers of the spec tests: a file with given text, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.errors import SpecError, SpecProblem

FIXTURES = Path(__file__).parents[2] / "fixtures" / "spec"

CAMPAIGN = """\
campaign: small
engine: vllm
model: {id: m}
image: i:1
arms:
  a: {placement: h200/quad-a}
workloads:
  chat: {dataset: sharegpt, users: [1]}
gates:
  needle: {context_tokens: 4096}
"""
HOSTS = """\
hosts:
  h:
    kind: process
    placements:
      p: {}
"""


def problems(load: Callable[[Path], object], file: Path, text: str | bytes) -> list[SpecProblem]:
    """Write ``text`` and load it; the problems it is refused with."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SpecError) as caught:
        load(file)
    assert caught.value.problems
    assert all(problem.file == str(file) for problem in caught.value.problems)
    assert all("\n" not in str(problem) for problem in caught.value.problems)
    return caught.value.problems


def one(found: list[SpecProblem]) -> SpecProblem:
    """The only problem."""
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]
