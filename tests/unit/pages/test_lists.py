"""Campaigns, nights, gaps and hosts: what is listed, in which order, and for whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.engine import Connection

from benchgate.artifacts import RunStore
from benchgate.names import run_key
from benchgate.pages import not_run_view as not_run
from benchgate.pages.campaign_view import campaign_view
from benchgate.pages.campaigns_view import campaign_names, campaigns_view
from benchgate.pages.head import DagRunState
from benchgate.pages.hosts_view import HostsView, hosts_view
from benchgate.pages.not_run_view import not_run_view
from benchgate.pages.report_view import report_view
from tests.support.runs import campaign, launch_record, ledger_of, run_record
from tests.unit.pages.conftest import NIGHTS
from tests.unit.pages.every_page import page
from tests.unit.pages.fabricated import run_id_of

INVENTORY = """
hosts:
  h200:
    docker_url: ssh://bench@h200.example.net
    placements:
      quad-a: {gpus: [0, 1, 2, 3]}
      quad-b: {gpus: [4, 5, 6, 7], port: 8001}
      half-a: {gpus: [0, 1], port: 8002}
"""


def test_every_campaign_of_the_warehouse_is_found(connection: Connection) -> None:
    assert campaign_names(connection) == ["hostile", "kernels", "other"]
    assert campaign_names(None) == []


def test_a_reader_sees_the_campaigns_that_he_may_read_and_no_other(connection: Connection) -> None:
    view = campaigns_view(connection, {"other", "without-a-run"}, in_airflow={"without-a-run"})

    assert [line.campaign for line in view.campaigns] == ["other", "without-a-run"]
    assert view.campaigns[1].last is None


def test_a_campaign_shows_its_last_run_and_its_trend(connection: Connection) -> None:
    line = campaigns_view(connection, {"kernels"}).campaigns[0]

    assert line.runs == NIGHTS
    assert line.last is not None
    assert line.last.run_id == run_id_of(NIGHTS - 1)
    assert dict(line.last.counts) == {"published": 60, "not_run": 15}
    assert line.last.verdict == "published"  # what did not run was expected not to
    assert len(line.nights) == 30
    assert line.nights[0].night < line.nights[-1].night  # type: ignore[operator]
    assert line.spark is not None
    assert line.spark.title == "decode tok/s of triton on h200/quad-a, prompt-8k u64"


def test_a_run_that_surprised_is_called_by_its_worst_cells(connection: Connection) -> None:
    nights = {night.run_id: night for night in campaign_view(connection, "kernels", page=2).nights}

    assert nights[run_id_of(4)].expectation_met is False
    assert nights[run_id_of(4)].verdict == "unpublishable"


def test_a_dag_run_that_is_not_loaded_comes_first(connection: Connection) -> None:
    recent = [
        DagRunState("kernels", "manual__now", "running", "2027-01-01T00:00:00Z"),
        DagRunState("kernels", run_id_of(NIGHTS - 1), "success", "2025-12-30T02:00:00Z"),
    ]

    line = campaigns_view(connection, {"kernels"}, recent={"kernels": recent}).campaigns[0]
    nights = campaign_view(connection, "kernels", recent=recent).nights

    assert line.last is not None
    assert (line.last.run_id, line.last.verdict, line.last.loaded) == ("manual__now", "running", False)
    assert [night.run_id for night in nights[:2]] == ["manual__now", run_id_of(NIGHTS - 1)]


def test_many_campaigns_and_many_nights_have_pages(connection: Connection) -> None:
    names = {f"campaign-{number:03d}" for number in range(45)}

    first, beyond = campaigns_view(connection, names), campaigns_view(connection, names, page=99)

    assert (len(first.campaigns), first.pages, first.total) == (20, 3, 45)
    assert (beyond.page, len(beyond.campaigns)) == (3, 5)
    second = campaign_view(connection, "kernels", page=2)
    assert (len(second.nights), second.page, second.pages) == (NIGHTS - 25, 2, 2)


@pytest.mark.parametrize("asked", [None, "nonsense", "short-chat/u9", "'; DROP TABLE cell"])
def test_a_trend_that_the_campaign_does_not_have_is_replaced_by_one_that_it_has(
    connection: Connection, asked: str | None
) -> None:
    view = campaign_view(connection, "kernels", choice=asked, metric="1; DROP TABLE cell")

    assert view.chosen is not None
    assert view.chosen.key == "short-chat/u1"
    assert view.metric == "decode_tok_s"
    assert [(one.arm, one.place) for one in view.series] == [
        ("marlin", "h200/quad-a"),
        ("marlin", "h200/quad-b"),
        ("triton", "h200/quad-a"),
        ("triton", "h200/quad-b"),
    ]


def test_a_night_that_published_nothing_is_missing_from_a_trend_and_not_zero(connection: Connection) -> None:
    view = campaign_view(connection, "kernels", choice="short-chat/u8")
    series = {(one.arm, one.place): one for one in view.series}

    lost = [number for number in range(NIGHTS) if number % 9 == 4]
    assert len(series[("marlin", "h200/quad-b")].points) == NIGHTS - len(lost)
    assert len(series[("triton", "h200/quad-b")].points) == NIGHTS
    assert all(point.repeats == 3 and point.value > 0 for one in view.series for point in one.points)


def test_what_did_not_run_is_listed_newest_first_with_its_line(connection: Connection) -> None:
    view = not_run_view(connection, {"kernels", "other"})

    assert (len(view.runs), view.newer) == (15, False)
    newest = view.runs[0]
    assert newest.run_id == run_id_of(NIGHTS - 1)
    gap = newest.launches[0]
    assert (gap.launch, gap.kind, gap.line, gap.expected) == ("flashinfer@h200/quad-a", "engine_core_died", 412, True)
    assert len(gap.cells) == 15


@pytest.mark.parametrize("look_at", [4, 15, 60])
def test_every_run_with_a_gap_is_on_one_page(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, look_at: int
) -> None:
    monkeypatch.setattr(not_run, "_LOOK_AT", look_at)
    seen, before = [], None
    while True:
        view = not_run_view(connection, {"kernels", "other"}, before=before)
        seen += [(run.night, run.campaign) for run in view.runs]
        assert view.newer is (before is not None)
        before = view.older
        if before is None:
            break

    assert len(seen) == len(set(seen)) == NIGHTS + 3
    assert [night for night, _ in seen] == sorted((night for night, _ in seen), reverse=True)


@pytest.mark.parametrize(
    "before", ["", "x", "2025-12-01", "2025-02-31.5", "2025-12-01.1; DROP TABLE cell", "0000-00-00.1", "2025-12-01.-5"]
)
def test_a_position_that_no_page_named_begins_with_the_newest(connection: Connection, before: str) -> None:
    view = not_run_view(connection, {"kernels"}, before=before)

    assert view.runs[0].run_id == run_id_of(NIGHTS - 1)
    assert view.newer is False


def test_a_position_beyond_what_a_database_counts_is_no_error(connection: Connection) -> None:
    assert not_run_view(connection, {"kernels"}, before=f"2025-12-10.{'9' * 19}").runs[0].run_id == run_id_of(9)


def test_what_did_not_run_of_a_campaign_that_one_may_not_read_is_not_listed(connection: Connection) -> None:
    view = not_run_view(connection, {"other"}, campaign="kernels")

    assert view.campaign is None
    assert {run.campaign for run in view.runs} == {"other"}
    assert not_run_view(connection, set()).runs == ()


@pytest.fixture
def inventory(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = benchgate_home / "hosts.yaml"
    file.write_text(INVENTORY)
    monkeypatch.setenv("BENCHGATE_HOSTS", str(file))
    return file


def _placements(view: HostsView) -> dict[str, object]:
    return {place.name: place for place in view.hosts[0].placements}


def test_a_host_shows_its_placements_and_their_last_launches(connection: Connection, inventory: Path) -> None:
    view = hosts_view(connection, {"kernels"})

    host = view.hosts[0]
    assert host.address == "ssh://bench@h200.example.net"
    assert host.facts["gpu_model"] == "NVIDIA H200"
    by_name = {place.name: place for place in host.placements}
    assert by_name["quad-a"].shares_with == ("h200/half-a",)
    last = by_name["quad-b"].last
    assert last is not None
    assert (last.campaign, last.run_id) == ("kernels", run_id_of(NIGHTS - 1))
    assert by_name["half-a"].last is None
    assert all(place.held is None for place in host.placements)


def _live(name: str, run_id: str, **changes: object) -> DagRunState:
    spec = campaign(campaign=name)
    key = run_key(name, run_id)
    store, ledger = RunStore(key), ledger_of(spec, key)
    store.write(store.path("run.json"), run_record(spec, key, airflow_run_id=run_id, state="running", ended_at=None))
    store.write(store.path("ledger.json"), ledger)
    record = launch_record(ledger.launches[0], **{"stopped_at": None, **changes})
    store.write(store.launch_path(record.launch, "launch.json"), record)
    return DagRunState(name, run_id, "running")


def test_a_placement_is_held_from_start_to_stop(connection: Connection, inventory: Path) -> None:
    run = _live("kernels", "manual__live")

    held = {p.name: p.held for p in hosts_view(connection, {"kernels"}, living=[run]).hosts[0].placements}

    assert held["quad-a"] is not None
    assert (held["quad-a"].campaign, held["quad-a"].arm, held["quad-a"].state) == ("kernels", "triton", "ready")
    assert held["quad-b"] is None
    _live("kernels", "manual__live", stopped_at="2026-11-30T05:00:00Z")
    after = hosts_view(connection, {"kernels"}, living=[run]).hosts[0].placements
    assert all(place.held is None for place in after)


def test_who_holds_a_placement_is_not_told_to_those_who_may_not_read_it(
    connection: Connection, inventory: Path
) -> None:
    run = _live("secret", "manual__live")

    place = hosts_view(connection, {"kernels"}, living=[run]).hosts[0].placements[0]

    assert place.held is not None
    assert (place.held.campaign, place.held.run_id, place.held.arm) == (None, None, None)


def test_a_run_with_damaged_records_does_not_hide_the_hosts(connection: Connection, inventory: Path) -> None:
    run = _live("kernels", "manual__live")
    store = RunStore(run_key("kernels", "manual__live"))
    store.write_text(store.path("ledger.json"), "{")

    assert len(hosts_view(connection, {"kernels"}, living=[run]).hosts) == 1


def test_an_inventory_that_is_wrong_is_a_message_with_its_line(connection: Connection, inventory: Path) -> None:
    inventory.write_text("hosts:\n  h200: {placement: {}}\n")

    view = hosts_view(connection, {"kernels"})

    assert view.hosts == ()
    assert f"{inventory}:2" in str(view.problem)


def test_a_reader_of_nothing_sees_no_host(connection: Connection, inventory: Path) -> None:
    assert hosts_view(connection, set()).hosts == ()


def test_everything_is_empty_while_there_is_no_warehouse(benchgate_home: Path, inventory: Path) -> None:
    assert campaigns_view(None, {"kernels"}).campaigns[0].last is None
    assert campaign_view(None, "kernels").nights == ()
    assert not_run_view(None, {"kernels"}).runs == ()
    assert hosts_view(None, {"kernels"}).hosts[0].facts == {}


def test_a_report_lists_its_runs_to_whoever_may_read_them(connection: Connection) -> None:
    keys = [run_key(name, run_id_of(1)) for name in ("kernels", "other")]

    seen = report_view(connection, {"kernels"}, "manual__report", keys=keys)

    assert [(run.campaign, run.run_id) for run in seen.runs] == [("kernels", run_id_of(1))]
    assert report_view(connection, set(), "manual__report", keys=keys).runs == ()
    assert report_view(None, {"kernels"}, "manual__report", keys=keys).runs == ()


def test_no_gap_is_not_the_same_as_no_run(connection: Connection) -> None:
    assert "No run is loaded yet" in page("not_run", not_run_view(None, {"kernels"}))
    assert "No run is loaded yet" in page("not_run", not_run_view(connection, {"never-ran"}))
