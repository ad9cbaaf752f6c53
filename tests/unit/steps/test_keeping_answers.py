"""A person's answer is in the warehouse when the run's load is done: whatever came first, however often it is done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchgate.artifacts import RunStore
from benchgate.errors import DamagedArtifact
from benchgate.records import Approval
from benchgate.steps import publishing
from benchgate.steps.approving import answer_to, asks_before_announcing, keep_approval
from benchgate.steps.context import CampaignRun
from benchgate.warehouse import load as loading
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.runs import all_published, campaign, cell_record, launch_record, ledger_of, run_record
from tests.support.warehouses import bundle, rows, snapshot

KEY = "kernels.tonight"
SPEC = campaign()
YES = Approval(point="changed_image", approved=True, by="ada", at="2026-11-30T02:05:00+00:00", note="h200")
NO = Approval(point="changed_image", approved=False, by="bob", at="2026-11-30T02:06:00+00:00", note="a100")
NOBODY = Approval(point="regression", approved=False, by=None, at="2026-11-30T22:06:00+00:00")


@pytest.fixture
def url(tmp_path: Path) -> str:
    """An empty warehouse."""
    made = f"sqlite:///{tmp_path / 'warehouse.db'}"
    migrate(made)
    return made


@pytest.fixture
def run(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> CampaignRun:
    """A run that is measured and judged, and not loaded yet."""
    monkeypatch.setattr(CampaignRun, "campaign", SPEC)
    store, ledger = RunStore(KEY), ledger_of(SPEC, KEY)
    store.write(store.path("run.json"), run_record(SPEC, KEY, airflow_run_id="tonight"))
    store.write(store.path("ledger.json"), ledger)
    store.write(store.path("gates.json"), all_published(ledger))
    for launch in ledger.launches:
        store.write(store.launch_path(launch.launch, "launch.json"), launch_record(launch))
    for cell in ledger.cells:
        store.write(store.cell_path(cell.cell, "cell.json"), cell_record(cell))
    return CampaignRun(KEY)


def _load(url: str) -> None:
    publishing.load(CampaignRun(KEY), url=url, say=lambda _: None)


def _answers(url: str) -> list[tuple[Any, ...]]:
    query = "SELECT point, approved, approved_by, note FROM approval ORDER BY answered_at"
    return [tuple(row.values()) for row in rows(url, query)]


ROWS = {
    "yes": ("changed_image", 1, "ada", "h200"),
    "no": ("changed_image", 0, "bob", "a100"),
    "nobody": ("regression", 0, None, None),
}


def test_answers_that_were_given_first_come_with_the_load(run: CampaignRun, url: str) -> None:
    keep_approval(KEY, "on-h200", YES, url)
    keep_approval(KEY, "on-a100", NO, url)
    assert _answers(url) == []

    _load(url)

    assert _answers(url) == [ROWS["yes"], ROWS["no"]]


def test_an_answer_to_a_loaded_run_is_added_once(run: CampaignRun, url: str) -> None:
    _load(url)

    keep_approval(KEY, "of-the-report", NOBODY, url)
    keep_approval(KEY, "of-the-report", NOBODY, url)

    assert _answers(url) == [ROWS["nobody"]]


@pytest.mark.parametrize("loaded_before", [False, True])
def test_an_answer_that_is_given_while_the_load_goes_on_is_not_lost(
    run: CampaignRun, url: str, monkeypatch: pytest.MonkeyPatch, loaded_before: bool
) -> None:
    if loaded_before:
        _load(url)
        store = run.store
        first = run.ledger.cells[0]
        store.write(store.cell_path(first.cell, "cell.json"), cell_record(first, dataset="another"))

    def answered_meanwhile(bundle: Any, url: str | None = None) -> Any:
        keep_approval(KEY, "on-h200", YES, url)  # the bundle was read before, and knows nothing of it
        return load_run(bundle, url)

    monkeypatch.setattr(loading, "load_run", answered_meanwhile)
    _load(url)

    assert _answers(url) == [ROWS["yes"]]


def test_loading_again_keeps_every_answer_and_doubles_none(run: CampaignRun, url: str) -> None:
    keep_approval(KEY, "on-h200", YES, url)
    _load(url)
    keep_approval(KEY, "of-the-report", NOBODY, url)
    expected = [ROWS["yes"], ROWS["nobody"]]
    assert _answers(url) == expected

    _load(url)
    before = snapshot(url)["approval"]
    _load(url)

    assert _answers(url) == expected
    assert snapshot(url)["approval"] == before


def test_answers_about_two_hosts_at_once_are_both_kept(run: CampaignRun, url: str) -> None:
    given: dict[str, Approval] = {
        f"host-{number}": YES.model_copy(update={"note": f"host-{number}"}) for number in range(16)
    }
    keep: Callable[[str], None] = lambda question: keep_approval(KEY, question, given[question], url)  # noqa: E731

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(keep, given))
    _load(url)

    assert {row[3] for row in _answers(url)} == set(given)


def test_an_answer_is_found_by_its_question(run: CampaignRun, url: str) -> None:
    keep_approval(KEY, "on-h200", YES, url)

    assert answer_to(KEY, "on-h200") == YES
    assert answer_to(KEY, "on-a100") is None


def test_a_damaged_answer_is_not_taken_for_none(run: CampaignRun, url: str) -> None:
    store = run.store
    store.write_text(store.approval_path("on-h200"), '{"point": "changed_image"')

    with pytest.raises(DamagedArtifact, match=r"approvals/on-h200/answer\.json"):
        answer_to(KEY, "on-h200")
    with pytest.raises(DamagedArtifact):
        _load(url)


@pytest.mark.parametrize(
    ("written", "asks"),
    [
        (campaign(approvals={"regression": True}).model_dump_json(exclude_unset=True), True),
        (campaign(approvals={"changed_image": True}).model_dump_json(exclude_unset=True), False),
        (campaign().model_dump_json(exclude_unset=True), False),
        ("", False),  # an imported run
        ("campaign: kernels\nof_another_version: 1\napprovals: {regression: true}\n", True),
        ("campaign: kernels\nof_another_version: 1\n", False),
    ],
)
def test_whether_a_campaign_asks_is_told_by_the_warehouse(
    url: str, benchgate_home: Path, written: str, asks: bool
) -> None:
    load_run(bundle(KEY, run_changes={"campaign_yaml": written}), url)  # and there is no artifact of this run

    assert asks_before_announcing(KEY, url) is asks
