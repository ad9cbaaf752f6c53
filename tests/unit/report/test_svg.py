from __future__ import annotations

import math
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from benchgate.analysis.family import judge_night
from benchgate.analysis.levels import Level
from benchgate.report.charts import load_charts, trend_charts
from benchgate.report.scales import fit, label
from benchgate.report.svg import Chart, Mark, Point, Series, draw
from tests.unit.analysis.nights import series


def chart(*series: Series, **other: object) -> Chart:
    return Chart("c1", "Decode throughput", "two arms", "users", "tok/s", series, **other)  # type: ignore[arg-type]


def parse(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_a_chart_has_a_title_a_description_and_a_marker_for_each_point() -> None:
    root = parse(draw(chart(Series("triton", (Point(1, 104), Point(64, 4379, 4300, 4450, "4,379 tok/s"))))))

    assert root.find("title").text == "Decode throughput"  # type: ignore[union-attr]
    assert root.get("role") == "img"
    ids = {element.get("id") for element in root.iter()}
    assert set((root.get("aria-labelledby") or "").split()) <= ids
    assert len(root.findall(".//circle")) == 3  # two points and the legend
    assert len(root.findall(".//path[@class='whisker']")) == 1


def test_names_and_notes_are_escaped() -> None:
    hostile = '</text><script>alert("x")</script>'

    text = draw(chart(Series(hostile, (Point(1, 2, note=hostile),)), marks=(Mark(1, hostile, 'x" onload="y'),)))

    assert "<script" not in text
    assert parse(text).find(".//text[@class='legend']").text == hostile  # type: ignore[union-attr]
    assert parse(text).find(".//*[@onload]") is None


def test_higher_values_are_drawn_higher_and_whiskers_span_the_interval() -> None:
    root = parse(draw(chart(Series("a", (Point(1, 10), Point(2, 20))), log_y=True)))

    first, second = [float(c.get("cy") or 0) for c in root.findall(".//circle")][:2]
    assert second < first


@given(
    st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=20),
    st.booleans(),
    st.booleans(),
)
def test_every_scale_holds_its_values_and_has_readable_ticks(values: list[float], log: bool, zero: bool) -> None:
    scale = fit(values, 300.0, 10.0, log=log, from_zero=zero)

    assert all(10.0 - 1e-6 <= scale(v) <= 300.0 + 1e-6 for v in values)
    ticks = scale.ticks()
    assert ticks == sorted(ticks)
    assert len(ticks) <= 9
    assert all(math.isfinite(scale(t)) for t in ticks)


def test_a_chart_without_points_is_still_an_image() -> None:
    parse(draw(chart()))


def test_tick_labels_are_short() -> None:
    assert [label(v) for v in (0, 0.05, 13.6, 4379, 16055, 2.61e6)] == ["0", "0.05", "13.6", "4379", "16.1k", "2.61M"]


def test_of_many_arms_only_the_best_and_the_worst_are_named_and_the_others_are_grey() -> None:
    made = [
        Level(
            f"arm-{i:02d}", "chat", users, None, "decode_tok_s", "published", 100.0 * i + users, None, None, 1, (), None
        )
        for i in range(1, 21)
        for users in (1, 64)
    ]

    [chart] = load_charts(made)
    text = draw(chart)

    assert [one.name for one in chart.series if not one.quiet] == [
        *("arm-01", "arm-02", "arm-03"),
        *("arm-18", "arm-19", "arm-20"),
    ]
    assert text.count('class="line quiet"') == 14
    assert "arm-10: 1: 1,001 tok/s, one run; 64: 1,064 tok/s, one run" in text
    assert "At 64 the best is arm-20 with 2,064 tok/s, at 64 the worst is arm-01 with 164 tok/s." in chart.description


def test_a_trend_says_in_words_what_its_lines_show() -> None:
    values = [1000.0] * 12 + [800.0] * 12
    one = series(values)

    [chart] = trend_charts([one], judge_night([one.until(14)]))

    assert "24 nights: 1,000 tok/s on 2026-01-01, 800 tok/s on 2026-01-24" in chart.description
    assert "REGRESSED 2026-01-13" in chart.description
