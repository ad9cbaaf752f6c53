"""The page of the comparison: measured numbers, dashes for what was not, wrong counts in bold."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.clients import FAULTS
from benchmarks.reference_server import scenarios
from benchmarks.report import COMPLETE, is_right, render

MACHINE = {"cpu": "x", "cores": "2"}


def load(client: str, **values: Any) -> dict[str, Any]:
    return {
        "kind": "load",
        "at": "2026-11-30T12:00:00+00:00",
        "client": client,
        "version": "1",
        "machine": MACHINE,
        "load": "64",
        "repeat": 0,
        "said": "",
        "others_cpu_percent": 1.0,
        "server_late_p99_ms": 1.0,
        **values,
    }


def test_every_scenario_of_the_comparison_exists() -> None:
    assert set(FAULTS) <= set(scenarios.BY_NAME)
    assert set(FAULTS) >= COMPLETE


@pytest.mark.parametrize(
    ("name", "row", "right"),
    [
        ("steady", {"counted": "ok", "tokens": 16, "true_tokens": 16}, True),
        ("steady", {"counted": "ok", "tokens": 15, "true_tokens": 16}, False),
        ("steady", {"counted": "error"}, False),
        ("role_first", {"counted": "ok", "tokens": 1, "true_tokens": 1, "ttft_ms": 15, "true_ttft_ms": 60}, False),
        ("role_first", {"counted": "ok", "tokens": 1, "true_tokens": 1, "ttft_ms": 300, "true_ttft_ms": 60}, True),
        ("error_mid", {"counted": "ok", "tokens": 8, "true_tokens": 8}, False),
        ("error_mid", {"counted": "error"}, True),
        ("stall", {"counted": "hangs"}, False),
        ("stall", {"counted": "no row"}, None),
    ],
)
def test_a_scenario_is_counted_right_or_wrong(name: str, row: dict[str, Any], right: bool | None) -> None:
    assert is_right(name, row) is right


def test_the_page_has_medians_dashes_and_the_runs_that_were_disturbed() -> None:
    rows = [
        load("a", ttft_p50_error_ms=1.0, startup_s=1.0),
        load("a", ttft_p50_error_ms=3.0, startup_s=1.0, repeat=1),
        load("b", failed="was ended after its time; 3 of 9 requests were sent", others_cpu_percent=0.0),
        load("c", ttft_p50_error_ms=0.5, others_cpu_percent=55.0),
        {
            "kind": "faults",
            "at": "2026-11-30T12:00:00+00:00",
            "client": "a",
            "version": "1",
            "machine": MACHINE,
            "scenarios": {"steady": {"counted": "ok", "tokens": 1, "true_tokens": 1}, "stall": {"counted": "hangs"}},
        },
    ]

    page = render(rows)

    assert "| a | +2.00 |" in page
    assert "| b | – |" in page
    assert "3 of 9 requests were sent" in page
    assert "| c | 1 | 0 of 1 | 55 to 55 % of a core |" in page
    assert "| `stall` | **hangs** |" in page
    assert "Right: a 1 of 2." in page


def test_the_floor_is_shown_where_it_was_measured() -> None:
    floor = {
        "kind": "floor",
        "at": "2026-11-30T12:00:00+00:00",
        "machine": MACHINE,
        "load": "64",
        "ttft_p50_error_by_kernel_ms": 0.0123,
        "ttft_p50_error_by_own_ms": 0.15,
        "cpu_us_per_token": 12.34,
    }
    assert "| 64 | +0.01 | +0.15 | 12.3 |" in render([load("a"), floor])
    assert "It was not run here." in render([load("a")])


def test_what_was_measured_elsewhere_stands_apart() -> None:
    other = {"cpu": "y", "cores": "16"}
    here = load("a", ttft_p50_error_ms=1.0)
    there = load("a", ttft_p50_error_ms=9.0) | {"kind": "load_elsewhere", "machine": other}

    page = render([here, there])

    before, after = page.split("## Our client on a machine of its own")
    assert "| a | +1.00 |" in before
    assert "cores 16" not in before
    assert "cores 16, cpu y" in after
    assert "| a | +9.00 |" in after
