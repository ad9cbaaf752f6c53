"""Rules between a campaign and the inventory it runs on, and the sources it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from benchgate.spec.rules import Complaint, as_map, near_miss

if TYPE_CHECKING:
    from benchgate.spec.hosts import Inventory
    from benchgate.spec.sources import Sources


def placing_complaints(data: object, inventory: Inventory | None, sources: Sources | None = None) -> list[Complaint]:
    """What is wrong between a campaign (plain values) and the inventory and sources, as far as they are known."""
    campaign = as_map(data)
    complaints = list(_sources(campaign, sources)) if sources else []
    if inventory:
        complaints += _placements(campaign, inventory)
    complaints += _swap(campaign, inventory)
    return complaints


def _placements(campaign: Mapping[str, object], inventory: Inventory) -> Iterator[Complaint]:
    for name, arm in as_map(campaign.get("arms")).items():
        ref, path = as_map(arm).get("placement"), ("arms", name, "placement")
        if not isinstance(ref, str) or ref.count("/") != 1:
            continue  # the models say so
        found = inventory.placement(ref)
        if found is None:
            host = ref.partition("/")[0]
            what = f"host {host!r} has no such placement" if host in inventory.hosts else f"there is no host {host!r}"
            message = f"{ref!r} does not exist: {what}{near_miss(ref, inventory.refs)}"
            yield Complaint(path, f"{message} Placements: {', '.join(inventory.refs)}")
        elif found[0].kind == "docker" and not (as_map(arm).get("image") or campaign.get("image")):
            yield Complaint(("arms", name), f"needs an image: {ref} is on a Docker host")
        elif found[0].kind == "process" and as_map(arm).get("image"):
            yield Complaint(("arms", name, "image"), f"does not apply: {ref} is on a process host, which has no images")


def _swap(campaign: Mapping[str, object], inventory: Inventory | None) -> Iterator[Complaint]:
    """Arms can only trade places that can hold each of them."""
    if campaign.get("swap_placements") is not True:
        return
    groups: dict[object, list[str]] = {}
    for arm in as_map(campaign.get("arms")).values():
        ref = as_map(arm).get("placement")
        if isinstance(ref, str):
            groups.setdefault(as_map(arm).get("group"), []).append(ref)
    if groups and all(len(set(refs)) == 1 for refs in groups.values()):
        message = "all arms of a group are on one placement, so there is nothing to swap"
        yield Complaint(("swap_placements",), message, warning=True)
    for refs in groups.values():
        known = {ref: inventory.placement(ref) for ref in dict.fromkeys(refs)} if inventory else {}
        places = [(ref, *found) for ref, found in known.items() if found]
        for ref, host, placement in places[1:]:
            first_ref, first_host, first_placement = places[0]
            if host.kind != first_host.kind:
                message = (
                    f"{first_ref} is on a {first_host.kind} host and {ref} on a {host.kind} host: no arm fits both"
                )
                yield Complaint(("swap_placements",), message)
            elif len(placement.gpus) != len(first_placement.gpus) and "all" not in (
                *placement.gpus,
                *first_placement.gpus,
            ):
                message = f"{first_ref} and {ref} differ in their number of GPUs: put their arms into different groups"
                yield Complaint(("swap_placements",), message)


def _sources(campaign: Mapping[str, object], sources: Sources) -> Iterator[Complaint]:
    named = campaign.get("sources")
    for index, name in enumerate(named if isinstance(named, list) else []):
        if isinstance(name, str) and name not in sources.sources:
            message = f"{name!r} is not in sources.yaml{near_miss(name, sources.sources)}"
            yield Complaint(("sources", index), f"{message} Sources: {', '.join(sources.sources)}")
