"""Every planned cell ends in exactly one state, for the right reason."""

from __future__ import annotations

from typing import Any

import pytest

from benchgate.gates.outcome import NOT_ASKED, decide_outcomes, expected_outcome
from benchgate.records import CellOutcome, CellRecord, EndState, LaunchRecord, Verdict
from tests.support.runs import campaign, cell_record, failed_launch, launch_record, ledger_of

SPEC = campaign()
LEDGER = ledger_of(SPEC)
PLANNED = LEDGER.cells[0]
LAUNCH = LEDGER.launches[0]


def refusal(subject: str, reason: str = "needle check 0/3", **changes: Any) -> Verdict:
    values: dict[str, Any] = {
        "subject": subject,
        "subject_kind": "launch",
        "rule": "needle_all_found",
        "passed": False,
        "observed": None,
        "limit": None,
        "reason": reason,
    }
    return Verdict(**{**values, **changes})


def outcome(
    launch: LaunchRecord | None, record: CellRecord | None, *verdicts: Verdict, not_started: str | None = None
) -> CellOutcome:
    launches = {LAUNCH.launch: launch} if launch else {}
    cells = {PLANNED.cell: record} if record else {}
    return decide_outcomes(LEDGER, launches, cells, verdicts, not_started=not_started)[0]


def test_measured_and_let_through_is_published() -> None:
    assert outcome(launch_record(LAUNCH), cell_record(PLANNED)) == CellOutcome(
        cell=PLANNED.cell, state=EndState.PUBLISHED, reason=None
    )


def test_measured_on_a_refused_launch_is_unpublishable_with_the_launchs_reason() -> None:
    ended = outcome(launch_record(LAUNCH), cell_record(PLANNED), refusal(LAUNCH.launch), refusal(PLANNED.cell, "cold"))

    assert ended.state is EndState.UNPUBLISHABLE
    assert ended.reason == "needle check 0/3; cold"


def test_the_same_reason_is_said_once() -> None:
    twice = [refusal(LAUNCH.launch), refusal(LAUNCH.launch, rule="needle_check_run")]

    assert outcome(launch_record(LAUNCH), cell_record(PLANNED), *twice).reason == "needle check 0/3"


def test_a_warning_refuses_nothing() -> None:
    ended = outcome(launch_record(LAUNCH), cell_record(PLANNED), refusal(PLANNED.cell, severity="warning"))

    assert ended.state is EndState.PUBLISHED


@pytest.mark.parametrize("record", [None, cell_record(PLANNED, state="not_run", summary=None, reason="stopped")])
def test_not_measured_because_a_gate_stopped_the_arm_is_unpublishable(record: CellRecord | None) -> None:
    ended = outcome(launch_record(LAUNCH), record, refusal(LAUNCH.launch))

    assert ended.state is EndState.UNPUBLISHABLE
    assert ended.reason == "needle check 0/3 (not measured)"


def test_what_a_broken_off_run_never_began_is_not_run_although_its_launch_lacks_a_needle_check() -> None:
    left = cell_record(PLANNED, state="not_run", summary=None, reason="the process was killed", broken_off=True)

    ended = outcome(launch_record(LAUNCH), left, refusal(LAUNCH.launch, "no needle check was run on this launch"))

    assert (ended.state, ended.reason) == (EndState.NOT_RUN, "the process was killed")


def test_a_broken_measurement_is_failed_with_its_own_reason() -> None:
    broken = cell_record(PLANNED, state="failed", summary=None, reason="the client was killed")

    ended = outcome(launch_record(LAUNCH), broken, refusal(LAUNCH.launch))

    assert (ended.state, ended.reason) == (EndState.FAILED, "the client was killed")


def test_a_launch_that_failed_names_kind_and_line() -> None:
    ended = outcome(failed_launch(LAUNCH), None)

    assert ended.state is EndState.NOT_RUN
    assert ended.reason is not None
    assert ended.reason.startswith("vocab_missing: the vocabulary was not seeded (line 412: error downloading")


def test_a_launch_that_nobody_tried_says_so() -> None:
    assert outcome(None, None).reason == f"launch {LAUNCH.launch} was never tried"
    assert outcome(None, None, not_started="nothing new to measure").reason == "nothing new to measure"
    left_out = cell_record(PLANNED, state="not_run", summary=None, reason="seeding failed")
    assert outcome(None, left_out).reason == "seeding failed"


def test_a_server_that_died_after_it_was_ready_fails_the_cells_it_left() -> None:
    died = launch_record(LAUNCH, end_state="failed", failure=failed_launch(LAUNCH).failure)

    ended = outcome(died, None)

    assert ended.state is EndState.FAILED
    assert "died before this cell was measured: vocab_missing" in str(ended.reason)


def test_a_cell_without_any_trace_is_failed_not_forgotten() -> None:
    ended = outcome(launch_record(LAUNCH), None)

    assert (ended.state, ended.reason) == (
        EndState.FAILED,
        "the server was ready and let through, and no result of this cell was kept",
    )


def test_cells_nobody_asked_for_are_in_the_ledger_too() -> None:
    ledger = LEDGER.model_copy(update={"deselected": ["triton@h200/quad-a/short-chat/u1/r3"]})

    ended = decide_outcomes(ledger, {}, {}, [])

    assert len(ended) == len(LEDGER.cells) + 1
    assert (ended[-1].state, ended[-1].reason) == (EndState.NOT_RUN, NOT_ASKED)


def _all(state: EndState) -> list[CellOutcome]:
    return [CellOutcome(cell=cell.cell, state=state, reason="because") for cell in LEDGER.cells]


def test_arms_that_end_as_expected_make_the_run_succeed() -> None:
    arms = {
        "triton": {"placement": "h200/quad-a", "expect": "unpublishable"},
        "marlin": {"placement": "h200/quad-b", "expect": "did_not_run"},
    }
    spec = campaign(arms=arms)
    outcomes = [
        CellOutcome(
            cell=cell.cell, state=EndState.UNPUBLISHABLE if cell.arm == "triton" else EndState.NOT_RUN, reason="as told"
        )
        for cell in LEDGER.cells
    ]

    assert expected_outcome(spec, LEDGER, outcomes) == (True, [])


def test_an_arm_that_surprises_fails_the_run_also_when_it_is_better_than_expected() -> None:
    arms = {
        "triton": {"placement": "h200/quad-a"},
        "marlin": {"placement": "h200/quad-b", "expect": "did_not_run"},
    }

    ok, reasons = expected_outcome(campaign(arms=arms), LEDGER, _all(EndState.PUBLISHED))

    assert not ok
    assert reasons == ["arm marlin: did_not_run was expected of its 6 cells; 6 published (because)"]


def test_what_nobody_asked_for_surprises_nobody() -> None:
    ledger = LEDGER.model_copy(
        update={"cells": LEDGER.cells[:6], "deselected": [cell.cell for cell in LEDGER.cells[6:]]}
    )
    outcomes = [
        *(CellOutcome(cell=cell.cell, state=EndState.PUBLISHED, reason=None) for cell in ledger.cells),
        *(CellOutcome(cell=cell, state=EndState.NOT_RUN, reason=NOT_ASKED) for cell in ledger.deselected),
    ]

    assert expected_outcome(SPEC, ledger, outcomes) == (True, [])
