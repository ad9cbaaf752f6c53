"""Who let a run go on, and when: kept with the run's artifacts and in the warehouse."""

from __future__ import annotations

from collections.abc import Callable

from benchgate.artifacts import RunStore
from benchgate.errors import SpecError
from benchgate.records import Approval
from benchgate.seeding.image import digest_in
from benchgate.spec.load import campaign_of
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


def answer_to(key: str, question: str) -> Approval | None:
    """What a person answered to a question about a run; None when nobody did yet."""
    store = RunStore(key)
    return store.read(store.approval_path(question), Approval)


def keep_approval(key: str, question: str, approval: Approval, url: str | None = None) -> None:
    """Keep an answer with the run, then in the warehouse when the run is loaded already; twice is once.

    The run's own file comes first: a load that read the answers before this one was given looks again when it is done
    (:func:`bring_approvals`), and so finds it.

    Raises:
        WarehouseError: the warehouse refuses. The answer is kept with the run all the same.
    """
    from benchgate.warehouse.approvals import add_approvals

    store = RunStore(key)
    store.write(store.approval_path(question), approval)
    add_approvals(key, [approval], url)


def bring_approvals(run: CampaignRun, url: str | None = None) -> None:
    """After a load: bring the answers that were given while it went on."""
    from benchgate.warehouse.approvals import add_approvals
    from benchgate.warehouse.bundle import read_approvals

    add_approvals(run.run, read_approvals(run.store), url)


def asks_before_announcing(run: str, url: str | None = None) -> bool:
    """Whether a loaded run's campaign wants a person to see its findings first, as its file was for that run.

    Asked of the warehouse: an old run's artifacts may be gone, an imported run never had any.

    Raises:
        WarehouseError: the run is not in the warehouse, or there is no usable warehouse.
    """
    from benchgate.analysis.read import campaign_text
    from benchgate.warehouse.connect import open_warehouse, reading
    from benchgate.warehouse.rows import run_id_of

    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            text = campaign_text(connection, run_id_of(run))
    finally:
        engine.dispose()
    try:
        return campaign_of(text).approvals.regression
    except SpecError:
        return "approvals:" in text  # written for another version: ask rather than announce unasked
