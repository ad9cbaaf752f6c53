"""The gates with Great Expectations for real: one run a fault, each refused by the rule that is there for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgate.gates import expectations, run_gates
from benchgate.gates.suites import CELL, SUITES
from benchgate.records import (
    CellRecord,
    EndState,
    Evidence,
    Failure,
    FailureKind,
    GateResult,
    LaunchRecord,
    Proof,
    ServerMetrics,
    ServerMetricsSnapshot,
    TokenTotals,
)
from tests.support.runs import (
    campaign,
    cell_record,
    failed_launch,
    launch_record,
    ledger_of,
    needle_check,
    percentiles,
    summary,
)

SPEC = campaign()
LEDGER = ledger_of(SPEC)
FIRST_LAUNCH, FIRST_CELL = LEDGER.launches[0], LEDGER.cells[0]


def judge(launch: LaunchRecord | None = None, cell: CellRecord | None = None, **options: Any) -> GateResult:
    """A clean run, but for the first launch or the first cell."""
    launches = [launch_record(planned) for planned in LEDGER.launches]
    cells = [cell_record(planned) for planned in LEDGER.cells]
    if launch is not None:
        launches[0] = launch
    if cell is not None:
        cells[0] = cell
    return run_gates(options.pop("spec", SPEC), options.pop("ledger", LEDGER), launches, cells, **options)


def refused(result: GateResult, severity: str = "critical") -> dict[str, set[str]]:
    """Rule -> subjects it refused."""
    found: dict[str, set[str]] = {}
    for verdict in result.verdicts:
        if not verdict.passed and verdict.severity == severity:
            found.setdefault(verdict.rule, set()).add(verdict.subject)
    return found


def states(result: GateResult) -> dict[str, set[EndState]]:
    """Arm -> end states of its cells."""
    found: dict[str, set[EndState]] = {}
    for outcome in result.outcomes:
        found.setdefault(outcome.cell.split("@")[0], set()).add(outcome.state)
    return found


def test_a_clean_run_is_published_and_every_rule_answered() -> None:
    result = judge()

    assert refused(result) == {}
    assert states(result) == {"triton": {EndState.PUBLISHED}, "marlin": {EndState.PUBLISHED}}
    assert not result.quarantine
    rules = {suite.name: len(suite.rules) for suite in SUITES}
    assert len(result.verdicts) == 2 * rules["launch"] + 2 * rules["needle_check"] + 12 * rules["cell"]


def proofs(value: str) -> list[Proof]:
    return [Proof(name="moe_kernel", value=value, evidence=Evidence(line=88, text=f"Using {value} backend"))]


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        ({"proofs": []}, "proven", "not proven: moe_kernel (asked for triton)"),
        ({"proofs": proofs("marlin")}, "proven_as_asked", "moe_kernel is marlin, not triton (line 88"),
        ({"fingerprint": None, "engine_version": None}, "fingerprint_complete", "engine_version unknown"),
        ({"simulated": True}, "not_simulated", "a stand-in served"),
        ({"needle": None}, "needle_check_run", "no needle check was run on this launch"),
        ({"needle": needle_check(found=2)}, "needle_all_found", "needle check 2/3: nothing came back from depth 0.9"),
        ({"needle": needle_check(depths=(0.1, 0.5), found=2)}, "needle_all_depths", "at depth 0.9"),
        ({"needle": needle_check(depths=(), found=0)}, "needle_all_found", "no needle check was run"),
        ({"needle": needle_check(counted=2000)}, "needle_context", "the shortest document had 2000 tokens"),
    ],
)
def test_a_refused_launch_refuses_its_cells_and_no_others(changes: dict[str, Any], rule: str, words: str) -> None:
    result = judge(launch=launch_record(FIRST_LAUNCH, **changes))

    assert refused(result)[rule] == {FIRST_LAUNCH.launch}
    assert states(result) == {"triton": {EndState.UNPUBLISHABLE}, "marlin": {EndState.PUBLISHED}}
    assert words in str(result.outcomes[0].reason)
    assert rule in {name for row in result.quarantine for name in row.rules}


def test_a_server_that_died_later_is_told_and_takes_nothing_from_what_was_measured_before() -> None:
    died = Failure(kind=FailureKind.HOST_OOM, reason="the host ran out of memory")

    result = judge(launch=launch_record(FIRST_LAUNCH, failure=died))

    [told] = [verdict for verdict in result.verdicts if verdict.rule == "stayed_up" and not verdict.passed]
    assert (told.subject, told.severity) == (FIRST_LAUNCH.launch, "warning")
    assert told.reason == "the server died after it had been ready: host_oom: the host ran out of memory"
    assert states(result) == {"triton": {EndState.PUBLISHED}, "marlin": {EndState.PUBLISHED}}


def test_without_a_needle_gate_nothing_is_published() -> None:
    result = judge(spec=campaign(gates={}))

    assert len(refused(result)["needle_gate_set"]) == 2
    assert states(result) == {"triton": {EndState.UNPUBLISHABLE}, "marlin": {EndState.UNPUBLISHABLE}}


def test_an_unknown_context_length_stays_unknown_and_refuses_nothing() -> None:
    assert refused(judge(launch=launch_record(FIRST_LAUNCH, needle=needle_check(counted=None)))) == {}


def counters(prompt: float, completion: float) -> dict[str, Any]:
    before = ServerMetricsSnapshot(at="2026-11-30T02:00:00Z", prompt_tokens_total=0, generation_tokens_total=0)
    after = ServerMetricsSnapshot(
        at="2026-11-30T02:01:00Z", prompt_tokens_total=prompt, generation_tokens_total=completion
    )
    return {
        "server_metrics": ServerMetrics(before=before, after=after),
        "client_totals": TokenTotals(prompt_tokens=20_000, completion_tokens=10_000, unaccounted=0),
    }


@pytest.mark.parametrize(
    ("changes", "rule", "words"),
    [
        (
            {"summary": summary(errors=100, error_rate=0.5, error_kinds={"timeout": 100})},
            "error_rate",
            "error rate 50 % is above 2 %; most: 100 x timeout",
        ),
        ({"summary": summary(error_rate=None)}, "error_rate", "the error rate is unknown"),
        (
            {"summary": summary(completed=0, completion_tokens=None, decode_tok_s=None, prefill_tok_s=None)},
            "min_completed",
            "0 requests completed, 1 are needed",
        ),
        ({"summary": summary(token_count_source="requested")}, "token_count_source", "counted by requested"),
        ({"summary": summary(token_count_source="unknown")}, "token_count_source", "counted by unknown"),
        ({"summary": summary(client_version="")}, "says_who_measured", "cannot be compared"),
        ({"summary": summary(stopped_by="interrupt")}, "ran_to_its_end", "stopped by interrupt"),
        (
            {"summary": summary(warm_verdict="not_warm", warm_reason="2 kernels compiled")},
            "warm",
            "the server was not warm: 2 kernels compiled",
        ),
        ({"summary": summary(latency_verdict="burst")}, "latency_stated", "yet ttft_ms"),
        ({"summary": summary(duration_s=-1.0)}, "in_range", "duration_s is -1"),
        ({"summary": None}, "has_summary", "has no summary"),
        ({"users": 64}, "planned", "users is 64, planned 1"),
        (counters(20_000, 12_000), "token_totals_agree", "completion 16.7 %, allowed 1 %"),
    ],
)
def test_a_refused_cell_is_unpublishable_and_its_neighbours_are_not(
    changes: dict[str, Any], rule: str, words: str
) -> None:
    result = judge(cell=cell_record(FIRST_CELL, **changes))

    assert refused(result)[rule] == {FIRST_CELL.cell}
    ended = {outcome.cell: outcome for outcome in result.outcomes}
    assert ended[FIRST_CELL.cell].state is EndState.UNPUBLISHABLE
    assert words in str(ended[FIRST_CELL.cell].reason)
    assert sum(outcome.state is EndState.PUBLISHED for outcome in result.outcomes) == len(LEDGER.cells) - 1
    assert result.quarantine[0].row["cell"] == FIRST_CELL.cell


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        (
            {
                "summary": summary(
                    latency_verdict="burst",
                    latency_reason="4.2 tokens at a time",
                    ttft_ms=None,
                    tpot_ms=None,
                    itl_ms=None,
                    e2e_ms=None,
                )
            },
            "latency_valid",
        ),
        ({"summary": summary(cut_off=60)}, "cut_off_share"),
        ({"summary": summary(warm_verdict=None)}, None),
        ({"summary": summary(token_count_source="tokenizer")}, None),
        (counters(20_000, 10_050), None),
    ],
)
def test_what_is_recorded_and_not_refused(changes: dict[str, Any], warning: str | None) -> None:
    result = judge(cell=cell_record(FIRST_CELL, **changes))

    assert refused(result) == {}
    assert {outcome.state for outcome in result.outcomes} == {EndState.PUBLISHED}
    if warning is not None:
        assert refused(result, "warning")[warning] == {FIRST_CELL.cell}


def test_a_wait_that_every_wave_of_a_cell_has_is_seen_beside_a_heavier_load() -> None:
    result = judge(cell=cell_record(FIRST_CELL, summary=summary(ttft_ms=percentiles(500.0))))

    assert refused(result) == {}
    assert refused(result, "warning")["ttft_grows_with_load"] == {FIRST_CELL.cell}
    warned = next(v for v in result.verdicts if v.rule == "ttft_grows_with_load" and not v.passed)
    assert "TTFT p50 was 500 ms with 1 user and 80 ms with 8 users, in the same launch" in warned.reason


def test_an_error_limit_holds_for_the_workloads_it_names() -> None:
    gates = {"needle": {"context_tokens": 8192}, "error_rate": {"max": 0.0, "workloads": ["prompt-8k"]}}
    tenth = summary(errors=10, error_rate=10 / 110, error_kinds={"timeout": 10})
    cells = [cell_record(planned, summary=tenth) for planned in LEDGER.cells]

    result = run_gates(campaign(gates=gates), LEDGER, [launch_record(p) for p in LEDGER.launches], cells)

    assert {cell.split("/")[2] for cell in refused(result)["error_rate"]} == {"prompt-8k"}


def test_a_cell_with_two_records_is_refused_whichever_is_better() -> None:
    cells = [cell_record(planned) for planned in LEDGER.cells] + [cell_record(FIRST_CELL)]

    result = run_gates(SPEC, LEDGER, [launch_record(p) for p in LEDGER.launches], cells)

    assert refused(result) == {"measured_once": {FIRST_CELL.cell}}


def test_a_record_nobody_planned_is_quarantined_and_ends_nowhere() -> None:
    stray = cell_record(FIRST_CELL, cell="triton@h200/quad-a/short-chat/u512/r1", users=512)
    cells = [*(cell_record(planned) for planned in LEDGER.cells), stray]

    result = run_gates(SPEC, LEDGER, [launch_record(p) for p in LEDGER.launches], cells)

    assert [row.subject for row in result.quarantine] == [stray.cell]
    assert len(result.outcomes) == len(LEDGER.cells)


def test_a_run_in_which_nothing_started_needs_no_great_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_validator(*_args: object) -> None:
        raise AssertionError("seconds of import for nothing")

    monkeypatch.setattr("benchgate.gates.decide.Validator", no_validator)

    result = run_gates(SPEC, LEDGER, [failed_launch(planned) for planned in LEDGER.launches], [])

    assert states(result) == {"triton": {EndState.NOT_RUN}, "marlin": {EndState.NOT_RUN}}
    assert not result.verdicts


@pytest.mark.parametrize("where", ["_run", "__init__"])
def test_great_expectations_that_breaks_publishes_nothing(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def broken(*_args: object, **_kw: object) -> None:
        raise RuntimeError("no such metric")

    monkeypatch.setattr(expectations.Validator, where, broken)

    result = judge()

    assert {outcome.state for outcome in result.outcomes} == {EndState.UNPUBLISHABLE}
    assert "no such metric" in str(result.outcomes[0].reason)


def test_a_column_that_is_missing_refuses_its_rule_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    without: Callable[[Any], Any] = expectations.frame

    def lost(rows: Any, columns: Any) -> Any:
        return without(rows, {name: kind for name, kind in columns.items() if name != "warm_verdict"})

    monkeypatch.setattr(expectations, "frame", lost)

    result = judge()

    assert set(refused(result)) == {"warm"}
    assert len(refused(result)["warm"]) == len(LEDGER.cells)
    assert "could not be evaluated" in str(result.outcomes[0].reason)


def test_what_a_server_said_is_text_in_the_pages_never_markup(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)> & $name"
    cell = cell_record(FIRST_CELL, summary=summary(stopped_by=hostile))

    result = judge(cell=cell, report_dir=tmp_path)

    pages = "".join(page.read_text() for page in (tmp_path / "docs").rglob("*.html"))
    assert "onerror" in pages
    assert "<img src=x" not in pages
    assert f"the load was stopped by {hostile}" in str(result.outcomes[0].reason)  # whoever shows it escapes it


def test_the_report_is_whole_readable_and_quiet(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Any) -> None:
    with caplog.at_level(logging.INFO):
        judge(cell=cell_record(FIRST_CELL, summary=summary(stopped_by="interrupt")), report_dir=tmp_path)

    report = json.loads((tmp_path / "validation.json").read_text())
    assert report["great_expectations"].startswith("1.")
    assert report["launch"]["success"] is True
    assert report["cell"]["success"] is False
    asked = {one["expectation_config"]["meta"]["rule"] for one in report["cell"]["results"]}
    assert asked == {rule.name for rule in CELL.rules}
    pages = list((tmp_path / "docs").rglob("*.html"))
    assert {"index.html", "cell.html", "launch.html", "needle_check.html"} <= {page.name for page in pages}
    assert not any("https://cdn" in page.read_text() for page in pages)
    assert "Calculating Metrics" not in capfd.readouterr().err
    assert not [record for record in caplog.records if record.name.startswith("great_expectations")]
