"""Step ``plan``: the ledger is written before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import benchgate
from benchgate import settings
from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError
from benchgate.names import run_key
from benchgate.plan import Selection, build_ledger
from benchgate.records import Ledger, RunRecord
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import Inventory
from benchgate.spec.image_reference import parse_reference
from benchgate.spec.load import load_campaign, load_inventory
from benchgate.steps.context import CampaignRun, now, owner_is_gone, owner_of_this_run

# Keys of a trigger that choose cells, and those that steer other steps.
_SELECTING = ("arms", "workloads", "users", "repeats")
_STEERING = ("force", "image")


def plan_run(
    campaign_file: Path,
    airflow_run_id: str,
    trigger: dict[str, object] | None = None,
    *,
    only: Sequence[str] | None = None,
) -> CampaignRun:
    """Load and check the campaign, write the run's copy of it and its ledger. Planning again changes nothing.

    Args:
        campaign_file: the YAML file.
        airflow_run_id: names the run together with the campaign.
        trigger: what a person chose: arms, workloads, users, repeats, image, force. Empty choices mean all.
        only: arms or launches that must be among the planned ones, since nothing else will be started.

    Raises:
        SpecError: the campaign or the inventory cannot be used.
        BenchgateError: the choices do not fit the campaign, or another process is at work on this very run.
    """
    trigger = {name: value for name, value in (trigger or {}).items() if value not in (None, [], "")}
    _refuse_unknown(trigger)
    inventory_file = settings.hosts_file()
    inventory = load_inventory(inventory_file)
    campaign = load_campaign(campaign_file, inventory)
    run = run_key(campaign.campaign, airflow_run_id)
    store = RunStore(run)
    existing = store.read(store.path("run.json"), RunRecord)
    _refuse_second_process(existing)
    created = existing.started_at if existing else now()
    selection = Selection(**{name: trigger[name] for name in _SELECTING if name in trigger})  # type: ignore[arg-type]
    ledger = build_ledger(campaign, run, created, selection=selection)
    _refuse_unplanned(ledger, only)
    _refuse_useless_image(campaign, ledger, inventory, trigger.get("image"))
    text = campaign_file.read_text(encoding="utf-8-sig")
    store.write_text(store.path("campaign.yaml"), text)
    store.write_text(store.path("hosts.yaml"), inventory_file.read_text(encoding="utf-8-sig"))
    store.write(store.path("ledger.json"), ledger)
    record = RunRecord(
        run=run,
        campaign=campaign.campaign,
        airflow_run_id=airflow_run_id,
        started_at=created,
        trigger=trigger,
        campaign_yaml=text,
        benchgate_version=benchgate.__version__,
        owner=owner_of_this_run(),
    )
    store.write(store.path("run.json"), record)
    return CampaignRun(run)


def _refuse_second_process(existing: RunRecord | None) -> None:
    """Two processes that write one run would each overwrite what the other measured."""
    if existing is None or existing.state != "running" or existing.owner in (None, owner_of_this_run()):
        return
    if not owner_is_gone(existing):
        raise BenchgateError(
            f"run {existing.run} is going on already (process {existing.owner})",
            remedy="wait for it, or give this one another --run-id",
        )


def _refuse_unplanned(ledger: Ledger, only: Sequence[str] | None) -> None:
    known = {launch.launch for launch in ledger.launches} | {launch.arm for launch in ledger.launches}
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise BenchgateError(
            f"run {ledger.run} plans no launch {', '.join(unknown)}", remedy=f"it plans: {', '.join(sorted(known))}"
        )


def _refuse_unknown(trigger: dict[str, object]) -> None:
    """A choice that is misspelt would be none, and the whole campaign would be measured. Airflow takes any name."""
    known = (*_SELECTING, *_STEERING)
    unknown = sorted(set(trigger) - set(known))
    if unknown:
        raise BenchgateError(f"a trigger has no choice {', '.join(unknown)}", remedy=f"choose by {', '.join(known)}")


def _refuse_useless_image(campaign: CampaignSpec, ledger: Ledger, inventory: Inventory, image: object) -> None:
    """An image stands in for the campaign's own. Where no launch has that one, it would be measured without effect."""
    if image is None:
        return
    if not isinstance(image, str):
        raise BenchgateError(f"{image!r} is no image", remedy="write name:tag, or name@sha256:.. of a digest")
    parse_reference(image)
    docker = [launch for launch in ledger.launches if inventory.hosts[launch.host].kind == "docker"]
    if not docker:
        raise BenchgateError(
            f"campaign {campaign.campaign} takes no image: all its launches are on process hosts", remedy="leave it out"
        )
    if campaign.image is None or all(campaign.image_of(launch.arm) != campaign.image for launch in docker):
        raise BenchgateError(
            f"each arm of campaign {campaign.campaign} names its own image, so {image} would replace none",
            remedy="change the arms' images in the file",
        )
