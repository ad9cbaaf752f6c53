"""The views answer with the numbers that a person would compute by hand, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchgate.client.requests_file import read_requests, write_requests
from benchgate.metrics.summary import summarise
from benchgate.records import CellOutcome, CellRecord, EndState, GateResult, PlannedCell, Verdict
from benchgate.warehouse.findings import replace_findings, replace_references
from benchgate.warehouse.load import load_run
from benchgate.warehouse.retention import retain
from tests.support.runs import (
    campaign,
    cell_record,
    failed_launch,
    launch_record,
    ledger_of,
    percentiles,
    requests_file,
    summary,
)
from tests.support.warehouses import bundle, rows, with_requests

Numbers = Callable[[PlannedCell], dict[str, Any]]


def measured(ledger: Any, numbers: Numbers) -> list[CellRecord]:
    return [cell_record(cell, summary=summary(**numbers(cell))) for cell in ledger.cells]


def speed(tok_s: float, ttft: float = 80.0, tpot: float = 9.0) -> dict[str, Any]:
    return {
        "decode_tok_s": tok_s,
        "prefill_tok_s": 2 * tok_s,
        "ttft_ms": percentiles(ttft),
        "tpot_ms": percentiles(tpot),
    }


def test_comparison_divides_medians_each_metric_in_its_own_column(url: str) -> None:
    spec = campaign(repeats=3)
    ledger = ledger_of(spec)

    def numbers(cell: PlannedCell) -> dict[str, Any]:
        if cell.arm == "triton":
            return speed({1: 990.0, 2: 1000.0, 3: 5000.0}[cell.repeat], ttft=100.0, tpot=10.0)
        return speed({1: 1300.0, 2: 1360.0, 3: 1400.0}[cell.repeat], ttft=150.0, tpot=5.0)

    load_run(bundle(spec=spec, ledger=ledger, cells=measured(ledger, numbers)), url)

    found = rows(url, "SELECT * FROM arm_comparison ORDER BY workload, load_label")
    assert [(row["workload"], row["load_label"]) for row in found] == [
        ("prompt-8k", "u8"),
        ("short-chat", "u1"),
        ("short-chat", "u8"),
    ]
    for row in found:
        assert (row["arm"], row["baseline_arm"]) == ("marlin", "triton")
        assert row["decode_tok_s_ratio"] == pytest.approx(1.36)
        assert row["prefill_tok_s_ratio"] == pytest.approx(1.36)
        assert row["ttft_p50_ratio"] == pytest.approx(1.5)
        assert row["tpot_p50_ratio"] == pytest.approx(0.5)
        assert (row["n"], row["baseline_n"], row["placements"]) == (3, 3, 1)
        assert row["pairing"] == "confounded by placement"


def swapped() -> tuple[Any, Any]:
    """Both arms on both placements."""
    spec = campaign(swap_placements=True)
    ledger = ledger_of(spec)
    others = {"quad-a": "quad-b", "quad-b": "quad-a"}
    launches = [
        launch.model_copy(
            update={"placement": others[launch.placement], "launch": f"{launch.arm}@h200/{others[launch.placement]}"}
        )
        for launch in ledger.launches
    ]
    cells = [
        cell.model_copy(
            update={
                "placement": others[cell.placement],
                "launch": f"{cell.arm}@h200/{others[cell.placement]}",
                "cell": cell.cell.replace(cell.placement, others[cell.placement]),
            }
        )
        for cell in ledger.cells
    ]
    both = {"launches": [*ledger.launches, *launches], "cells": [*ledger.cells, *cells]}
    return spec, ledger.model_copy(update=both)


def test_swapped_arms_are_paired_by_placement(url: str) -> None:
    spec, ledger = swapped()

    def numbers(cell: PlannedCell) -> dict[str, Any]:
        # marlin is 1.2 x faster; quad-b is 1.5 x faster, whichever arm runs there
        return speed(1000.0 * (1.2 if cell.arm == "marlin" else 1.0) * (1.5 if cell.placement == "quad-b" else 1.0))

    load_run(bundle(spec=spec, ledger=ledger, cells=measured(ledger, numbers)), url)

    for row in rows(url, "SELECT * FROM arm_comparison"):
        assert row["pairing"] == "paired by placement"
        assert row["decode_tok_s_ratio"] == pytest.approx(1.2)
        assert (row["placements"], row["n"], row["baseline_n"]) == (2, 4, 4)


def test_unswapped_arms_of_several_placements_count_each_repeat_once(url: str) -> None:
    spec, ledger = swapped()
    # triton only on quad-a, marlin on quad-b and on a third
    third = {
        cell.cell: cell.model_copy(
            update={
                "placement": "quad-c",
                "launch": "marlin@h200/quad-c",
                "cell": cell.cell.replace("quad-a", "quad-c"),
            }
        )
        for cell in ledger.cells
        if cell.arm == "marlin" and cell.placement == "quad-a"
    }
    kept = [
        third.get(cell.cell, cell) for cell in ledger.cells if not (cell.arm == "triton" and cell.placement == "quad-b")
    ]
    launches = [launch for launch in ledger.launches if launch.launch in {cell.launch for cell in kept}]
    launches.append(
        launches[0].model_copy(update={"arm": "marlin", "placement": "quad-c", "launch": "marlin@h200/quad-c"})
    )
    ledger = ledger.model_copy(update={"launches": launches, "cells": kept})

    load_run(bundle(spec=spec, ledger=ledger), url)

    row = rows(url, "SELECT * FROM arm_comparison WHERE workload = 'prompt-8k'")[0]
    assert row["pairing"] == "confounded by placement"
    assert (row["n"], row["baseline_n"], row["placements"]) == (4, 2, 2)


@pytest.mark.parametrize(
    "different", [{"metric_definition": "2"}, {"client_name": "vllm bench"}, {"token_count_source": "tokenizer"}]
)
def test_numbers_of_different_kinds_are_not_compared(url: str, different: dict[str, str]) -> None:
    ledger = ledger_of(campaign())
    cells = measured(ledger, lambda cell: different if cell.arm == "marlin" else {})

    load_run(bundle(ledger=ledger, cells=cells), url)

    assert rows(url, "SELECT * FROM arm_comparison") == []


def test_a_burst_has_throughput_and_no_latency_in_every_view(url: str) -> None:
    ledger = ledger_of(campaign())
    burst = {
        "latency_verdict": "burst",
        "latency_reason": "4.2 tokens at a time",
        "ttft_ms": None,
        "tpot_ms": None,
        "itl_ms": None,
        "e2e_ms": None,
    }
    load_run(bundle(ledger=ledger, cells=measured(ledger, lambda cell: burst if cell.arm == "marlin" else {})), url)

    row = rows(url, "SELECT * FROM arm_comparison WHERE load_label = 'u1'")[0]
    assert (row["ttft_p50_ratio"], row["tpot_p50_ratio"]) == (None, None)
    assert row["decode_tok_s_ratio"] == 1.0
    median = rows(url, "SELECT * FROM cell_median WHERE arm = 'marlin'")[0]
    assert (median["n"], median["latency_n"], median["ttft_p50_ms"]) == (2, 0, None)


def test_simulated_numbers_are_in_no_published_view(url: str) -> None:
    ledger = ledger_of(campaign())
    launches = [launch_record(ledger.launches[0], simulated=True), launch_record(ledger.launches[1])]

    load_run(bundle(ledger=ledger, launches=launches), url)  # gates that let it through would be a fault; still

    assert {row["arm"] for row in rows(url, "SELECT DISTINCT arm FROM published_cell")} == {"marlin"}
    assert rows(url, "SELECT * FROM arm_comparison") == []
    assert {row["arm"] for row in rows(url, "SELECT DISTINCT arm FROM nightly_trend")} == {"marlin"}


def test_what_was_not_published_names_its_arm_and_reason(url: str) -> None:
    ledger = ledger_of(campaign())
    states = {
        "triton": (EndState.NOT_RUN, "vocab_missing: not seeded"),
        "marlin": (EndState.UNPUBLISHABLE, "needle 0/3"),
    }
    outcomes = [CellOutcome(cell=c.cell, state=states[c.arm][0], reason=states[c.arm][1]) for c in ledger.cells]
    outcomes[-1] = CellOutcome(cell=ledger.cells[-1].cell, state=EndState.FAILED, reason="the client died")
    refusal = Verdict(
        subject=ledger.launches[1].launch,
        subject_kind="needle_check",
        rule="needle_all_found",
        passed=False,
        observed="0 of 3",
        limit="all of n",
        reason="needle 0/3",
    )
    gates = GateResult(verdicts=[refusal], quarantine=[], outcomes=outcomes)
    launches = [failed_launch(ledger.launches[0]), launch_record(ledger.launches[1])]

    load_run(bundle(ledger=ledger, launches=launches, cells=[], gates=gates), url)

    not_run = rows(url, "SELECT DISTINCT arm, failure_kind, reason, failure_line_number FROM did_not_run")
    assert not_run == [
        {
            "arm": "triton",
            "failure_kind": "vocab_missing",
            "reason": "vocab_missing: not seeded",
            "failure_line_number": 412,
        }
    ]
    refused = rows(url, "SELECT DISTINCT arm, reason, refused_by FROM unpublishable")
    assert refused == [{"arm": "marlin", "reason": "needle 0/3", "refused_by": "needle_all_found"}]
    assert [row["reason"] for row in rows(url, "SELECT * FROM failed_cell")] == ["the client died"]
    total = rows(url, "SELECT (SELECT count(*) FROM did_not_run) + (SELECT count(*) FROM unpublishable) AS n")
    assert total[0]["n"] == 11
    assert rows(url, "SELECT * FROM published_cell") == []


def test_the_trend_puts_each_night_beside_the_one_before(url: str) -> None:
    for night, tok_s in ((1, 1000.0), (2, 1100.0), (3, 880.0)):
        run = f"kernels.night-{night}"
        ledger = ledger_of(campaign(), run)
        digest = "a" if night < 3 else "b"
        launches = [
            launch_record(p, image_digest=f"sha256:{digest}", fingerprint=f"fp1:{p.arm}{digest}")
            for p in ledger.launches
        ]

        def numbers(_cell: PlannedCell, tok_s: float = tok_s) -> dict[str, Any]:
            return speed(tok_s)

        changes = {"started_at": f"2026-11-0{night}T02:00:00Z"}
        load_run(
            bundle(run, ledger=ledger, launches=launches, cells=measured(ledger, numbers), run_changes=changes), url
        )

    found = rows(
        url,
        "SELECT * FROM nightly_trend WHERE arm = 'triton' AND workload = 'prompt-8k' ORDER BY night",
    )
    assert [str(row["night"]) for row in found] == ["2026-11-01", "2026-11-02", "2026-11-03"]
    assert [row["decode_tok_s"] for row in found] == [1000.0, 1100.0, 880.0]
    assert found[0]["decode_tok_s_change"] is None
    assert found[1]["decode_tok_s_change"] == pytest.approx(0.1)
    assert found[2]["decode_tok_s_change"] == pytest.approx(-0.2)
    assert [row["image_changed"] for row in found] == [None, 0, 1]
    assert [row["fingerprint_changed"] for row in found] == [None, 0, 1]


REFERENCES = [
    {"source": "write-up", "arm": arm, "baseline_arm": "triton", "workload": workload, "users": users} | value
    for arm, workload, users, value in (
        ("triton", "short-chat", 64, {"metric": "decode_tok_s", "value": 4379.0}),
        ("marlin", "short-chat", 64, {"metric": "decode_tok_s", "value": 5951.0}),
        ("triton", "prompt-8k", 8, {"metric": "ttft_ms", "value": 1680.0}),
        ("marlin", "prompt-8k", 8, {"metric": "ttft_ms", "value": 2660.0}),
    )
]


def test_references_compare_by_themselves_before_anything_was_measured(url: str) -> None:
    replace_references(REFERENCES, url)
    replace_references(REFERENCES, url)

    found = {row["workload"]: row for row in rows(url, "SELECT * FROM versus_reference")}
    assert found["short-chat"]["reference_ratio"] == pytest.approx(1.359, abs=1e-3)
    assert found["prompt-8k"]["reference_ratio"] == pytest.approx(1.583, abs=1e-3)
    assert found["short-chat"]["our_ratio"] is None


def test_ours_stands_beside_the_reference_of_a_source_that_the_campaign_names(url: str) -> None:
    replace_references(REFERENCES, url)
    ledger = ledger_of(campaign())
    cells = measured(ledger, lambda cell: speed(1000.0, ttft=300.0 if cell.arm == "marlin" else 200.0))

    load_run(bundle(ledger=ledger, cells=cells), url)

    row = rows(url, "SELECT * FROM versus_reference WHERE workload = 'prompt-8k'")[0]
    assert (row["our_value"], row["our_baseline_value"], row["our_ratio"]) == (300.0, 200.0, 1.5)
    assert row["run"] == "kernels.night-1"
    assert rows(url, "SELECT our_ratio FROM versus_reference WHERE workload = 'short-chat'")[0]["our_ratio"] is None


def test_percentiles_come_out_again_from_the_request_rows(url: str, tmp_path: Path) -> None:
    file = requests_file(tmp_path / "r.parquet", 37)
    records, facts = read_requests(file)
    ledger = ledger_of(campaign())
    cells = [cell_record(c, summary=summarise(records, facts)) for c in ledger.cells]
    # one stored percentile is not what the requests say
    wrong = cells[-1].summary
    assert wrong is not None
    assert wrong.ttft_ms is not None
    cells[-1] = cells[-1].model_copy(
        update={"summary": wrong.model_copy(update={"ttft_ms": wrong.ttft_ms.model_copy(update={"p99": 1.0})})}
    )

    load_run(bundle(ledger=ledger, cells=cells, requests={c.cell: file for c in ledger.cells}), url)

    found = rows(url, "SELECT * FROM request_percentile_check")
    assert len(found) == 36
    assert [(row["cell"], row["metric"]) for row in found if not row["agrees"]] == [(ledger.cells[-1].cell, "ttft")]
    good = next(row for row in found if row["agrees"] and row["metric"] == "tpot")
    assert good["recomputed_n"] == 37
    assert good["recomputed_p95_ms"] == pytest.approx(good["stored_p95_ms"], rel=1e-9)


def test_the_check_of_percentiles_stays_when_the_request_rows_go(url: str, tmp_path: Path) -> None:
    load_run(with_requests(tmp_path), url)
    before = rows(url, "SELECT * FROM request_percentile_check ORDER BY cell_id, metric")

    retain(url, nights=0, today=date(2100, 1, 1))

    assert rows(url, "SELECT count(*) AS n FROM request") == [{"n": 0}]
    assert rows(url, "SELECT * FROM request_percentile_check ORDER BY cell_id, metric") == before != []


def test_percentiles_without_any_request_behind_them_do_not_agree(url: str, tmp_path: Path) -> None:
    records, facts = read_requests(requests_file(tmp_path / "r.parquet", 37))
    no_latency = tmp_path / "n.parquet"
    write_requests(no_latency, [replace(one, first_token_at=None) for one in records], facts)
    ledger = ledger_of(campaign(repeats=1))
    cells = [cell_record(c, summary=summarise(records, facts)) for c in ledger.cells]

    load_run(bundle(ledger=ledger, cells=cells, requests={c.cell: no_latency for c in ledger.cells}), url)

    found = rows(url, "SELECT stored_n, recomputed_n, agrees FROM request_percentile_check WHERE metric = 'ttft'")
    assert [tuple(row.values()) for row in found] == [(37, 0, 0)] * len(ledger.cells)


def test_findings_are_written_read_and_replaced(url: str) -> None:
    load_run(bundle(), url)
    reversal = {
        "basis": "published",
        "kind": "between workloads",
        "arm": "marlin",
        "baseline": "triton",
        "metric": "decode_tok_s",
        "label": "significant",
        "workload": "short-chat",
        "load_label": "u8",
        "other_workload": "prompt-8k",
        "other_load_label": "u8",
        "words": "marlin is faster on short chats and slower on long prompts",
    }

    for _ in range(2):
        assert replace_findings("kernels.night-1", reversals=[reversal], url=url) == 1
    replace_findings(None, reversals=[{**reversal, "basis": "write-up"}], url=url)

    found = rows(url, "SELECT campaign, basis, words FROM reversal ORDER BY basis")
    assert [(row["campaign"], row["basis"]) for row in found] == [("kernels", "published"), (None, "write-up")]
    replace_findings("kernels.night-1", url=url)
    assert [row["basis"] for row in rows(url, "SELECT basis FROM reversal")] == ["write-up"]


def test_an_open_loop_is_told_by_its_rate(url: str) -> None:
    workloads = {"chat": {"dataset": "sharegpt", "request_rates": [2.5]}}
    spec = campaign(workloads=workloads, repeats=1)

    load_run(bundle(spec=spec), url)

    row = rows(url, "SELECT load_label, users, request_rate FROM published_cell WHERE arm = 'triton'")[0]
    assert row == {"load_label": "q2.5", "users": None, "request_rate": 2.5}
