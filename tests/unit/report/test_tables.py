from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from benchgate.analysis.compare import compare
from benchgate.analysis.levels import levels
from benchgate.report.tables import Table, comparison_table, level_table, number
from tests.unit.analysis.fabricate import cell


def kernels(repeats: int = 2) -> list[object]:
    rows = []
    for arm, decode, ttft in (("triton", 4379.0, 120.0), ("marlin", 5951.0, 100.0)):
        for r in range(1, repeats + 1):
            rows.append(cell(arm, repeat=r, values={"decode_tok_s": decode * (1 + r / 1000), "ttft_p50_ms": ttft + r}))
    return rows


def test_the_comparison_table_keeps_each_metric_in_its_own_column() -> None:
    text = comparison_table(compare(kernels())).text()  # type: ignore[arg-type]

    assert "TTFT p50" in text
    assert "decode tok/s" in text
    assert "1.36x [" in text
    assert "faster" in text
    assert "Pairing: same placement." in text


def test_single_runs_are_shown_without_an_interval() -> None:
    text = comparison_table(compare(kernels(1))).text()  # type: ignore[arg-type]

    assert "1.36x one run" in text
    assert "[" not in text.replace("[1]", "")


def test_an_unknown_latency_is_a_dash_and_never_zero() -> None:
    rows = [cell("a", values={"decode_tok_s": 10.0}), cell("b", values={"decode_tok_s": 10.0, "ttft_p50_ms": 5.0})]

    line = next(line for line in level_table(levels(rows)).text().splitlines() if " a " in line)

    assert "–" in line
    assert " 0" not in line.replace("10.0", "")


def test_refused_cells_stand_in_a_table_that_says_so() -> None:
    rows = [cell(arm, v, end_state="unpublishable") for arm, v in (("a", 1.0), ("b", 2.0))]

    assert comparison_table(compare(rows)).rows == ()
    assert "not for quoting" in comparison_table(compare(rows), basis="unpublishable").title
    assert len(comparison_table(compare(rows), basis="unpublishable").rows) == 1


def test_no_value_can_drive_the_terminal_or_break_the_markdown() -> None:
    table = Table("t", ("a", "b"), (("\x1b[31mred\nnew | pipe", "<script>alert(1)</script>"),))

    assert "\x1b" not in table.text()
    assert len(table.text().splitlines()) == 4
    assert "<script" not in table.markdown()
    assert "new \\| pipe" in table.markdown()


@given(st.lists(st.tuples(st.text(), st.text()), min_size=1, max_size=5))
def test_every_table_has_one_line_a_row_whatever_the_text(rows: list[tuple[str, str]]) -> None:
    table = Table("title", ("one", "two"), tuple(rows))

    assert len(table.text().split("\n")) == len(rows) + 4
    assert len(table.markdown().split("\n")) == len(rows) + 5


def test_numbers_keep_three_digits_and_unknown_is_not_zero() -> None:
    assert [number(v) for v in (5951.4, 13.62, 5.2, 0.104, 0.0, None)] == ["5,951", "13.6", "5.20", "0.104", "0", "–"]
    assert number(0.108, "share") == "10.80 %"
