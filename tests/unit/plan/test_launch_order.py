"""Who runs where and when: lanes side by side, launches of a lane one after another."""

from __future__ import annotations

import pytest

from benchgate.plan import Selection, build_ledger, launch_order
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import Inventory


def order(
    arms: dict[str, object], inventory: Inventory | None = None, only: list[str] | None = None
) -> dict[str, list[str]]:
    spec = CampaignSpec.model_validate(
        {
            "campaign": "c",
            "engine": "vllm",
            "model": {"id": "m"},
            "image": "i",
            "arms": arms,
            "swap_placements": True,
            "workloads": {"w": {"dataset": "sharegpt", "users": [1]}},
        }
    )
    ledger = build_ledger(spec, "r", "t", selection=Selection(arms=only))
    lanes = launch_order(ledger, inventory)
    assert sorted(key for lane in lanes for key in lane.launches) == sorted(each.launch for each in ledger.launches)
    return {"+".join(lane.placements): [key.partition("@")[0] for key in lane.launches] for lane in lanes}


def at(placement: str, **more: object) -> dict[str, object]:
    return {"placement": placement, **more}


def test_two_arms_trade_places():
    assert order({"a": at("h/1"), "b": at("h/2")}) == {"h/1": ["a", "b"], "h/2": ["b", "a"]}


def test_three_arms_on_three_placements_never_meet():
    lanes = order({"a": at("h/1"), "b": at("h/2"), "c": at("h/3")})
    assert lanes == {"h/1": ["a", "b", "c"], "h/2": ["b", "c", "a"], "h/3": ["c", "a", "b"]}
    assert all(len(set(turn)) == 3 for turn in zip(*lanes.values(), strict=True))


def test_three_arms_on_two_placements_never_meet():
    lanes = order({"a": at("h/1"), "b": at("h/2"), "c": at("h/1")})
    assert all(len(set(turn)) == 2 for turn in zip(*lanes.values(), strict=True))


def test_groups_alternate_independently_of_each_other():
    arms = {
        "a": at("h/1"),
        "c": at("h/2", group="g"),
        "b": at("h/3"),
        "d": at("h/4", group="g"),
    }
    assert order(arms) == {"h/1": ["a", "b"], "h/3": ["b", "a"], "h/2": ["c", "d"], "h/4": ["d", "c"]}


def test_arms_that_do_not_swap_follow_in_file_order():
    arms = {"x": at("h/2", group="g"), "a": at("h/1"), "b": at("h/2"), "y": at("h/2", group="g")}
    assert order(arms)["h/2"] == ["b", "a", "x", "y"]


def test_a_selected_arm_alone_still_visits_its_placements():
    assert order({"a": at("h/1"), "b": at("h/2")}, only=["b"]) == {"h/2": ["b"], "h/1": ["b"]}


def test_a_lane_begins_with_an_arm_that_lives_there():
    lanes = order({"a": at("h/1"), "b": at("h/1"), "c": at("h/2")})
    assert lanes == {"h/1": ["a", "b", "c"], "h/2": ["c", "a", "b"]}


@pytest.fixture
def overlapping() -> Inventory:
    places = {"1": ["0", "1"], "2": ["2", "3"], "both": ["1", "2"], "other": ["4"]}
    placements = {name: {"gpus": gpus} for name, gpus in places.items()}
    return Inventory.model_validate({"hosts": {"h": {"docker_url": "unix:///x", "placements": placements}}})


def test_placements_that_share_a_gpu_become_one_lane(overlapping):
    arms = {
        "a": at("h/1", group="1"),
        "b": at("h/2", group="2"),
        "c": at("h/both", group="3"),
        "d": at("h/other", group="4"),
    }
    assert order(arms, overlapping) == {"h/1+h/2+h/both": ["a", "b", "c"], "h/other": ["d"]}
    assert len(order(arms)) == 4
