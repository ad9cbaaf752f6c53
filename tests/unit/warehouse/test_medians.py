"""Repeats folded into their median."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.warehouse.rows import build_rows
from tests.support.runs import campaign, cell_record, launch_record, ledger_of, summary
from tests.support.warehouses import bundle


def folded(values: list[float | None], **launch: Any) -> list[dict[str, Any]]:
    """Medians of one series whose repeats have these decode throughputs."""
    spec = campaign(
        repeats=len(values), workloads={"chat": {"dataset": "sharegpt", "users": [1]}}, arms=_ONE_ARM, sources=[]
    )
    ledger = ledger_of(spec)
    cells = [
        cell_record(cell, summary=summary(decode_tok_s=value)) for cell, value in zip(ledger.cells, values, strict=True)
    ]
    launches = [launch_record(planned, **launch) for planned in ledger.launches]
    return build_rows(bundle(spec=spec, ledger=ledger, cells=cells, launches=launches))["cell_median"]


_ONE_ARM = {"triton": {"placement": "h200/quad-a"}}


@given(st.lists(st.floats(min_value=1, max_value=1e6), min_size=1, max_size=7))
def test_the_median_is_the_median(values: list[float]) -> None:
    row = folded(list(values))[0]

    assert row["decode_tok_s"] == pytest.approx(median(values))
    assert row["n"] == len(values)


def test_an_unknown_value_is_left_out_and_the_repeat_still_counts() -> None:
    row = folded([1.0, None, 3.0])[0]

    assert (row["decode_tok_s"], row["n"]) == (2.0, 3)
    assert folded([None])[0]["decode_tok_s"] is None


def test_simulated_launches_have_no_median() -> None:
    assert folded([1.0, 2.0], simulated=True) == []
