"""What a person would type to have the server of an arm: for reading, for a write-up, for a doubt at 3 a.m.

Benchgate starts the same server with a name, labels, offline variables and no network; those are left out here.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from benchgate.engines import get_engine
from benchgate.engines.base import ServerRequest
from benchgate.errors import BenchgateError
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker_command import DockerRun, docker_run, quote
from benchgate.names import model_target, model_volume
from benchgate.plan import launches_of
from benchgate.secrets import mask
from benchgate.seeding.model_package import seed_path
from benchgate.spec.campaign import ArgValue, CampaignSpec, ModelSource, ModelSpec
from benchgate.spec.hosts import HostSpec, Inventory, PlacementSpec

HUB_CACHE_TARGET = "/root/.cache/huggingface"
VOCAB_TARGET = "/vocab"
DEFAULT_HUB_CACHE = "~/.cache/huggingface"
# What the published images start by themselves; an engine that is not here has its whole command written out
IMAGE_ENTRYPOINTS = {"vllm": ["vllm", "serve"]}


@dataclass(frozen=True)
class ProcessCommand:
    """A server started without a container."""

    argv: tuple[str, ...]
    env: dict[str, str]
    secrets: tuple[str, ...] = ()  # names; the values are those of the shell that it is typed into

    def shell(self) -> str:
        """The command for a shell: variables, then the command, one flag a line."""
        variables = [f'{name}="${name}"' for name in self.secrets]
        variables += [quote(f"{name}={value}") for name, value in self.env.items()]
        lines = [" ".join(variables)] if variables else []
        groups: list[list[str]] = [[]]
        for word in self.argv:
            if word.startswith("--"):
                groups.append([])
            groups[-1].append(shlex.quote(word))
        return " \\\n  ".join([*lines, *(" ".join(group) for group in groups if group)])


def command_of(
    campaign: CampaignSpec, inventory: Inventory, arm: str, placement: str | None = None
) -> DockerRun | ProcessCommand:
    """The command that an arm of a campaign equals on a placement; by default the one it is written for.

    Paths stay as the inventory has them (``~`` included). Secrets are named; the shell has their values.

    Raises:
        BenchgateError: no such arm, or the arm is not planned on that placement, or its settings can never work.
    """
    if arm not in campaign.arms:
        raise BenchgateError(
            f"campaign {campaign.campaign} has no arm {arm!r}", remedy=f"arms are: {', '.join(campaign.arms)}"
        )
    planned = [f"{launch.host}/{launch.placement}" for launch in launches_of(campaign) if launch.arm == arm]
    ref = placement or planned[0]
    found = inventory.placement(ref)
    if ref not in planned or found is None:
        raise BenchgateError(
            f"arm {arm} of campaign {campaign.campaign} does not run on {ref!r}",
            remedy=f"it runs on {', '.join(planned)}",
        )
    host, place = found
    if host.kind == "process":
        return _process(campaign, host, place, arm)
    return docker_run(_container(campaign, host, place, arm, ref), publish=True)


def _container(campaign: CampaignSpec, host: HostSpec, place: PlacementSpec, arm: str, ref: str) -> ServerSpec:
    model, engine_name = campaign.model_of(arm), campaign.engine_of(arm)
    model_path, mounts = _model_in_container(model, host)
    vocab_dir = VOCAB_TARGET if model.vocab else None
    if vocab_dir:
        mounts.append(Mount(host.vocab_dir or "benchgate-vocab", vocab_dir))
    command = get_engine(engine_name).command(
        ServerRequest(
            model_path=model_path,
            served_model_name=model.id,
            args=_args_with_revision(campaign, arm),
            env=campaign.env_of(arm),
            host="0.0.0.0",  # noqa: S104  inside the container
            port=place.port,
            gpu_count=place.gpu_count,
            vocab_dir=vocab_dir,
            in_container=True,
            image_entrypoint=IMAGE_ENTRYPOINTS.get(engine_name, []),
            offline=False,
        )
    )
    return ServerSpec(
        campaign=campaign.campaign,
        run="",
        arm=arm,
        placement=ref.partition("/")[2],
        argv=command.argv,
        env=command.env,
        port=place.port,
        image=campaign.image_of(arm),
        entrypoint=command.entrypoint,
        gpus=place.gpus,
        cpus=place.cpus,
        shm_size_gib=campaign.shm_size_gib,
        mounts=mounts,
        secrets=dict.fromkeys(campaign.secrets, ""),
        internal_network=False,
    )


def _process(campaign: CampaignSpec, host: HostSpec, place: PlacementSpec, arm: str) -> ProcessCommand:
    model = campaign.model_of(arm)
    command = get_engine(campaign.engine_of(arm)).command(
        ServerRequest(
            model_path=_model_on_host(model),
            served_model_name=model.id,
            args=_args_with_revision(campaign, arm),
            env=campaign.env_of(arm),
            host="127.0.0.1",
            port=place.port or "PORT",
            gpu_count=place.gpu_count,
            vocab_dir=host.vocab_dir,
            in_container=False,
            offline=False,
        )
    )
    env = {name: mask(value) for name, value in command.env.items()}
    if place.gpus:
        env = {"CUDA_VISIBLE_DEVICES": ",".join(place.gpus), **env}
    secrets = tuple(name for name in campaign.secrets if name not in env)
    pinned = ["taskset", "--cpu-list", place.cpus] if place.cpus else []
    return ProcessCommand((*pinned, *(command.entrypoint or []), *(mask(word) for word in command.argv)), env, secrets)


def _model_in_container(model: ModelSpec, host: HostSpec) -> tuple[str, list[Mount]]:
    source = model.source
    if source is None:
        # writable: a server that is started by hand fetches what is missing into it
        return model.id, [Mount(host.hub_cache or DEFAULT_HUB_CACHE, HUB_CACHE_TARGET, read_only=False)]
    if source.host_path is not None:
        return _inside(source.host_path, source.file), [Mount(source.host_path, source.host_path)]
    on_worker = seed_path(source) if source.package is not None else Path(_inside(str(source.folder), source.file))
    target, digest = model_target(model.id), _pinned_content(source)
    place = model_volume(model.id, digest) if digest else str(on_worker if source.file is None else on_worker.parent)
    return _inside(target, on_worker.name if source.file else None), [Mount(place, target)]


def _pinned_content(source: ModelSource) -> str | None:
    """The digest that a volume of the model is named by, where the campaign pins it. That of a wheel is another."""
    return None if source.package is not None and source.file is None else source.sha256


def _model_on_host(model: ModelSpec) -> str:
    source = model.source
    if source is None:
        return model.id
    if source.package is not None:
        return str(seed_path(source))
    return _inside(str(source.host_path or source.folder), source.file)


def _inside(folder: str, file: str | None) -> str:
    return f"{folder.rstrip('/')}/{file}" if file else folder


def _args_with_revision(campaign: CampaignSpec, arm: str) -> dict[str, ArgValue]:
    """A server by hand fetches from the Hub itself, so a pinned revision has to be said to it."""
    args, model = dict(campaign.args_of(arm)), campaign.model_of(arm)
    if model.source is None and model.revision != "main" and campaign.engine_of(arm) in {"vllm", "sglang"}:
        args.setdefault("revision", model.revision)
    return args
