"""A run that is not in the warehouse yet is read from its artifacts, step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError
from benchgate.names import run_key
from benchgate.pages.head import DagRunState
from benchgate.pages.launch_page import log_page
from benchgate.pages.run_view import RunView, run_view
from benchgate.pages.server_log import read_tail
from benchgate.records import Approval, GateResult, LaunchRecord, PlannedLaunch
from tests.support.runs import all_published, campaign, cell_record, failed_launch, launch_record, ledger_of, run_record
from tests.unit.pages.every_page import page

RUN_ID = "manual__2026-11-30T12:00:00+00:00"
KEY = run_key("kernels", RUN_ID)
RUNNING = DagRunState("kernels", RUN_ID, "running")
SPEC = campaign()
LEDGER = ledger_of(SPEC, KEY)
FIRST, SECOND = LEDGER.launches


@pytest.fixture
def store(benchgate_home: Path) -> RunStore:
    """A planned run."""
    store = RunStore(KEY)
    record = run_record(SPEC, KEY, airflow_run_id=RUN_ID, state="running", ended_at=None)
    store.write(store.path("run.json"), record)
    store.write(store.path("ledger.json"), LEDGER)
    return store


def _look(known: DagRunState | None = RUNNING) -> RunView:
    view = run_view(None, "kernels", RUN_ID, known=known)
    assert view is not None
    return view


def _counts(view: RunView) -> dict[str, int]:
    assert view.grid is not None
    return dict(view.grid.counts)


def _write(store: RunStore, planned: PlannedLaunch, **changes: Any) -> LaunchRecord:
    record = launch_record(planned, **{"stopped_at": None, **changes})
    store.write(store.launch_path(planned.launch, "launch.json"), record)
    return record


def _words(view: RunView) -> list[str]:
    assert view.progress is not None
    return [activity.words for activity in view.progress.activities]


def test_a_planned_run_shows_its_whole_ledger(store: RunStore) -> None:
    view = _look()

    assert _counts(view) == {"planned": len(LEDGER.cells)}
    assert view.progress is not None
    assert (view.progress.done, view.progress.planned, view.progress.left_s) == (0, len(LEDGER.cells), None)
    assert [launch.state for launch in view.launches] == ["planned", "planned"]


def test_what_a_launch_is_doing_is_told_in_words(store: RunStore) -> None:
    _write(store, FIRST, end_state="starting", ready_at=None, proofs=[], needle=None)
    _write(store, SECOND, proofs=[], needle=None)
    assert _words(_look()) == ["starting the server", "reading the server's log"]

    _write(store, FIRST, end_state="starting", started_at=None, ready_at=None, proofs=[], needle=None)
    _write(store, SECOND, needle=None)
    assert _words(_look()) == ["looking at the host", "asking the needles"]


def test_two_launches_that_measure_at_once_each_show_their_own_progress(store: RunStore) -> None:
    for planned, done in ((FIRST, 3), (SECOND, 40)):
        _write(store, planned)
        cell = next(cell for cell in LEDGER.cells if cell.launch == planned.launch)
        said = {"cell": cell.cell, "done": done, "planned": 100, "tok_s": 812.5, "errors": 2, "eta_s": 61.0}
        store.write_json(store.cell_path(cell.cell, "progress.json"), said)

    view = _look()

    assert view.progress is not None
    first, second = (activity.cell for activity in view.progress.activities)
    assert first is not None
    assert second is not None
    assert (first.done, second.done) == (3, 40)
    assert (first.planned, first.tok_s, first.errors, first.left_s) == (100, 812.5, 2, 61.0)
    assert _counts(view)["running"] == 2


def test_who_may_read_logs_sees_what_a_running_server_last_said(store: RunStore) -> None:
    _write(store, FIRST)
    said = {"at": "2026-11-30T02:05:07+00:00", "lines": ["INFO up", "GET /metrics", "token hf_abcdefghijkl"]}
    store.write_json(store.launch_path(FIRST.launch, "server.log.tail.json"), said)

    seen = run_view(None, "kernels", RUN_ID, known=RUNNING, logs=True)
    withheld = _look()

    assert seen is not None
    assert seen.progress is not None
    assert withheld.progress is not None
    tail = seen.progress.activities[0].tail
    assert tail is not None
    assert (tail.at, tail.lines) == ("2026-11-30T02:05:07Z", ("INFO up", "GET /metrics", "token ***"))
    assert [one.tail for one in withheld.progress.activities] == [None]


def test_the_log_page_of_a_running_server_shows_its_last_lines_and_what_was_kept(store: RunStore) -> None:
    _write(store, FIRST)
    store.write_json(store.launch_path(FIRST.launch, "server.log.tail.json"), {"at": None, "lines": ["<b>now</b>"]})

    found = log_page(None, "kernels", RUN_ID, FIRST.launch, known=RUNNING)
    assert found is not None
    view = found.with_log(store, page=1, line=None, search=None)
    html = page("log", view)

    assert view.tail is not None
    assert 'data-live="5"' in html
    assert "&lt;b&gt;now&lt;/b&gt;" in html
    assert "No server log is kept" not in html


def test_a_server_that_stopped_has_no_last_lines_but_a_whole_log(store: RunStore) -> None:
    _write(store, FIRST, stopped_at="2026-11-30T02:30:00Z")
    store.write_json(store.launch_path(FIRST.launch, "server.log.tail.json"), {"at": None, "lines": ["old"]})

    found = log_page(None, "kernels", RUN_ID, FIRST.launch, known=RUNNING)
    assert found is not None
    view = found.with_log(store, page=1, line=None, search=None)

    assert view.tail is None
    assert "data-live" not in page("log", view)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"lines": "no"}', "null"])
def test_last_lines_that_cannot_be_read_are_unknown(store: RunStore, text: str) -> None:
    store.write_text(store.launch_path(FIRST.launch, "server.log.tail.json"), text)

    assert read_tail(store, FIRST.launch) is None


@pytest.mark.parametrize("said", ["", "{", "[]", '{"cell": "another", "done": 3}', '{"done": "many"}'])
def test_progress_that_cannot_be_read_is_unknown(store: RunStore, said: str) -> None:
    _write(store, FIRST)
    store.write_text(store.cell_path(LEDGER.cells[0].cell, "progress.json"), said)

    view = _look()

    assert view.progress is not None
    assert view.progress.activities[0].cell is not None
    assert view.progress.activities[0].cell.done is None


def test_a_measured_cell_waits_for_the_gates_and_the_next_one_runs(store: RunStore) -> None:
    _write(store, FIRST, ready_at="2026-11-30T02:04:00Z")
    mine = [cell for cell in LEDGER.cells if cell.launch == FIRST.launch]
    store.write(store.cell_path(mine[0].cell, "cell.json"), cell_record(mine[0]))

    view = _look()

    assert _counts(view) == {"measured": 1, "running": 1, "planned": len(LEDGER.cells) - 2}
    assert view.grid is not None
    running = [cell for row in view.grid.rows for box in row.boxes for cell in box if cell.state == "running"]
    # first repeats come first: the second workload's first repeat, not the first one's second
    assert [cell.repeat for cell in running] == [1]
    assert view.progress is not None
    assert view.progress.left_s is not None


def test_a_launch_that_failed_takes_its_cells_with_it_at_once(store: RunStore) -> None:
    record = failed_launch(FIRST)
    store.write(store.launch_path(FIRST.launch, "launch.json"), record)

    view = _look()

    lost = sum(cell.launch == FIRST.launch for cell in LEDGER.cells)
    assert _counts(view) == {"not_run": lost, "planned": len(LEDGER.cells) - lost}
    assert next(launch for launch in view.launches if launch.launch == FIRST.launch).failure_kind == "vocab_missing"


def test_a_run_that_airflow_ended_is_not_waited_for(store: RunStore) -> None:
    _write(store, FIRST)

    view = _look(DagRunState("kernels", RUN_ID, "failed"))

    assert view.progress is None
    assert (view.head.state, view.head.loaded) == ("failed", False)
    assert _counts(view) == {"not_run": len(LEDGER.cells)}


def test_a_run_by_hand_that_airflow_does_not_know_is_alive_until_it_ends(store: RunStore) -> None:
    assert _look(None).progress is not None

    record = run_record(SPEC, KEY, airflow_run_id=RUN_ID, state="failed", ended_at="2026-11-30T03:00:00Z")
    store.write(store.path("run.json"), record)

    assert _look(None).progress is None


def test_once_the_gates_have_spoken_their_answer_counts(store: RunStore) -> None:
    gates: GateResult = all_published(LEDGER)
    store.write(store.path("gates.json"), gates)

    assert _counts(_look()) == {"published": len(LEDGER.cells)}


def test_cells_that_nobody_asked_for_are_told_apart(store: RunStore) -> None:
    asked, left_out = LEDGER.cells[:4], LEDGER.cells[4:]
    ledger = LEDGER.model_copy(update={"cells": asked, "deselected": [cell.cell for cell in left_out]})
    store.write(store.path("ledger.json"), ledger)

    view = _look()

    assert _counts(view) == {"planned": 4, "deselected": len(left_out)}
    assert view.progress is not None
    assert view.progress.planned == 4


def test_a_run_before_its_plan_is_only_what_airflow_says(benchgate_home: Path) -> None:
    view = _look()

    assert (view.head.state, view.grid) == ("running", None)


def test_an_answer_is_shown_while_the_run_goes_on(store: RunStore) -> None:
    answer = Approval(point="changed_image", approved=True, by="ada", at="2026-11-30T02:05:00+00:00", note="h200")
    store.write(store.approval_path("on-h200"), answer)

    approval = _look().approvals[0]

    assert (approval.by, approval.at, approval.approved) == ("ada", "2026-11-30T02:05:00Z", True)


@pytest.mark.parametrize("text", ["{", "[1]", '{"point": "changed_image"}', "null"])
def test_damaged_answers_are_not_taken_for_none(store: RunStore, text: str) -> None:
    store.write_text(store.approval_path("on-h200"), text)

    with pytest.raises(BenchgateError, match=r"approvals/on-h200/answer\.json"):
        _look()


def test_a_damaged_record_is_named_and_not_taken_for_an_empty_one(store: RunStore) -> None:
    store.write_text(store.path("ledger.json"), json.dumps({"campaign": "kernels"}))

    with pytest.raises(BenchgateError, match=r"ledger\.json"):
        _look()
