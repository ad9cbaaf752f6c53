"""Step ``pull_image``: every image of a host, by digest from here on; and whether there is anything new to measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchgate.records import RunRecord, SeedFact
from benchgate.seeding.image import nothing_new, registry_login, resolve_image
from benchgate.steps.context import CampaignRun
from benchgate.steps.seeding import docker_host, with_more

Say = Callable[[str], None]


def published_digests(campaign: str, url: str | None = None) -> set[str]:
    """Image digests (``sha256:..``) that earlier runs of a campaign published a cell with; none without a warehouse."""
    import sqlalchemy as sa

    from benchgate.errors import WarehouseError
    from benchgate.warehouse.connect import open_warehouse, reading

    query = sa.text("SELECT DISTINCT image_digest FROM published_cell WHERE campaign = :campaign")
    try:
        engine = open_warehouse(url)
        try:
            with reading(engine) as connection:
                found = connection.execute(query, {"campaign": campaign}).scalars()
                return {str(digest).partition("@")[2] or str(digest) for digest in found if digest}
        finally:
            engine.dispose()
    except (WarehouseError, sa.exc.SQLAlchemyError):
        return set()  # not there yet: then nothing was published


def pull_images(
    run: CampaignRun,
    host: str,
    *,
    secrets: Mapping[str, str],
    published: Callable[[str], set[str]] = lambda _campaign: set(),
    say: Say = print,
) -> list[SeedFact]:
    """Pull what the arms on ``host`` run, resolve it to digests, and see whether the run has anything new to measure.

    Args:
        run: the campaign run.
        host: a Docker host.
        secrets: may hold the registry's login.
        published: digests that earlier runs of a campaign published.
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
            report=say,
        )
        facts.append(resolved.seed_fact())
        run.save_seeds(
            with_more(
                run.seeds(host),
                facts=[resolved.seed_fact()],
                images={image: resolved.pinned},
                previous_digests={image: resolved.previous_digest} if resolved.moved else {},
            )
        )
        if resolved.moved:
            say(f"{wanted} moved: {resolved.previous_digest} is now {resolved.digest}")
    reason = nothing_new(
        [fact.digest for fact in facts if fact.digest],
        published(campaign.campaign),
        force=bool(run.record.trigger.get("force")),
    )
    if reason:
        say(reason)
        record = RunRecord.model_validate({**dict(run.record), "state": "nothing_new", "nothing_new_reason": reason})
        run.store.write(run.store.path("run.json"), record)
        run.__dict__["record"] = record
    return facts
