"""What Great Expectations said, read without it: whatever is not a clear pass of a row refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.gates.expectations import read_answer
from benchgate.gates.suites import LAUNCH

ROWS = [{"launch": "triton@h200/quad-a"}, {"launch": "marlin@h200/quad-b"}]
RULES = [rule.name for rule in LAUNCH.rules]
FINE = {"raised_exception": False, "exception_traceback": None, "exception_message": None}


def answer(rule: str, *, success: Any = True, result: Any = None, exception: Any = FINE) -> dict[str, Any]:
    return {
        "success": success,
        "expectation_config": {"meta": {"rule": rule}},
        "result": {} if result is None else result,
        "exception_info": exception,
    }


def clean(**replaced: dict[str, Any]) -> dict[str, Any]:
    return {"results": [replaced.get(rule, answer(rule)) for rule in RULES]}


def test_all_pass() -> None:
    read = read_answer(LAUNCH, ROWS, clean())

    assert not any(read.refused.values())
    assert not read.broken


def test_results_may_come_in_any_order() -> None:
    result = clean(proven=answer("proven", success=False, result={"unexpected_index_list": [{"row": 1}]}))
    result["results"].reverse()

    assert read_answer(LAUNCH, ROWS, result).refused["proven"] == {1}


@pytest.mark.parametrize(
    "broken",
    [
        answer("proven", success=False, exception={"raised_exception": True, "exception_message": "boom"}),
        # a missing column is reported by metric
        answer("proven", success=False, exception={"metric": {"exception_message": "boom", "raised_exception": True}}),
        answer("proven", success=False, exception={"metric": {"exception_message": "boom"}}),
        # an exception refuses, whatever success says
        answer("proven", success=True, exception={"raised_exception": True, "exception_message": "boom"}),
        answer("proven", success=False, result={}),
        answer("proven", success=None),
        answer("proven", success=False, result={"unexpected_index_list": []}),
        answer("proven", success=False, result={"unexpected_index_list": [{"launch": "x"}]}),
        answer("proven", success=False, result={"unexpected_index_list": [{"row": 7}]}),
        answer("somebody_elses_rule"),
    ],
)
def test_what_cannot_be_read_refuses_every_row(broken: dict[str, Any]) -> None:
    read = read_answer(LAUNCH, ROWS, clean(proven=broken))

    assert read.refused["proven"] == {0, 1}
    assert read.broken["proven"]
    assert not read.refused["not_simulated"]


@pytest.mark.parametrize("result", [{}, {"results": None}, {"results": []}, {"results": [{}]}])
def test_an_empty_result_refuses_everything(result: dict[str, Any]) -> None:
    read = read_answer(LAUNCH, ROWS, result)

    assert all(refused == {0, 1} for refused in read.refused.values())
