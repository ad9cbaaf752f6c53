from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.analysis.cells import MeasuredCell, from_frame
from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from tests.unit.analysis.fabricate import cell, swapped


def only(found: list[Comparison], metric: str = "decode_tok_s") -> Comparison:
    [comparison] = [c for c in found if c.metric == metric]
    return comparison


def test_single_runs_say_one_run_and_carry_no_interval() -> None:
    found = only(compare([cell("triton", 4379.0), cell("marlin", 5951.0)]))

    assert found.verdict == "one run"
    assert round(found.point or 0, 2) == 1.36
    assert (found.low, found.high, found.p_value, found.smallest_visible) == (None, None, None, None)


def test_one_run_on_each_of_two_placements_is_still_one_run() -> None:
    rng = np.random.default_rng(1)

    found = only(compare(swapped(rng, effect=1.4, repeats=1)))

    assert found.verdict == "one run"
    assert found.low is None
    assert found.design == "paired by placement"


def test_a_clear_effect_is_faster_with_an_interval_around_the_truth() -> None:
    rng = np.random.default_rng(2)

    found = only(compare(swapped(rng, effect=1.36)))

    assert found.verdict == "faster"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.36 < found.high
    assert "two-way" in (found.method or "")


def test_lower_latency_is_faster() -> None:
    cells = [cell("triton", v, repeat=i, metric="tpot_p50_ms") for i, v in enumerate([13.5, 13.6, 13.7], 1)]
    cells += [cell("marlin", v, repeat=i, metric="tpot_p50_ms") for i, v in enumerate([10.0, 10.1, 10.2], 1)]

    found = only(compare(cells), "tpot_p50_ms")

    assert found.verdict == "faster"
    assert found.point == pytest.approx(10.1 / 13.6, rel=0.01)


def test_a_placement_effect_is_not_taken_for_an_arm_effect_when_arms_are_swapped() -> None:
    rng = np.random.default_rng(3)

    found = only(compare(swapped(rng, effect=1.0, placement_effect=1.15), home=HOME))

    assert found.verdict == "inconclusive"
    [effect] = found.placement_effects
    assert (effect.placement, effect.against) == ("h200/quad-b", "h200/quad-a")
    assert effect.low < 1.15 < effect.high
    [claim] = found.unswapped
    assert claim.verdict == "faster"
    assert claim.declared


HOME = {"triton": "h200/quad-a", "marlin": "h200/quad-b"}


def test_without_a_swap_every_comparison_says_that_placement_confounds_it() -> None:
    cells = [cell("triton", 1000 + i, repeat=i, placement="h200/quad-a") for i in (1, 2, 3)]
    cells += [cell("marlin", 1300 + i, repeat=i, placement="h200/quad-b") for i in (1, 2, 3)]

    found = only(compare(cells))

    assert found.verdict == "faster"
    assert found.design == "confounded by placement"
    assert "confounded by placement" in found.reason
    assert found.unswapped == ()


def test_refusals_that_leave_swapped_arms_no_common_placement_make_no_claim_of_the_placements() -> None:
    def repeats(arm: str, place: str, users: int, state: str = "published") -> list[MeasuredCell]:
        level = 1300 if place == "h/b" else 1000
        return [cell(arm, level + r, repeat=r, placement=place, users=users, end_state=state) for r in (1, 2, 3)]

    whole = [one for arm in ("triton", "marlin") for place in ("h/a", "h/b") for one in repeats(arm, place, 1)]
    torn = [
        *repeats("triton", "h/a", 64),
        *repeats("triton", "h/b", 64, "unpublishable"),
        *repeats("marlin", "h/a", 64, "unpublishable"),
        *repeats("marlin", "h/b", 64),
    ]

    found = next(c for c in compare([*whole, *torn]) if c.users == 64)

    assert found.point == pytest.approx(1.3, rel=0.01)
    assert (found.verdict, found.direction, found.basis) == ("inconclusive", 0, "published")
    assert found.design == "confounded by placement"
    assert "no verdict" in found.reason


def test_two_arms_that_took_turns_on_one_placement_are_not_confounded() -> None:
    cells = [cell("triton", 1000 + i, repeat=i) for i in (1, 2, 3)]
    cells += [cell("marlin", 1300 + i, repeat=i) for i in (1, 2, 3)]

    assert only(compare(cells)).design == "same placement"


def test_inconclusive_says_what_it_could_have_seen() -> None:
    rng = np.random.default_rng(4)

    found = only(compare(swapped(rng, effect=1.005, noise=0.03)))

    assert found.verdict == "inconclusive"
    assert found.smallest_visible is not None
    assert 0.01 < found.smallest_visible < 0.15


def test_an_arm_that_wins_on_one_placement_and_loses_on_the_other_is_inconclusive() -> None:
    def repeats(arm: str, place: str, level: float) -> list[object]:
        return [cell(arm, level + i, repeat=i, placement=place) for i in (1, 2, 3)]

    cells = [
        *repeats("triton", "h/a", 1000),
        *repeats("triton", "h/b", 1000),
        *repeats("marlin", "h/a", 1500),
        *repeats("marlin", "h/b", 900),
    ]

    found = only(compare(cells))  # type: ignore[arg-type]

    assert found.verdict == "inconclusive"
    assert "differs between placements" in found.reason
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.9 < 1.5 < found.high


@pytest.mark.parametrize(
    ("fact", "one", "other"),
    [
        ("metric_definition", "1", "2"),
        ("client_name", "benchgate", "vllm bench serve"),
        ("token_count_source", "usage", "tokenizer"),
        ("max_tokens", 256, 128),
        ("dataset", "sharegpt", "synthetic"),
        ("simulated", False, True),
    ],
)
def test_numbers_of_two_kinds_are_refused_by_name(fact: str, one: object, other: object) -> None:
    cells = [cell("triton", 10.0, facts={fact: one}), cell("marlin", 20.0, facts={fact: other})]

    found = only(compare(cells))

    assert found.verdict == "refused"
    assert f"{fact} differs: " in found.reason
    assert str(one) in found.reason
    assert str(other) in found.reason
    assert found.point is None


def test_another_kv_meaning_refuses_the_kv_pool_and_leaves_throughput_alone() -> None:
    values = {"kv_tokens": 2_600_000.0, "decode_tok_s": 100.0}
    cells = [
        cell("vllm", values=values, facts={"kv_meaning": "concurrency x context"}),
        cell("sglang", values=values, facts={"kv_meaning": "allocated tokens"}),
    ]

    found = compare(cells, baseline="sglang")

    assert only(found, "kv_tokens").verdict == "refused"
    assert "kv_meaning" in only(found, "kv_tokens").reason
    assert only(found).verdict == "one run"


def test_refused_cells_are_compared_apart_and_say_so() -> None:
    cells = [cell(arm, v, end_state="unpublishable", repeat=r) for arm, v in (("a", 1.0), ("b", 2.0)) for r in (1, 2)]
    cells += [cell(arm, v, users=1) for arm, v in (("a", 1.0), ("b", 2.0))]

    found = {c.users: c.basis for c in compare(cells)}

    assert found == {64: "unpublishable", 1: "published"}


def test_a_comparison_of_refused_cells_says_why_they_were_refused() -> None:
    cold = {"warm_verdict": "not_warm"}
    cells = [
        cell("a", 100.0, end_state="unpublishable", reason="needle check 0/3: nothing came back", repeat=1),
        cell("a", 101.0, end_state="unpublishable", reason="not warm: kernels were compiled", facts=cold, repeat=2),
        cell("b", 120.0, end_state="unpublishable", reason="needle check 0/3: nothing came back", repeat=1),
        cell("b", 121.0, end_state="unpublishable", reason="needle check 0/3: nothing came back", repeat=2),
    ]

    found = only(compare(cells))

    assert found.basis == "unpublishable"
    assert found.reason.startswith("refused cells: needle check 0/3 (3 of 4 cells); not warm (1 of 4 cells)")


def test_published_cells_are_never_averaged_with_refused_ones() -> None:
    cells = [
        cell("a", 100.0),
        cell("a", 900.0, repeat=2, end_state="unpublishable"),
        cell("b", 200.0),
    ]

    assert only(compare(cells)).point == pytest.approx(2.0)


def test_a_latency_that_is_unknown_is_no_value_with_its_reason() -> None:
    burst = {"latency_verdict": "burst", "latency_reason": "most tokens came in one event"}
    cells = [
        cell("sglang", values={"ttft_p50_ms": 500.0, "decode_tok_s": 279.5}),
        cell("vllm", values={"ttft_p50_ms": None, "decode_tok_s": 535.3}, facts=burst),
    ]

    found = compare(cells)

    assert only(found, "ttft_p50_ms").verdict == "no value"
    assert "most tokens came in one event" in only(found, "ttft_p50_ms").reason
    assert round(only(found).point or 0, 1) == 1.9


def test_error_rates_are_compared_as_a_difference_so_that_zero_is_a_value() -> None:
    cells = [cell("sglang", 0.0, metric="error_rate"), cell("vllm", 0.108, metric="error_rate")]

    found = only(compare(cells), "error_rate")

    assert found.effect == "difference"
    assert found.point == pytest.approx(0.108)


def test_a_verdict_must_survive_the_number_of_comparisons() -> None:
    """Twenty cells of nothing and one barely significant: alone it would be called."""
    rng = np.random.default_rng(11)
    null = [c for users in range(2, 22) for c in swapped(rng, noise=0.03, users=users)]
    weak = swapped(np.random.default_rng(5), effect=1.05, noise=0.03, users=1)

    alone = only(compare(weak))
    among = next(c for c in compare([*weak, *null]) if c.users == 1)

    assert alone.verdict == "faster"
    assert among.verdict == "inconclusive"
    assert "by chance" in among.reason
    assert among.family_size == 21
    assert (among.low or 0) > 1  # its own interval is still shown


def test_effects_below_the_clients_own_error_are_never_called() -> None:
    cells = [cell("a", 1000.0, repeat=r) for r in (1, 2, 3)] + [cell("b", 1000.1, repeat=r) for r in (1, 2, 3)]

    assert only(compare(cells)).verdict == "inconclusive"


@pytest.mark.parametrize("repeats", [2, 3, 5])
@pytest.mark.parametrize("swap", [True, False])
@pytest.mark.parametrize("launches", [0.0, 0.02])
def test_intervals_cover_the_truth_in_95_percent_of_campaigns(repeats: int, swap: bool, launches: float) -> None:
    rng = np.random.default_rng(repeats)
    covered = 0
    for _ in range(600):
        cells = swapped(rng, effect=1.1, placement_effect=1.05, repeats=repeats, between_launches=launches)
        if not swap:
            cells = [c for c in cells if c.placement == "h200/quad-a"]
        found = only(compare(cells))
        covered += (found.low or 9) <= 1.1 <= (found.high or 0)
    assert covered / 600 >= 0.93
    assert covered / 600 <= (0.985 if launches else 1.0)  # what launches differ by is assumed to be there


def test_noise_alone_makes_a_false_claim_in_at_most_5_percent_of_campaigns() -> None:
    """Six cells and three metrics, nothing real: any faster or slower in the whole run counts as a false alarm."""
    rng = np.random.default_rng(8)
    alarms = 0
    for _ in range(300):
        cells = [
            c
            for users in range(1, 7)
            for metric in ("decode_tok_s", "ttft_p50_ms", "tpot_p50_ms")
            for c in swapped(rng, placement_effect=1.08, users=users, metric=metric)
        ]
        alarms += any(c.direction for c in compare(cells))
    assert alarms / 300 <= 0.08  # 0.05 and three standard errors


def test_facts_of_a_launch_count_once_however_many_cells_it_has() -> None:
    cells = [
        cell(arm, repeat=r, users=u, values={"kv_tokens": kv, "startup_s": 100.0, "decode_tok_s": 10.0 + r})
        for arm, kv in (("a", 2e6), ("b", 3e6))
        for u in (1, 64)
        for r in (1, 2, 3)
    ]

    found = [c for c in compare(cells) if c.metric == "kv_tokens"]

    assert [(c.context, c.load, c.verdict, c.arm_repeats) for c in found] == [("launch", "all", "one run", 1)]


def test_equal_values_are_inconclusive_and_no_test() -> None:
    cells = [cell(arm, 0.0, repeat=r, metric="error_rate") for arm in ("a", "b") for r in (1, 2)]

    found = only(compare(cells), "error_rate")

    assert (found.verdict, found.reason, found.p_value) == ("inconclusive", "all values are equal", None)


def test_frames_with_missing_columns_and_nan_are_read_as_unknown() -> None:
    frame = pd.DataFrame(
        {
            "run": ["r"] * 2,
            "arm": ["a", "b"],
            "host": ["h"] * 2,
            "placement": ["p"] * 2,
            "workload": ["w"] * 2,
            "users": [4, 4],
            "request_rate": [math.nan] * 2,
            "repeat": [1, 1],
            "decode_tok_s": [10.0, 20.0],
            "ttft_p50_ms": [math.nan, 5.0],
            "metric_definition": ["1", None],
        }
    )

    cells = from_frame(frame)
    found = compare(cells)

    assert cells[0].request_rate is None
    assert cells[0].placement == "h/p"
    assert only(found).point == pytest.approx(2.0)
    assert only(found, "ttft_p50_ms").verdict == "no value"


@given(
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6),
    st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6),
    st.floats(0.01, 1e6),
)
def test_a_comparison_does_not_depend_on_the_unit_and_turns_over_with_the_baseline(
    ours: list[float], theirs: list[float], unit: float
) -> None:
    def cells(scale: float) -> list[object]:
        return [cell("a", v * scale, repeat=i) for i, v in enumerate(ours, 1)] + [
            cell("b", v * scale, repeat=i) for i, v in enumerate(theirs, 1)
        ]

    one, scaled = only(compare(cells(1.0))), only(compare(cells(unit)))  # type: ignore[arg-type]
    turned = only(compare(cells(1.0), baseline="b"))  # type: ignore[arg-type]

    assert scaled.point == pytest.approx(one.point)
    assert one.point == pytest.approx(1 / (turned.point or 1))
    if one.low is not None:
        assert one.low == pytest.approx(1 / (turned.high or 1))


def test_equal_placements_are_called_different_no_more_often_than_launches_allow() -> None:
    """Launches of one arm differ by 2 %: without that the placement effect would be taken from two lucky launches."""
    rng = np.random.default_rng(21)
    outside = 0
    for _ in range(200):
        [effect] = only(compare(swapped(rng, noise=0.005, between_launches=0.02))).placement_effects
        outside += not effect.low <= 1 <= effect.high
    assert outside / 200 <= 0.08
