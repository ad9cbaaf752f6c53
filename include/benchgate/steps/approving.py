"""Who let a run go on, and when: kept with the run's artifacts and in the warehouse."""

from __future__ import annotations

from collections.abc import Callable

from benchgate.records import Approval
from benchgate.seeding.image import digest_in
from benchgate.steps.context import CampaignRun


def changed_images(
    run: CampaignRun, host: str, last_used: Callable[[str, str], str | None]
) -> dict[str, tuple[str, str]]:
    """Images of a host that are not what the campaign last ran: as written -> (old digest, new digest).

    What the campaign last ran is asked of the warehouse (``last_used``: campaign and image to digest), not of the host:
    the host keeps an image that was pulled and rejected, or pulled by hand, and would not see it change the next night.
    Only a campaign that never ran is compared with what its host had before.
    """
    seeds, found = run.seeds(host), {}
    for image, pinned in seeds.images.items():
        old = last_used(run.campaign.campaign, image) or seeds.previous_digests.get(image)
        if old and digest_in(old) != digest_in(pinned):
            found[image] = (digest_in(old), digest_in(pinned))
    return found


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
