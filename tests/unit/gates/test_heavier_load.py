"""A cell beside the heavier loads of its launch."""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.gates.heavier_load import overtaken
from benchgate.records import CellRecord
from tests.support.runs import cell_record, percentiles, planned_cell, summary


def cell(ttft_ms: float | None, users: int | None, **where: Any) -> CellRecord:
    ttft = None if ttft_ms is None else percentiles(ttft_ms)
    return cell_record(planned_cell(users=users, **where), summary=summary(ttft_ms=ttft))


@pytest.mark.parametrize(
    ("light", "heavy"),
    [
        (158.7, 380.2),  # vLLM, marlin, on an H200
        (186.2, 308.5),  # vLLM, triton
        (1249.0, 860.0),  # within what two measurements of one load differ by
    ],
)
def test_a_heavier_load_that_waits_as_it_should_says_nothing(light: float, heavy: float) -> None:
    assert overtaken(cell(light, 16), [cell(light, 16), cell(heavy, 64)]) is None


def test_first_tokens_that_more_users_got_much_sooner_were_held_up() -> None:
    said = overtaken(cell(1555.7, 16), [cell(1555.7, 16), cell(1249.0, 64, repeat=2), cell(754.6, 64)])

    assert said == "TTFT p50 was 1556 ms with 16 users and 755 ms with 64 users, in the same launch"


def test_a_lighter_load_of_an_open_loop_is_compared_by_its_rate() -> None:
    fast = cell(100.0, None, rate=8.0)

    assert overtaken(cell(400.0, None, rate=2.5), [fast]) is not None
    assert overtaken(fast, [cell(10.0, None, rate=2.5)]) is None


@pytest.mark.parametrize(
    "other",
    [
        cell(50.0, 64, launch="b@here/one"),
        cell(50.0, 64, workload="prompt-8k"),
        cell(50.0, 1),
        cell(50.0, 16, repeat=2),
        cell(50.0, None, rate=100.0),
        cell(None, 64),
    ],
    ids=["another launch", "another workload", "fewer users", "a repeat", "an open loop", "no latency"],
)
def test_what_is_no_heavier_load_of_the_same_launch_and_workload_says_nothing(other: CellRecord) -> None:
    assert overtaken(cell(1000.0, 16), [other]) is None


def test_a_cell_without_latencies_is_not_compared() -> None:
    assert overtaken(cell(None, 16), [cell(50.0, 64)]) is None
