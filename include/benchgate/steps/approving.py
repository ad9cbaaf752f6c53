"""Who let a run go on, and when: kept with the run's artifacts and in the warehouse."""

from __future__ import annotations

from benchgate.records import Approval
from benchgate.steps.context import CampaignRun


def approvals_of(run: CampaignRun) -> list[Approval]:
    """Every answer that was given about a run, oldest first."""
    return [Approval.model_validate(item) for item in run.store.read_json(run.store.path("approvals.json")) or []]


def keep_approval(key: str, approval: Approval, url: str | None = None) -> None:
    """Add an answer to a run; also in the warehouse, when the run is loaded already."""
    from benchgate.warehouse.approvals import add_approval

    run = CampaignRun(key)
    known = [*approvals_of(run), approval]
    run.store.write_json(run.store.path("approvals.json"), [item.model_dump(mode="json") for item in known])
    add_approval(key, approval, url)
