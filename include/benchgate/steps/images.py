"""Step ``pull_image``: every image of a host, by digest from here on; and whether there is anything new to measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchgate.records import SeedFact
from benchgate.seeding.image import digest_in, nothing_new, registry_login, resolve_image
from benchgate.steps.context import CampaignRun
from benchgate.steps.seeding import docker_host, with_more

Say = Callable[[str], None]


def published_digests(campaign: str, url: str | None = None) -> set[str]:
    """Image digests (``sha256:..``) that earlier runs of a campaign published a cell with; none without a warehouse."""
    found = _ask("SELECT DISTINCT image_digest FROM published_cell WHERE campaign = :campaign", url, campaign=campaign)
    return {digest_in(digest) for digest in found}


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
    return digest_in(found[0]) if found else None


def _ask(query: str, url: str | None, **values: str) -> list[str]:
    """The first column of a query; empty where there is no warehouse yet."""
    import sqlalchemy as sa

    from benchgate.errors import WarehouseError
    from benchgate.warehouse.connect import open_warehouse, reading

    try:
        engine = open_warehouse(url)
        try:
            with reading(engine) as connection:
                return [str(value) for value in connection.execute(sa.text(query), values).scalars() if value]
        finally:
            engine.dispose()
    except (WarehouseError, sa.exc.SQLAlchemyError):
        return []


def pull_images(
    run: CampaignRun,
    host: str,
    *,
    secrets: Mapping[str, str],
    published: Callable[[str], set[str]] = lambda _campaign: set(),
    last_used: Callable[[str, str], str | None] = lambda _campaign, _image: None,
    say: Say = print,
) -> list[SeedFact]:
    """Pull what the arms on ``host`` run, resolve it to digests, and see whether the run has anything new to measure.

    Args:
        run: the campaign run.
        host: a Docker host.
        secrets: may hold the registry's login.
        published: digests that earlier runs of a campaign published.
        last_used: digest that a campaign's last run had for an image; stands in for one that cannot be pulled.
        say: takes progress, one line at a time.

    Raises:
        SeedError: no such tag, no login, no space, or a registry that does not answer and no digest to fall back on.
    """
    spec, campaign = run.inventory.hosts[host], run.campaign
    arms = dict.fromkeys(launch.arm for launch in run.ledger.launches if launch.host == host)
    chosen = run.record.trigger.get("image")
    facts = []
    for image in dict.fromkeys(campaign.image_of(arm) for arm in arms):
        if image is None:
            continue
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
    reason = _nothing_new(run, published)
    if reason:
        say(reason)
        run.end_nothing_new(reason)
    return facts


def _nothing_new(run: CampaignRun, published: Callable[[str], set[str]]) -> str | None:
    """Judged once every host knows its images, and only while nothing was started: one new image anywhere is enough."""
    campaign, digests = run.campaign, []
    for launch in run.ledger.launches:
        image = run.image_of(launch)
        pinned = run.seeds(launch.host).images.get(image) if image else None
        if pinned is None or run.launch_record(launch.launch) is not None:
            return None
        digests.append(digest_in(pinned))
    return nothing_new(digests, published(campaign.campaign), force=bool(run.record.trigger.get("force")))
