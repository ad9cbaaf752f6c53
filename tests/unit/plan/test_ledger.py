"""The ledger: every launch and cell of a run, named the same every night."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgate.errors import BenchgateError
from benchgate.plan import Selection, build_ledger, launches_of, measuring_order
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.load import load_campaign
from tests.unit.spec.writing import FIXTURES


@pytest.fixture(scope="module")
def kernels() -> CampaignSpec:
    return load_campaign(FIXTURES / "kernels.yaml")


def campaign(**changes: object) -> CampaignSpec:
    data = {
        "campaign": "c",
        "engine": "vllm",
        "model": {"id": "m"},
        "arms": {"a": {"placement": "h/p"}, "b": {"placement": "h/q"}},
        "workloads": {"w": {"dataset": "sharegpt", "users": [1, 4]}},
        **changes,
    }
    return CampaignSpec.model_validate(data)


def ledger_of(spec: CampaignSpec, **selection: object):
    return build_ledger(spec, "c.r", "2026-11-30T00:00:00Z", selection=Selection(**selection))


def test_each_arm_runs_on_each_placement_of_its_group_when_they_swap(kernels):
    assert [launch.launch for launch in launches_of(kernels)] == [
        "triton@h200/quad-a",
        "triton@h200/quad-b",
        "marlin@h200/quad-b",
        "marlin@h200/quad-a",
    ]


def test_without_a_swap_each_arm_runs_where_it_is_placed():
    assert [launch.launch for launch in launches_of(campaign())] == ["a@h/p", "b@h/q"]


def test_the_ledger_is_launches_by_workloads_by_loads_by_repeats(kernels):
    ledger = ledger_of(kernels)
    assert len(ledger.cells) == 4 * (3 + 2 + 2) * 3
    assert len({cell.cell for cell in ledger.cells}) == len(ledger.cells)
    assert [cell.cell for cell in ledger.cells[:4]] == [
        "triton@h200/quad-a/short-chat/u1/r1",
        "triton@h200/quad-a/short-chat/u1/r2",
        "triton@h200/quad-a/short-chat/u1/r3",
        "triton@h200/quad-a/short-chat/u8/r1",
    ]
    last = ledger.cells[-1]
    assert (last.arm, last.host, last.placement) == ("marlin", "h200", "quad-a")
    assert (last.workload, last.users, last.request_rate, last.repeat) == ("document-126k", 8, None, 3)
    assert ledger.deselected == []


def test_the_same_campaign_gives_the_same_keys_every_night(kernels):
    one, other = ledger_of(kernels), ledger_of(load_campaign(FIXTURES / "kernels.yaml"))
    assert one == other


def test_open_loop_cells_carry_their_rate():
    ledger = ledger_of(campaign(workloads={"w": {"dataset": "sharegpt", "request_rates": [0.5, 2]}}))
    assert [cell.cell for cell in ledger.cells][:2] == ["a@h/p/w/q0.5/r1", "a@h/p/w/q2/r1"]
    assert [cell.users for cell in ledger.cells] == [None] * 4


def test_what_an_arm_is_expected_to_do_is_in_the_ledger():
    arms = {"a": {"placement": "h/p", "expect": "did_not_run"}, "b": {"placement": "h/q"}}
    assert [launch.expect for launch in ledger_of(campaign(arms=arms)).launches] == ["did_not_run", "published"]


def test_groups_swap_among_themselves_only():
    arms = {
        "a": {"placement": "h/p"},
        "b": {"placement": "h/q"},
        "c": {"placement": "h/r", "group": "extras"},
        "d": {"placement": "h/r", "group": "extras"},
    }
    keys = [launch.launch for launch in launches_of(campaign(arms=arms, swap_placements=True))]
    assert keys == ["a@h/p", "a@h/q", "b@h/q", "b@h/p", "c@h/r", "d@h/r"]


class TestSelection:
    def test_what_nobody_asked_for_is_listed_and_not_forgotten(self, kernels):
        everything = [cell.cell for cell in ledger_of(kernels).cells]
        ledger = ledger_of(kernels, arms=["marlin"], workloads=["short-chat"], users=[64], repeats=1)
        assert [cell.cell for cell in ledger.cells] == [
            "marlin@h200/quad-b/short-chat/u64/r1",
            "marlin@h200/quad-a/short-chat/u64/r1",
        ]
        assert sorted([*ledger.deselected, *(cell.cell for cell in ledger.cells)]) == sorted(everything)

    def test_a_launch_without_cells_is_not_started(self, kernels):
        assert {launch.arm for launch in ledger_of(kernels, arms=["triton"]).launches} == {"triton"}

    def test_a_workload_without_the_users_asked_for_has_no_cells(self, kernels):
        ledger = ledger_of(kernels, users=[64])
        assert {cell.workload for cell in ledger.cells} == {"short-chat", "prompt-8k"}
        assert "triton@h200/quad-a/document-126k/u8/r1" in ledger.deselected

    def test_asking_for_users_leaves_open_loops_out(self):
        workloads = {
            "closed": {"dataset": "sharegpt", "users": [1]},
            "open": {"dataset": "sharegpt", "request_rates": [1]},
        }
        ledger = ledger_of(campaign(workloads=workloads), users=[1])
        assert {cell.workload for cell in ledger.cells} == {"closed"}
        assert ledger.deselected == ["a@h/p/open/q1/r1", "b@h/q/open/q1/r1"]

    def test_more_repeats_than_planned_add_cells(self, kernels):
        ledger = ledger_of(kernels, repeats=5)
        assert len(ledger.cells) == 4 * 7 * 5
        assert ledger.deselected == []

    def test_fewer_repeats_deselect_the_later_ones(self, kernels):
        ledger = ledger_of(kernels, repeats=2)
        assert {cell.repeat for cell in ledger.cells} == {1, 2}
        assert all(key.endswith("/r3") for key in ledger.deselected)

    @pytest.mark.parametrize(
        ("selection", "says"),
        [
            ({"arms": ["tritn"]}, "there is no arm 'tritn'; did you mean triton? There is: triton, marlin"),
            ({"workloads": ["chat"]}, "there is no workload 'chat'"),
            ({"users": [7]}, "there is no number of users '7'. There is: 1, 8, 64"),
            ({"arms": ["x"], "users": [7]}, "'7'"),
            ({"arms": []}, "no arm is selected"),
            ({"repeats": 0}, "repeats must be at least 1"),
            ({"workloads": ["document-126k"], "users": [64]}, "leaves no cell to measure"),
        ],
    )
    def test_a_choice_that_cannot_be_is_refused_by_name(self, kernels, selection, says):
        with pytest.raises(BenchgateError) as caught:
            ledger_of(kernels, **selection)
        assert says in str(caught.value)

    def test_what_a_form_sends_is_taken_for_what_it_means(self):
        assert Selection(arms="a", users=["64", 1], repeats="2") == Selection(arms=("a",), users=(64, 1), repeats=2)
        assert Selection(users=64) == Selection(users=[64])

    @pytest.mark.parametrize(
        "choice", [{"users": ["x"]}, {"users": [True]}, {"users": [1.5]}, {"arms": {"a": 1}}, {"repeats": "x"}]
    )
    def test_what_is_no_choice_is_refused(self, choice):
        with pytest.raises(BenchgateError, match="must be"):
            Selection(**choice)

    @settings(max_examples=100, deadline=None)
    @given(
        arms=st.none() | st.sets(st.sampled_from(["triton", "marlin"]), min_size=1).map(sorted),
        workloads=st.none()
        | st.sets(st.sampled_from(["short-chat", "prompt-8k", "document-126k"]), min_size=1).map(sorted),
        users=st.none() | st.sets(st.sampled_from([1, 8, 64]), min_size=1).map(sorted),
        repeats=st.none() | st.integers(1, 4),
    )
    def test_cells_and_deselected_are_always_the_whole_plan(self, kernels, arms, workloads, users, repeats):
        planned = {cell.cell for cell in ledger_of(kernels).cells}
        try:
            ledger = ledger_of(kernels, arms=arms, workloads=workloads, users=users, repeats=repeats)
        except BenchgateError:
            chosen = workloads or list(kernels.workloads)
            assert not any(set(kernels.workloads[name].users) & set(users) for name in chosen)
            return
        measured, left_out = {cell.cell for cell in ledger.cells}, set(ledger.deselected)
        assert not measured & left_out
        assert planned <= measured | left_out
        assert all(key.endswith("/r4") for key in (measured | left_out) - planned)
        assert {cell.launch for cell in ledger.cells} == {launch.launch for launch in ledger.launches}


def test_two_keys_that_would_share_a_file_are_refused():
    arms = {"a": {"placement": "b-c/p"}, "a-b": {"placement": "c/p"}}
    with pytest.raises(BenchgateError, match="would share one file name"):
        ledger_of(campaign(arms=arms))


def test_repeats_are_spread_over_a_launch_when_measured(kernels):
    cells = [cell for cell in ledger_of(kernels).cells if cell.launch == "triton@h200/quad-a"]
    assert [cell.repeat for cell in measuring_order(cells)] == [1] * 7 + [2] * 7 + [3] * 7


def test_sixty_thousand_cells_are_planned_at_once():
    big = campaign(
        arms={f"a{n}": {"placement": f"h/p{n}"} for n in range(50)},
        workloads={f"w{n}": {"dataset": "sharegpt", "users": list(range(1, 21))} for n in range(20)},
        repeats=3,
    )
    started = time.process_time()
    ledger = ledger_of(big)
    assert len(ledger.cells) == 60_000
    assert time.process_time() - started < 30  # quadratic planning would take minutes
