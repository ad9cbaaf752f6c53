"""From a planned launch to the server that the host is asked to start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from benchgate.engines import get_engine
from benchgate.engines.base import ServerRequest
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.records import HostFacts, LaunchRecord, PlannedLaunch
from benchgate.seeding.dataset import SYNTHETIC
from benchgate.spec.campaign import ArgValue, ModelSpec
from benchgate.steps.context import CampaignRun, now
from benchgate.steps.seed_failures import not_seeded, seed_failure


def model_key(model_id: str, revision: str) -> str:
    """How a model as written is found among the seeds of a host."""
    return f"{model_id}@{revision}"


def server_spec(run: CampaignRun, launch_key: str, secret_values: dict[str, str] | None = None) -> ServerSpec:
    """The server that a launch starts: command line from the engine's adapter, mounts from the seeds.

    Raises:
        NotSeeded: a seed is missing; with the reason of the step that did not bring it.
        BenchgateError: the arm's settings can never work.
    """
    launch = run.launch(launch_key)
    campaign, (host, placement) = run.campaign, run.places(launch)
    seeds, model = run.seeds(launch.host), run.campaign.model_of(launch.arm)
    image = _seeded_image(run, launch)
    model_path = _seeded(run, launch, model)
    _refuse_without_vocab(run, launch)
    _refuse_without_datasets(run, launch)
    in_container = host.kind == "docker"
    engine = get_engine(campaign.engine_of(launch.arm))
    command = engine.command(
        ServerRequest(
            model_path=model_path,
            served_model_name=model.id,
            args=with_draft_paths(campaign.args_of(launch.arm), _draft_paths(run, launch)),
            env=campaign.env_of(launch.arm),
            host="0.0.0.0" if in_container else "127.0.0.1",  # noqa: S104  inside its own network namespace
            port=placement.port or "{port}",
            gpu_count=placement.gpu_count,
            vocab_dir=seeds.vocab_dir,
            in_container=in_container,
        )
    )
    return ServerSpec(
        campaign=campaign.campaign,
        run=run.run,
        arm=launch.arm,
        placement=launch.placement,
        argv=command.argv,
        env=command.env,
        port=placement.port,
        image=image,
        entrypoint=command.entrypoint,
        gpus=placement.gpus,
        cpus=placement.cpus,
        shm_size_gib=campaign.shm_size_gib,
        mounts=[Mount(mount.source, mount.target) for mount in seeds.mounts],
        secrets=secret_values or {},
        pinned_host_memory_gib=engine.pinned_host_memory_gib(campaign.args_of(launch.arm), campaign.env_of(launch.arm)),
        owner_pid=int(os.environ["BENCHGATE_OWNER_PID"]) if os.environ.get("BENCHGATE_OWNER_PID") else None,
    )


def _draft_paths(run: CampaignRun, launch: PlannedLaunch) -> dict[str, str]:
    """Where the draft models of an arm lie, as its server sees them: by the id that its arguments name."""
    return {draft.id: _seeded(run, launch, draft, "draft model") for draft in run.campaign.arms[launch.arm].drafts}


def _seeded(run: CampaignRun, launch: PlannedLaunch, model: ModelSpec, what: str = "model") -> str:
    """Where a model lies on the host of a launch, as a server there sees it."""
    key, models = model_key(model.id, model.revision), run.seeds(launch.host).models
    if key not in models:
        raise not_seeded(run, launch.host, "seed_model", f"{what} {key}")
    return models[key]


def _seeded_image(run: CampaignRun, launch: PlannedLaunch) -> str | None:
    """The image that a launch runs, by its digest; None on a process host."""
    image, images = run.image_of(launch), run.seeds(launch.host).images
    if image is None:
        return None
    if image not in images:
        raise not_seeded(run, launch.host, "pull_image", f"image {image}")
    return images[image]


def _refuse_without_vocab(run: CampaignRun, launch: PlannedLaunch) -> None:
    """A server without egress that finds no vocabulary would die minutes later of what is known now."""
    names = run.campaign.model_of(launch.arm).vocab
    if names and run.seeds(launch.host).vocab_dir is None:
        raise not_seeded(run, launch.host, "seed_vocab", f"vocabulary {', '.join(names)}")


def _refuse_without_datasets(run: CampaignRun, launch: PlannedLaunch) -> None:
    """A server beside which no cell can be measured, since their datasets could not be seeded, is not started."""
    if seed_failure(run, launch.host, "seed_dataset") is None:
        return
    workloads, seeded = run.campaign.workloads, run.seeds(launch.host).datasets
    names = list(dict.fromkeys(workloads[cell.workload].dataset for cell in run.cells_of(launch.launch)))
    if names and not any(name == SYNTHETIC or name in seeded for name in names):
        raise not_seeded(run, launch.host, "seed_dataset", f"dataset {', '.join(names)}")


def with_draft_paths(args: Mapping[str, ArgValue], paths: Mapping[str, str]) -> dict[str, ArgValue]:
    """Arguments in which the id of a draft model, also inside a mapping or list, is the path of its seed.

    A server without egress cannot fetch what an id names; the model itself is given by its path anyway.
    """

    def put(value: object) -> object:
        if isinstance(value, str):
            return paths.get(value, value)
        if isinstance(value, dict):
            return {name: put(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [put(inner) for inner in value]
        return value

    return {name: cast("ArgValue", put(value)) for name, value in args.items()}


def begin_launch(run: CampaignRun, launch_key: str, *, seen: HostFacts | None = None) -> LaunchRecord:
    """Write the launch's record before anything is tried, so that whatever happens has a place to be told.

    Begun again, it is another attempt: nothing that was proven or measured of the one before is inherited.

    Args:
        run: the campaign run.
        launch_key: of a planned launch.
        seen: what a preflight of this attempt saw of the host.
    """
    before = run.launch_record(launch_key)
    if before is not None:
        run.forget_attempt(launch_key)
    launch = run.launch(launch_key)
    campaign, (_, placement) = run.campaign, run.places(launch)
    model, seeds = campaign.model_of(launch.arm), run.seeds(launch.host)
    image = run.image_of(launch)
    key = model_key(model.id, model.revision)
    return run.save_launch(
        LaunchRecord(
            launch=launch_key,
            arm=launch.arm,
            host=launch.host,
            placement=launch.placement,
            attempt=before.attempt + 1 if before is not None else 1,
            engine=campaign.engine_of(launch.arm),
            image=image,
            image_digest=seeds.images.get(image, "").rpartition("@")[2] or None if image else None,
            image_previous_digest=seeds.previous_digests.get(image) if image else None,
            model_id=model.id,
            model_revision=seeds.model_revisions.get(key),
            draft_revisions={
                draft.id: seeds.model_revisions.get(model_key(draft.id, draft.revision))
                for draft in campaign.arms[launch.arm].drafts
            },
            vocab_sha256=seeds.vocab_sha256,
            needs_vocab=bool(model.vocab),
            gpus=placement.gpus,
            args=dict(campaign.args_of(launch.arm)),
            env=campaign.env_of(launch.arm),
            host_facts=seen,
            started_at=now(),
        )
    )
