"""Step ``plan``: the ledger is written before anything runs."""

from __future__ import annotations

from pathlib import Path

import benchgate
from benchgate import settings
from benchgate.artifacts import RunStore
from benchgate.names import run_key
from benchgate.plan import Selection, build_ledger
from benchgate.records import RunRecord
from benchgate.spec.load import load_campaign, load_inventory
from benchgate.steps.context import CampaignRun, now, owner_of_this_run

# Keys of a trigger that choose cells; the rest (force, image) steer other steps.
_SELECTING = ("arms", "workloads", "users", "repeats")


def plan_run(campaign_file: Path, airflow_run_id: str, trigger: dict[str, object] | None = None) -> CampaignRun:
    """Load and check the campaign, write the run's copy of it and its ledger. Planning again changes nothing.

    Args:
        campaign_file: the YAML file.
        airflow_run_id: names the run together with the campaign.
        trigger: what a person chose: arms, workloads, users, repeats, image, force. Empty choices mean all.

    Raises:
        SpecError: the campaign or the inventory cannot be used.
        BenchgateError: the choices do not fit the campaign.
    """
    trigger = {name: value for name, value in (trigger or {}).items() if value not in (None, [], "")}
    inventory_file = settings.hosts_file()
    inventory = load_inventory(inventory_file)
    campaign = load_campaign(campaign_file, inventory)
    run = run_key(campaign.campaign, airflow_run_id)
    store = RunStore(run)
    existing = store.read(store.path("run.json"), RunRecord)
    created = existing.started_at if existing else now()
    selection = Selection(**{name: trigger[name] for name in _SELECTING if name in trigger})  # type: ignore[arg-type]
    ledger = build_ledger(campaign, run, created, selection=selection)
    text = campaign_file.read_text()
    store.write_text(store.path("campaign.yaml"), text)
    store.write_text(store.path("hosts.yaml"), inventory_file.read_text())
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
