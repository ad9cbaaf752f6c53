"""Two arms, or two nights: what is compared, and what a form may ask for."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import Connection

from benchgate.pages.compare_view import ARMS, NIGHTS, Asked, compare_view
from tests.unit.pages.conftest import NIGHTS as ALL_NIGHTS
from tests.unit.pages.fabricated import run_id_of

BOTH = {"kernels", "other", "hostile"}


def test_arms_of_a_night_are_compared_metric_by_metric(connection: Connection) -> None:
    view = compare_view(connection, BOTH, Asked("kernels", run=run_id_of(3)))

    assert view.names == ("triton", "marlin")
    verdicts = {(c.workload, c.users, c.metric): c.verdict for c in view.comparisons}
    assert verdicts[("short-chat", 64, "decode_tok_s")] == "faster"
    assert verdicts[("prompt-8k", 64, "decode_tok_s")] == "slower"
    assert all(c.low is not None for c in view.comparisons if c.metric == "decode_tok_s")
    assert {c.design for c in view.comparisons if c.metric == "decode_tok_s"} == {"paired by placement"}


def test_what_turns_around_is_marked_where_it_does(connection: Connection) -> None:
    view = compare_view(connection, BOTH, Asked("kernels", run=run_id_of(3)))

    assert ("prompt-8k", "u64", "decode_tok_s") in view.reversed_in
    assert any("decode throughput" in words and "behind at prompt-8k, 64 users" in words for words in view.reversals)


def test_the_other_way_round_turns_every_ratio(connection: Connection) -> None:
    one = compare_view(connection, BOTH, Asked("kernels", run=run_id_of(3)))
    other = compare_view(connection, BOTH, Asked("kernels", run=run_id_of(3), arm="triton", baseline="marlin"))

    assert other.names == ("marlin", "triton")
    ratios = {(c.workload, c.load): c.point for c in one.comparisons if c.metric == "decode_tok_s"}
    for comparison in other.comparisons:
        if comparison.metric == "decode_tok_s":
            assert comparison.point == pytest.approx(1 / ratios[(comparison.workload, comparison.load)])  # type: ignore[operator]


def test_nights_are_compared_arm_by_arm_with_what_changed(connection: Connection) -> None:
    asked = Asked("kernels", NIGHTS, run=run_id_of(15), other=run_id_of(6), arm="marlin")

    view = compare_view(connection, BOTH, asked)

    assert view.names == ("marlin 2025-12-07", "marlin 2025-12-16")
    assert {c.verdict for c in view.comparisons if c.metric == "decode_tok_s"} <= {"inconclusive", "faster", "slower"}
    changed = {(one.placement, one.part) for one in view.changed}
    assert ("h200/quad-a", "image_digest") in changed
    assert ("h200/quad-a", "model_id") not in changed


def test_the_night_before_is_what_a_night_is_set_against(connection: Connection) -> None:
    view = compare_view(connection, BOTH, Asked("kernels", NIGHTS, run=run_id_of(15)))

    assert view.other is not None
    assert view.other.run_id == run_id_of(14)
    assert compare_view(connection, BOTH, Asked("kernels", NIGHTS, run=run_id_of(0))).other is not None


@pytest.mark.parametrize(
    "asked",
    [
        Asked(),
        Asked("nobody", run="x", arm="y", baseline="z"),
        Asked("kernels", "sideways", "'; DROP TABLE cell", "\x00", "<script>", "{{7*7}}"),
        Asked("kernels", arm="triton", baseline="triton"),
        Asked("kernels", arm="flashinfer"),
        Asked("kernels", NIGHTS, run=run_id_of(3), other=run_id_of(3)),
        Asked("kernels", NIGHTS, arm="flashinfer"),
    ],
)
def test_what_a_campaign_does_not_have_is_replaced_by_what_it_has(connection: Connection, asked: Asked) -> None:
    view = compare_view(connection, {"kernels"}, asked)

    assert view.campaign == "kernels"
    assert view.by in (ARMS, NIGHTS)
    assert view.comparisons
    assert view.names[0] != view.names[1]


def test_a_campaign_that_one_may_not_read_is_not_compared(connection: Connection) -> None:
    view = compare_view(connection, {"other"}, Asked("kernels", run=run_id_of(20)))

    assert (view.campaign, view.campaigns) == ("other", ("other",))
    assert {choice.run_id for choice in view.runs} == {run_id_of(number) for number in range(3)}


def test_old_nights_can_be_asked_for_by_name(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchgate.pages.compare_view.NIGHTS_TO_CHOOSE", 5)

    view = compare_view(connection, BOTH, Asked("kernels", NIGHTS, run=run_id_of(ALL_NIGHTS - 1), other=run_id_of(1)))

    assert view.other is not None
    assert view.other.run_id == run_id_of(1)
    assert len(view.runs) == 6


def test_there_is_nothing_to_compare_without_two_arms_or_two_nights(connection: Connection) -> None:
    assert "two arms" in str(compare_view(connection, {"hostile"}, Asked("hostile")).nothing)
    assert "second" in str(compare_view(connection, {"hostile"}, Asked("hostile", NIGHTS)).nothing)
    assert compare_view(connection, set(), Asked()).nothing is not None
    assert compare_view(None, {"kernels"}, Asked()).nothing is not None
