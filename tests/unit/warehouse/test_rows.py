"""Records in, rows out."""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.records import (
    CellOutcome,
    EndState,
    ErrorGroup,
    ExitInfo,
    GateResult,
    GpuSample,
    HostSeeds,
    QuarantineRow,
    SeedFact,
    ServerMetrics,
    ServerMetricsSnapshot,
    Verdict,
)
from benchgate.warehouse.rows import build_rows
from tests.support.runs import (
    all_published,
    campaign,
    cell_record,
    failed_launch,
    launch_record,
    ledger_of,
    needle_check,
    summary,
)
from tests.support.warehouses import bundle

LEDGER = ledger_of(campaign())
LAUNCH, CELL = LEDGER.launches[0], LEDGER.cells[0]


def first(table: str, **options: Any) -> dict[str, Any]:
    return build_rows(bundle(**options))[table][0]


def one_cell(**changes: Any) -> dict[str, Any]:
    return first("cell", cells=[cell_record(CELL, **changes)])


def test_the_same_records_give_the_same_rows() -> None:
    assert build_rows(bundle()) == build_rows(bundle())


def test_every_planned_launch_and_cell_has_a_row_even_without_a_record() -> None:
    outcomes = [CellOutcome(cell=c.cell, state=EndState.NOT_RUN, reason="never tried") for c in LEDGER.cells]
    rows = build_rows(bundle(launches=[], cells=[], gates=GateResult(verdicts=[], quarantine=[], outcomes=outcomes)))

    assert [row["end_state"] for row in rows["launch"]] == ["not_run", "not_run"]
    assert len(rows["cell"]) == 12
    assert rows["cell"][0]["decode_tok_s"] is None


def test_a_launch_keeps_what_it_proved_and_how_it_failed() -> None:
    ready = first("launch")
    assert (ready["moe_kernel"], ready["kv_tokens"], ready["weights_gib"]) == ("triton", 2_610_000, 12.9)
    assert (ready["memory_reserved_gib"], ready["needles_found"], ready["needle_passed"]) == (120.0, 3, True)
    assert ready["fingerprint_parts"]["image_digest"] == "sha256:" + "a" * 64

    failed = first("launch", launches=[failed_launch(LAUNCH)])
    assert (failed["failure_kind"], failed["failure_line_number"]) == ("vocab_missing", 412)
    assert failed["needle_passed"] is None
    assert failed["moe_kernel"] is None

    killed = first("launch", launches=[launch_record(LAUNCH, exit=ExitInfo(exit_code=137, oom_killed=True))])
    assert (killed["exit_code"], killed["oom_killed"]) == (137, True)


def test_proofs_keep_their_line_and_needles_their_answers() -> None:
    rows = build_rows(bundle(launches=[launch_record(LAUNCH, needle=needle_check(found=2))]))

    kernel = next(row for row in rows["proof"] if row["name"] == "moe_kernel")
    assert (kernel["value_text"], kernel["value_number"]) == ("triton", None)
    assert (kernel["evidence_line_number"], kernel["evidence_line"]) == (88, "Using triton backend")
    assert next(row for row in rows["proof"] if row["name"] == "kv_tokens")["value_number"] == 2_610_000
    assert [row["found"] for row in rows["needle_check"]] == [True, True, False]


@pytest.mark.parametrize("verdict", ["burst", "client_bound", "too_few_samples", "no_stream"])
def test_a_latency_that_is_not_one_is_null_with_its_reason(verdict: str) -> None:
    # the summary contradicts itself: numbers beside a verdict that forbids them
    row = one_cell(summary=summary(latency_verdict=verdict))

    latencies = [row[name] for name in row if name.split("_")[0] in ("ttft", "ttfv", "tpot", "itl", "e2e")]
    assert latencies
    assert not any(value is not None for value in latencies)
    assert row["latency_reason"] == verdict
    assert row["decode_tok_s"] == 1000.0


def test_a_valid_latency_without_samples_says_which() -> None:
    row = one_cell(summary=summary(tpot_ms=None))

    assert row["ttft_p50_ms"] == 80.0
    assert row["latency_reason"] == "no sample of tpot"


def _snapshot(**values: float) -> ServerMetricsSnapshot:
    return ServerMetricsSnapshot(at="2026-11-30T02:10:00Z", **values)


def test_server_counters_become_their_rise() -> None:
    metrics = ServerMetrics(
        before=_snapshot(prompt_tokens_total=100, generation_tokens_total=900, prefix_cache_queries_total=0),
        after=_snapshot(prompt_tokens_total=20_100, generation_tokens_total=800, prefix_cache_queries_total=0),
        samples=[_snapshot(kv_use=0.4), _snapshot(kv_use=0.7)],
    )

    row = one_cell(server_metrics=metrics)

    assert row["server_prompt_tokens"] == 20_000
    assert row["server_completion_tokens"] is None  # it fell: the server restarted
    assert row["prefix_cache_hit_share"] is None  # no query is not a share of 0
    assert row["kv_use_max"] == 0.7


@pytest.mark.parametrize(
    ("reasons", "throttled"),
    [
        ([None], None),
        (["0x0000000000000000"], False),
        (["0x1"], False),
        (["0x4"], True),
        (["none", "sw_power_cap"], True),
    ],
)
def test_throttling_is_what_the_gpu_says(reasons: list[str | None], throttled: bool | None) -> None:
    samples = [GpuSample(at="2026-11-30T02:10:00Z", gpu="0", throttle_reasons=reason) for reason in reasons]

    assert one_cell(gpu=samples)["gpu_throttled"] is throttled


def test_errors_that_were_only_counted_have_no_sample() -> None:
    groups = [ErrorGroup(kind="timeout", count=2, near_cap=0, sample="timed out")]
    measured = cell_record(CELL, summary=summary(error_kinds={"timeout": 2, "connect": 1}, error_groups=groups))

    rows = build_rows(bundle(cells=[measured]))["error_group"]

    assert [(row["kind"], row["requests"], row["near_cap"], row["sample"]) for row in rows] == [
        ("timeout", 2, 0, "timed out"),
        ("connect", 1, None, None),
    ]


def test_refused_cells_name_the_gates_of_cell_and_launch() -> None:
    verdicts = [
        Verdict(
            subject=subject,
            subject_kind=kind,
            rule=rule,
            passed=False,
            observed="0 of 3",
            limit="all of n",
            reason="because",
            severity=severity,
        )
        for subject, kind, rule, severity in (
            (LAUNCH.launch, "needle_check", "needle_all_found", "critical"),
            (CELL.cell, "cell", "error_rate", "critical"),
            (CELL.cell, "cell", "latency_valid", "warning"),
        )
    ]
    outcomes = [
        CellOutcome(cell=c.cell, state=EndState.UNPUBLISHABLE if c is LEDGER.cells[0] else EndState.NOT_RUN, reason="x")
        for c in LEDGER.cells
    ]
    refused = QuarantineRow(
        subject=CELL.cell, subject_kind="cell", rules=["error_rate"], reason="because", row={"cell": CELL.cell, "n": 1}
    )
    rows = build_rows(
        bundle(ledger=LEDGER, gates=GateResult(verdicts=verdicts, quarantine=[refused], outcomes=outcomes))
    )

    assert rows["cell"][0]["refused_by"] == "needle_all_found, error_rate"
    assert rows["verdict"][0]["cell_id"] is None
    assert rows["verdict"][1]["cell_id"] == rows["cell"][0]["cell_id"]
    assert rows["verdict"][0]["launch_id"] == rows["launch"][0]["launch_id"]
    assert rows["verdict"][0]["limit_value"] == "all of n"
    assert rows["quarantine"][0]["row_values"] == {"cell": CELL.cell, "n": 1}


def test_cells_nobody_asked_for_are_rows_that_say_so() -> None:
    key = "extra@h200/quad-c/short-chat/u512/r1"
    ledger = LEDGER.model_copy(update={"deselected": [key]})
    published = all_published(LEDGER)
    outcomes = [*published.outcomes, CellOutcome(cell=key, state=EndState.NOT_RUN, reason="nobody asked")]

    rows = build_rows(bundle(ledger=ledger, gates=published.model_copy(update={"outcomes": outcomes})))

    assert (rows["cell"][-1]["deselected"], rows["cell"][-1]["users"], rows["cell"][-1]["arm"]) == (True, 512, "extra")
    assert rows["launch"][-1]["end_state"] == "not_run"


def test_comparisons_divide_by_the_baseline_of_the_arms_group() -> None:
    arms = {
        "a": {"placement": "h200/q1"},
        "b": {"placement": "h200/q2"},
        "c": {"placement": "h200/q3", "group": "other"},
        "d": {"placement": "h200/q4", "group": "other"},
    }
    rows = build_rows(bundle(spec=campaign(arms=arms, baseline="b")))["launch"]

    assert {row["arm"]: row["baseline_arm"] for row in rows} == {"a": "b", "b": "b", "c": "c", "d": "c"}


def test_seeds_are_kept_host_by_host() -> None:
    fact = SeedFact(kind="vocab", name="o200k_base", digest="sha256:44", source="mirror")

    rows = build_rows(bundle(seeds=[HostSeeds(host="h200", facts=[fact, fact])]))["seed"]

    assert [(row["host"], row["name"]) for row in rows] == [("h200", "o200k_base")] * 2
    assert rows[0]["seed_id"] != rows[1]["seed_id"]


def test_a_secret_in_an_error_message_reaches_no_row() -> None:
    groups = [ErrorGroup(kind="http_4xx", count=1, near_cap=0, sample="bad token hf_abcdefghijklmnop")]

    rows = build_rows(bundle(cells=[cell_record(CELL, summary=summary(error_groups=groups))]))

    assert "hf_abcdefghijklmnop" not in str(rows)
