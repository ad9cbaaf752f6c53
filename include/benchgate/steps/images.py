"""Step ``pull_image``: every image of a host, by digest from here on; and whether there is anything new to measure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from benchgate.errors import SeedError, SpecError
from benchgate.records import FailureKind, SeedFact
from benchgate.seeding.image import digest_in, nothing_new, registry_login, resolve_image
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.load import campaign_of
from benchgate.steps.context import CampaignRun
from benchgate.steps.measurements import measurement_of
from benchgate.steps.seed_failures import one_of_several, refuse_if
from benchgate.steps.seeding import docker_host, with_more

Say = Callable[[str], None]
# what was wrong with the host or the run, and says nothing about the image
_NOT_OF_THE_IMAGE = (
    *(FailureKind.PREFLIGHT, FailureKind.GPU_MEMORY_IN_USE, FailureKind.PORT_IN_USE, FailureKind.SHM_TOO_SMALL),
    *(FailureKind.LEASE_HELD, FailureKind.IMAGE_MISSING, FailureKind.SEED_FAILED, FailureKind.KILLED),
)


def published_digests(campaign: str, url: str | None = None) -> dict[str, set[str]]:
    """Image digests (``sha256:..``) that earlier runs of a campaign published a cell with; none without a warehouse.

    Each with the measurements that are done on it: published, refused by a gate, or failed as the arm was meant to.
    What broke, or never had its turn, is not done. Runs whose campaign file cannot be read any more count for nothing.
    """
    done = _ask(
        "SELECT r.run_id, l.image_digest, c.cell, c.end_state, l.failure_kind FROM cell c "
        "JOIN launch l ON l.launch_id = c.launch_id JOIN campaign_run r ON r.run_id = c.run_id "
        "WHERE r.campaign = :campaign AND l.image_digest IS NOT NULL AND NOT l.simulated AND NOT c.deselected "
        "AND (c.end_state IN ('published', 'unpublishable') OR (c.end_state = 'not_run' "
        "AND l.expected = 'did_not_run' AND l.failure_kind IS NOT NULL))",
        url,
        campaign=campaign,
    )
    specs = _campaigns(_ask("SELECT run_id, campaign_yaml FROM campaign_run WHERE campaign = :c", url, c=campaign))
    found: dict[str, set[str]] = {digest_in(digest): set() for _, digest, _, state, _ in done if state == "published"}
    for run, digest, cell, state, failure in done:
        refused = state == "not_run" and failure in _NOT_OF_THE_IMAGE
        if digest_in(digest) in found and run in specs and not refused:
            found[digest_in(digest)].add(measurement_of(specs[run], cell))
    return found


def _campaigns(texts: list[tuple[Any, ...]]) -> dict[int, CampaignSpec]:
    """The campaign of each run that has a readable one; nights share theirs, so each text is read once."""
    read: dict[str, CampaignSpec | None] = {}
    for _, text in texts:
        if text not in read:
            try:
                read[text] = campaign_of(text)
            except SpecError:
                read[text] = None
    return {run: spec for run, text in texts if (spec := read[text]) is not None}


def last_used_digest(campaign: str, image: str, url: str | None = None) -> str | None:
    """The digest that the newest loaded run of a campaign resolved an image to; None when there is none."""
    found = _ask(
        "SELECT l.image_digest FROM launch l JOIN campaign_run r ON r.run_id = l.run_id "
        "WHERE r.campaign = :campaign AND l.image = :image AND l.image_digest IS NOT NULL "
        "ORDER BY r.started_at DESC LIMIT 1",
        url,
        campaign=campaign,
        image=image,
    )
    return digest_in(found[0][0]) if found else None


def _ask(query: str, url: str | None, **values: str) -> list[tuple[Any, ...]]:
    """The rows of a query; none where there is no warehouse yet."""
    import sqlalchemy as sa

    from benchgate.errors import WarehouseError
    from benchgate.warehouse.connect import open_warehouse, reading

    try:
        engine = open_warehouse(url)
        try:
            with reading(engine) as connection:
                return [tuple(row) for row in connection.execute(sa.text(query), values)]
        finally:
            engine.dispose()
    except (WarehouseError, sa.exc.SQLAlchemyError):
        return []


def pull_images(
    run: CampaignRun,
    host: str,
    *,
    secrets: Mapping[str, str],
    published: Callable[[str], Mapping[str, Collection[str]]] = lambda _campaign: {},
    last_used: Callable[[str, str], str | None] = lambda _campaign, _image: None,
    say: Say = print,
) -> list[SeedFact]:
    """Pull what the arms on ``host`` run, resolve it to digests, and see whether the run has anything new to measure.

    Args:
        run: the campaign run.
        host: a Docker host.
        secrets: may hold the registry's login.
        published: digests that earlier runs of a campaign published, each with the measurements done on it.
        last_used: digest that a campaign's last run had for an image; stands in for one that cannot be pulled.
        say: takes progress, one line at a time.

    Raises:
        SeedError: no such tag, no login, no space, or a registry that does not answer and no digest to fall back on.
    """
    spec, campaign = run.inventory.hosts[host], run.campaign
    arms = dict.fromkeys(launch.arm for launch in run.ledger.launches if launch.host == host)
    chosen = run.record.trigger.get("image")
    facts, failed = [], list[SeedError]()
    for image in dict.fromkeys(campaign.image_of(arm) for arm in arms):
        if image is None:
            continue
        with one_of_several(failed):
            wanted = str(chosen) if chosen and image == campaign.image else image
            resolved = resolve_image(
                docker_host(run, host).engine,
                wanted,
                mirror=spec.mirror,
                login=registry_login(secrets),
                on_pull_failure=campaign.on_pull_failure,
                last_digest=last_used(campaign.campaign, image) if campaign.on_pull_failure == "use_last" else None,
                report=say,
            )
            facts.append(resolved.seed_fact())
            seeds = run.seeds(host)
            run.save_seeds(
                with_more(
                    seeds,
                    facts=[resolved.seed_fact()],
                    images={image: resolved.pinned},
                    pulled=sorted({*seeds.pulled, *([resolved.pinned] if resolved.brought else [])}),
                    previous_digests={image: resolved.previous_digest} if resolved.moved else {},
                )
            )
            if resolved.moved:
                say(f"{wanted} moved: {resolved.previous_digest} is now {resolved.digest}")
    refuse_if(failed)
    reason = _nothing_new(run, published)
    if reason:
        say(reason)
        run.end_nothing_new(reason)
    return facts


def _nothing_new(run: CampaignRun, published: Callable[[str], Mapping[str, Collection[str]]]) -> str | None:
    """Judged once every host knows its images, and only while nothing was started: one new cell anywhere is enough."""
    campaign, planned = run.campaign, []
    for launch in run.ledger.launches:
        image = run.image_of(launch)
        pinned = run.seeds(launch.host).images.get(image) if image else None
        if pinned is None or run.launch_record(launch.launch) is not None:
            return None
        planned += [(digest_in(pinned), measurement_of(campaign, cell.cell)) for cell in run.cells_of(launch.launch)]
    return nothing_new(planned, published(campaign.campaign), force=bool(run.record.trigger.get("force")))
