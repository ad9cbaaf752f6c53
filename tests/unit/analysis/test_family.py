"""What holds for all series of a night together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchgate.analysis.family import judge_night
from benchgate.analysis.findings import CALLED, RegressionFinding
from benchgate.analysis.regression import judge
from benchgate.analysis.series import NightlySeries
from tests.unit.analysis.nights import noisy, series

LONE = 999


def among(values: Sequence[float], calm: int = 150) -> list[NightlySeries]:
    """A series of these values and ``calm`` others that do not move."""
    steady = [1000.0 * (1 + 0.01 * (-1) ** i) for i in range(len(values))]
    return [series(values, users=LONE), *(series(steady, users=u) for u in range(1, calm + 1))]


def lone(found: Sequence[RegressionFinding]) -> RegressionFinding:
    """The finding of the series that moves."""
    return next(f for f in found if f.users == LONE)


def slow_to_tell(loss: float = 0.06) -> list[float]:
    """20 quiet nights, then a loss that one series shows on its second night and 150 others hold back for longer."""
    quiet = [1000.0 * (1 + 0.02 * (-1) ** i) for i in range(20)]
    return quiet + [1000.0 * (1 - loss) * (1 + 0.01 * (-1) ** i) for i in range(5)]


def test_a_change_that_the_other_series_held_back_is_news_on_the_night_it_is_called() -> None:
    values = slow_to_tell()
    alone = [judge(series(values[:n])).answer for n in range(20, 26)]

    together = [lone(judge_night(among(values[:n]))) for n in range(20, 26)]

    first = [f.answer for f in together].index("REGRESSED")
    assert alone.index("REGRESSED") < first, "the others never held it back: this test shows nothing"
    assert [f.new_tonight for f in together] == [n == first for n in range(len(together))]


def test_a_change_that_is_called_held_back_and_called_again_is_news_once() -> None:
    values = slow_to_tell(0.07)

    found = [lone(judge_night(among(values[:n]))) for n in range(21, 26)]

    answers = [f.answer for f in found]
    assert answers == ["PASS", "REGRESSED", "INCONCLUSIVE", "REGRESSED", "REGRESSED"], "this test shows nothing"
    assert [f.new_tonight for f in found] == [False, True, False, False, False]


def test_odd_nights_that_nobody_calls_make_no_room_for_others() -> None:
    """Forty cells with one odd night are forty small p values; a weak one beside them is as weak as without them."""
    rng = np.random.default_rng(3)
    values = slow_to_tell()[:22]
    odd = [series([*noisy(rng, 21, noise=0.01), 16055 * 0.5], users=2000 + n) for n in range(40)]

    quiet, beside = judge_night(among(values)), judge_night([*among(values), *odd])

    assert lone(quiet).answer == lone(beside).answer == "INCONCLUSIVE"
    assert not [f for f in beside if f.answer in CALLED]


def test_a_change_is_announced_once_though_the_night_before_was_judged_with_fewer_series() -> None:
    values = [1000.0 + i % 3 for i in range(12)] + [700.0] * 3
    new = [series([500.0], users=7)]  # a cell that the campaign has since tonight

    found = [lone(judge_night([*among(values[:n], calm=5), *new])) for n in (13, 14, 15)]

    assert [(f.answer, f.new_tonight) for f in found] == [
        ("INCONCLUSIVE", False),
        ("REGRESSED", True),
        ("REGRESSED", False),
    ]
