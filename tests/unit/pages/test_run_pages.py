"""A run that is loaded: its ledger, its reasons, its launches and cells, and who is shown what."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from benchgate.artifacts import RunStore
from benchgate.pages.cell_view import cell_view
from benchgate.pages.head import DagRunState, Pending
from benchgate.pages.launch_page import launch_page
from benchgate.pages.preflight import preflight_of
from benchgate.pages.run_rows import find_run
from benchgate.pages.run_view import run_view
from benchgate.pages.task_ids import subject_of_task, telling_task
from benchgate.warehouse.values import clean_text
from tests.unit.pages.conftest import NIGHTS
from tests.unit.pages.every_page import page
from tests.unit.pages.fabricated import night, run_id_of
from tests.unit.pages.hostile import LONG, NASTY

REFUSED = 4  # a night on which a needle was lost
FAILED = 7  # a night on which a load generator was killed


def test_the_ledger_has_a_box_for_every_launch_workload_and_load(connection: Connection) -> None:
    view = run_view(connection, "kernels", run_id_of(1))

    assert view is not None
    assert view.grid is not None
    assert [(c.workload, c.load) for c in view.grid.columns] == [
        ("short-chat", "1 user"),
        ("short-chat", "8 users"),
        ("short-chat", "64 users"),
        ("prompt-8k", "1 user"),
        ("prompt-8k", "64 users"),
    ]
    assert view.grid.groups == [("short-chat", 3), ("prompt-8k", 2)]
    assert [row.launch for row in view.grid.rows] == [
        "triton@h200/quad-a",
        "triton@h200/quad-b",
        "marlin@h200/quad-a",
        "marlin@h200/quad-b",
        "flashinfer@h200/quad-a",
    ]
    assert all(len(box) == 3 for row in view.grid.rows for box in row.boxes)
    assert dict(view.grid.counts) == {"published": 60, "not_run": 15}


def test_cells_with_one_reason_are_told_once_with_the_line_that_says_so(connection: Connection) -> None:
    view = run_view(connection, "kernels", run_id_of(REFUSED))

    assert view is not None
    assert view.grid is not None
    first, second = view.grid.why
    assert (first.state, first.launch, len(first.cells), first.line) == ("not_run", "flashinfer@h200/quad-a", 15, 412)
    assert "No kernel image" in str(first.line_text)
    assert (second.state, second.refused_by, len(second.cells)) == ("unpublishable", "needle_check", 15)


def test_a_measurement_that_broke_is_a_failed_cell_and_not_a_refused_one(connection: Connection) -> None:
    view = run_view(connection, "kernels", run_id_of(FAILED))

    assert view is not None
    assert view.grid is not None
    assert view.grid.counts["failed"] == 2
    assert any("exit code 137" in why.reason for why in view.grid.why if why.state == "failed")


def test_a_launch_shows_its_proofs_with_their_lines_and_its_needles(
    connection: Connection, benchgate_home: Path
) -> None:
    store = RunStore(night(1).run.run)
    store.write_json(
        store.launch_path("triton@h200/quad-a", "preflight.json"),
        [
            {
                "check": "port",
                "ok": True,
                "message": "hf_abcdefghijkl is free",
                "remedy": None,
                "removed": ["a container"],
            }
        ],
    )

    page = launch_page(connection, "kernels", run_id_of(1), "triton@h200/quad-a")

    assert page is not None
    kernel = next(proof for proof in page.launch.proofs if proof.name == "moe_kernel")
    assert (kernel.value, kernel.evidence.line, kernel.evidence.text) == ("triton", 88, "Using triton backend")
    assert [needle.found for needle in page.launch.needles] == [True, True, True]
    assert page.note == "the default of this image"
    assert page.preflight[0].removed == ("a container",)
    assert page.preflight[0].message == "*** is free"


def test_a_preflight_that_is_damaged_or_gone_is_no_preflight(benchgate_home: Path) -> None:
    store = RunStore("run")

    assert preflight_of(store, "a@h/p") == ()
    store.write_text(store.launch_path("a@h/p", "preflight.json"), "[{")
    assert preflight_of(store, "a@h/p") == ()


def test_a_cell_shows_why_it_was_refused_and_what_it_was_on_other_nights(connection: Connection) -> None:
    key = "marlin@h200/quad-b/short-chat/u8/r1"

    view = cell_view(connection, "kernels", run_id_of(REFUSED), key)

    assert view is not None
    assert (view.state, view.refused_by) == ("unpublishable", "needle_check")
    assert [refusal.rule for refusal in view.refusals] == ["needle_check"]
    assert len(view.history) == NIGHTS
    assert [one.state for one in view.history][REFUSED] == "unpublishable"
    assert view.history[0].night == "2025-12-01"


def test_errors_of_a_cell_are_shown_by_kind(connection: Connection) -> None:
    view = cell_view(connection, "kernels", run_id_of(5), "marlin@h200/quad-a/short-chat/u64/r1")

    assert view is not None
    assert [(one.kind, one.requests, one.sample) for one in view.errors] == [("harmony_parse", 6, "unexpected tokens")]
    assert view.refusals[0].limit == "0.02"


@pytest.mark.parametrize(
    ("campaign", "run_id"),
    [
        ("other", run_id_of(20)),  # of kernels only
        ("kernels", "scheduled__2025-12-01"),
        ("kernels", ""),
        ("kernels", "../../etc/passwd"),
        ("kernels", "x' OR '1'='1"),
        ("kernels", "\x00"),
    ],
)
def test_a_run_that_the_campaign_does_not_have_is_not_found(connection: Connection, campaign: str, run_id: str) -> None:
    assert find_run(connection, campaign, run_id) is None


def test_a_run_is_not_found_under_another_campaign_whose_name_makes_the_same_key(connection: Connection) -> None:
    """``kernels`` + ``x`` and ``kern`` + ``els.x`` would be one key if names were only joined."""
    key = night(1).run.run
    head, _, tail = key.partition(".")
    assert find_run(connection, "kernels", run_id_of(1)) is not None

    assert find_run(connection, head, tail) is None  # the key's own spelling of the run id
    assert find_run(connection, f"{head}.{tail}", "") is None


@pytest.mark.parametrize("key", ["nobody@h200/quad-a", "../../secrets", "triton@h200/quad-a/", ""])
def test_a_launch_or_cell_that_the_run_does_not_have_is_not_found(connection: Connection, key: str) -> None:
    assert launch_page(connection, "kernels", run_id_of(1), key) is None
    assert cell_view(connection, "kernels", run_id_of(1), key) is None


def test_a_run_that_only_airflow_knows_says_so(connection: Connection) -> None:
    known = DagRunState("kernels", "manual__1", "queued")

    question = Pending("kernels", "manual__1", "approve", "measure it?")
    view = run_view(connection, "kernels", "manual__1", known=known, pending=[question])

    assert view is not None
    assert (view.head.state, view.head.loaded, view.grid) == ("queued", False, None)
    assert view.pending[0].subject == "measure it?"


def test_a_reversal_is_one_sentence_for_a_metric_with_all_its_places(
    warehouse_url: str, connection: Connection
) -> None:
    from benchgate.analysis.findings_of_run import find_and_write

    connection.close()
    find_and_write(night(2).run.run, warehouse_url)

    from benchgate.pages.reading import warehouse

    with warehouse(warehouse_url) as reopened:
        view = run_view(reopened, "kernels", run_id_of(2))

    assert view is not None
    decode = [line.words for line in view.reversals if line.metric == "decode_tok_s"]
    assert len(decode) == 1
    assert "behind at prompt-8k u64" in decode[0]
    assert all(place in decode[0] for place in ("short-chat u1", "short-chat u8", "short-chat u64", "prompt-8k u1"))


def test_secrets_in_a_campaign_file_are_masked(connection: Connection) -> None:
    view = run_view(connection, "hostile", "manual__hostile")

    assert view is not None
    assert NASTY.strip() in view.description or "onerror" in view.description
    assert view.head.expectation_reason == clean_text(LONG)  # without what a database cannot hold


def test_every_task_of_a_launch_leads_to_it_and_every_measuring_task_to_its_cell(connection: Connection) -> None:
    found = find_run(connection, "kernels", run_id_of(1))

    assert found is not None

    def subject(task: str) -> tuple[str, str] | None:
        return subject_of_task(task, found.launches, found.cells)

    assert subject("plan") is None
    assert subject("seed_h200.seed_model") is None
    assert subject("triton--h200--quad-a.wait_ready") == ("launch", "triton@h200/quad-a")
    assert subject("triton--h200--quad-a.measure_short-chat_u8_r2") == ("cell", "triton@h200/quad-a/short-chat/u8/r2")
    assert subject("triton--h200--quad-a.measure_short-chat_u9_r2") == ("launch", "triton@h200/quad-a")
    assert subject("nobody--h200--quad-a.wait_ready") is None


def test_a_run_that_airflow_does_not_have_leads_nowhere_in_it(connection: Connection) -> None:
    of_airflow = DagRunState("kernels", run_id_of(1), "success")

    gone = run_view(connection, "kernels", run_id_of(1))
    there = run_view(connection, "kernels", run_id_of(1), known=of_airflow)

    assert "data-airflow" not in page("run", gone)
    assert there is not None
    assert page("run", there).count("Task log in Airflow") == len(there.launches)


@pytest.mark.parametrize(
    ("kind", "task"),
    [("image_missing", "preflight"), ("seed_failed", "preflight"), ("preflight", "preflight"),
     ("lease_held", "start_server"), ("kv_too_small", "wait_ready")],
)  # fmt: skip
def test_a_launch_that_failed_leads_to_the_task_that_says_why(kind: str, task: str) -> None:
    launch = {"arm": "a", "host": "h", "placement": "p", "end_state": "failed", "failure_kind": kind, "started_at": "t"}

    assert telling_task(launch) == f"a--h--p.{task}"


@pytest.mark.parametrize("kind", ["bad_flag", "port_in_use", "gpu_memory_in_use", "lease_held", "killed"])
def test_a_launch_that_never_started_leads_to_its_preflight(kind: str) -> None:
    launch = {
        "arm": "a",
        "host": "h",
        "placement": "p",
        "end_state": "failed",
        "failure_kind": kind,
        "started_at": None,
    }

    assert telling_task(launch) == "a--h--p.preflight"
