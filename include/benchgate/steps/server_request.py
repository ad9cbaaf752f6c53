"""From a planned launch to the server that the host is asked to start."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from benchgate.engines import get_engine
from benchgate.engines.base import ServerRequest
from benchgate.errors import BenchgateError
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.records import HostFacts, HostSeeds, LaunchRecord, PlannedLaunch
from benchgate.spec.campaign import ArgValue, ModelSpec
from benchgate.steps.context import CampaignRun, now


def model_key(model_id: str, revision: str) -> str:
    """How a model as written is found among the seeds of a host."""
    return f"{model_id}@{revision}"


def server_spec(run: CampaignRun, launch_key: str, secret_values: dict[str, str] | None = None) -> ServerSpec:
    """The server that a launch starts: command line from the engine's adapter, mounts from the seeds.

    Raises:
        BenchgateError: the arm's settings can never work, or a seed is missing.
    """
    launch = run.launch(launch_key)
    campaign, (host, placement) = run.campaign, run.places(launch)
    seeds, model = run.seeds(launch.host), run.campaign.model_of(launch.arm)
    image = run.image_of(launch)
    model_path = _seeded(seeds, model, launch.host)
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
        image=seeds.images.get(image) if image else None,
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
    seeds, drafts = run.seeds(launch.host), run.campaign.arms[launch.arm].drafts
    return {draft.id: _seeded(seeds, draft, launch.host, "draft model") for draft in drafts}


def _seeded(seeds: HostSeeds, model: ModelSpec, host: str, what: str = "model") -> str:
    """Where a model lies on a host, as a server there sees it."""
    key = model_key(model.id, model.revision)
    if key not in seeds.models:
        raise BenchgateError(f"{what} {key} was not seeded on host {host}", remedy="run the seed step first")
    return seeds.models[key]


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
