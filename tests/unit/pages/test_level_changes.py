"""The marks of the charts: where a line changed its level, and what the analysis said of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from benchgate.names import run_key
from benchgate.pages import charts, sketches
from benchgate.pages.campaign_view import campaign_view
from benchgate.pages.campaigns_view import campaigns_view
from benchgate.pages.compare_view import NIGHTS, Asked, compare_view
from benchgate.pages.level_changes import LEVEL, level_changes
from benchgate.pages.reading import warehouse
from benchgate.warehouse.findings import replace_findings
from benchgate.warehouse.migrate import migrate
from tests.unit.pages.every_page import page
from tests.unit.pages.fabricated import load_nights, run_id_of

FASTER_SINCE = 18  # the made-up marlin gains 8 % on this night


def _steps(*levels: tuple[float, int]) -> list[float]:
    chance = random.Random(5)
    return [level * chance.gauss(1, 0.01) for level, nights in levels for _ in range(nights)]


@pytest.mark.parametrize(
    ("metric", "levels", "expected"),
    [
        ("decode_tok_s", [(1000, 20), (800, 20)], [(20, -0.2, False)]),
        ("ttft_p50_ms", [(100, 10), (80, 10)], [(10, -0.2, True)]),
        ("decode_tok_s", [(1000, 12), (1100, 12), (900, 12)], [(12, 0.1, True), (24, -0.18, False)]),
        ("decode_tok_s", [(1000, 40)], []),
    ],
)
def test_a_new_level_is_found_with_its_first_night_and_its_size(
    metric: str, levels: list[tuple[float, int]], expected: list[tuple[int, float, bool]]
) -> None:
    found = level_changes(_steps(*levels), metric)

    assert [(one.place, one.better, one.answer) for one in found] == [(at, good, LEVEL) for at, _, good in expected]
    assert [one.change for one in found] == pytest.approx([size for _, size, _ in expected], abs=0.02)


def test_one_odd_night_is_no_level() -> None:
    values = _steps((1000, 30))
    values[14] = 300.0

    assert level_changes(values, "decode_tok_s") == ()


@given(st.lists(st.floats(0, 1e9, allow_nan=False), max_size=40), st.sampled_from(["decode_tok_s", "error_rate"]))
def test_any_line_has_marks_within_itself(values: list[float], metric: str) -> None:
    found = level_changes(values, metric)

    assert all(0 < one.place < len(values) for one in found)


def test_a_campaign_marks_the_night_and_leads_to_its_run(connection: Connection) -> None:
    view = campaign_view(connection, "kernels", choice="short-chat/u8")
    html = page("campaign", view)

    marked = {one.arm: [change.place for change in one.changes] for one in view.series if one.place == "h200/quad-a"}
    assert marked == {"marlin": [FASTER_SINCE], "triton": []}
    assert 'class="mark note"' in html
    night = charts.marked_changes(view.series)[0]
    assert night.point.run_id == run_id_of(FASTER_SINCE)
    assert "▲ +8" in html
    assert f'href="/benchgate/run/kernels/{run_id_of(FASTER_SINCE).replace(":", "%3A").replace("+", "%2B")}"' in html


def test_nights_that_are_compared_are_seen_among_the_others(connection: Connection) -> None:
    asked = Asked("kernels", NIGHTS, run_id_of(25), run_id_of(10), "marlin")
    view = compare_view(connection, {"kernels"}, asked)
    html = page("compare", view)

    assert view.trend_of == ("short-chat", "u64")
    since = {one.points[change.place].run_id for one in view.trend for change in one.changes}
    assert since == {run_id_of(FASTER_SINCE + 1)}  # that very night was refused at this load
    assert ">before</text>" in html
    assert ">after</text>" in html


def test_the_list_of_campaigns_marks_its_small_line(tmp_path: Path, benchgate_home: Path) -> None:
    spark = sketches.spark(
        _steps((100, 15), (80, 15)), "decode", level_changes(_steps((100, 15), (80, 15)), "decode_tok_s")
    )

    assert '<line class="worse"' in spark
    assert "level changed by -19.7 %" in spark


def test_what_the_analysis_said_stands_in_place_of_what_the_line_shows(tmp_path: Path, benchgate_home: Path) -> None:
    url = f"sqlite:///{tmp_path / 'w.db'}"
    migrate(url)
    load_nights(url, range(26))
    newest, since = (run_key("kernels", run_id_of(night)) for night in (25, FASTER_SINCE + 1))
    finding = {
        "arm": "marlin",
        "host": "h200",
        "placement": "quad-a",
        "workload": "short-chat",
        "load_label": "u8",
        "metric": "decode_tok_s",
        "answer": "IMPROVED",
        "change": 0.081,
        "change_low": 0.06,
        "change_high": 0.1,
        "nights": 26,
        "new_tonight": False,
        "changed_since_run": since,
        "method": "t",
        "reason": "Changed that night: <image>.",
    }
    replace_findings(newest, regressions=[finding], url=url)

    with warehouse(url) as opened:
        view = campaign_view(opened, "kernels", choice="short-chat/u8")
        line = campaigns_view(opened, {"kernels"}).campaigns[0]
    html = page("campaign", view)

    marlin = next(one for one in view.series if (one.arm, one.place) == ("marlin", "h200/quad-a"))
    assert [(one.place, one.answer, one.change) for one in marlin.changes] == [(FASTER_SINCE + 1, "IMPROVED", 0.081)]
    assert "<strong>IMPROVED</strong>, Changed that night: &lt;image&gt;." in html
    assert line.improved == 1
