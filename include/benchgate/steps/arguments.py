"""Are an arm's arguments known to the version that its image holds: asked before anything starts.

A flag that was renamed between two nightlies would otherwise be found by a server that dies after its imports, once an
arm and night. The image is asked once a digest; an image that cannot say refuses nobody.
"""

from __future__ import annotations

from benchgate import names, settings
from benchgate.engines import get_engine
from benchgate.errors import BenchgateError
from benchgate.hosts.base import PreflightFinding
from benchgate.records import FailureKind
from benchgate.steps.context import CampaignRun
from benchgate.whole_file import write_whole

CHECK = "arguments"


def argument_findings(run: CampaignRun, launch_key: str) -> list[PreflightFinding]:
    """What the image of a launch says about the arm's arguments; nothing on a host without images."""
    launch = run.launch(launch_key)
    host, _ = run.places(launch)
    image = run.campaign.image_of(launch.arm)
    pinned = run.seeds(launch.host).images.get(image) if image else None
    if host.kind != "docker" or pinned is None:
        return []
    engine_name = run.campaign.engine_of(launch.arm)
    help_text = _help(run, launch.host, engine_name, pinned)
    if help_text is None:
        return [PreflightFinding(CHECK, True, "the image cannot say which arguments it knows; none was checked")]
    args = run.campaign.args_of(launch.arm)
    unknown = get_engine(engine_name).unknown_arguments(args, help_text)
    if not unknown:
        return [PreflightFinding(CHECK, True, f"the image knows all {len(args)} arguments")]
    return [
        PreflightFinding(
            CHECK,
            False,
            str(found),
            remedy="correct the arm for this version, or pin an older image",
            kind=FailureKind.BAD_FLAG,
        )
        for found in unknown
    ]


def _help(run: CampaignRun, host: str, engine_name: str, pinned: str) -> str | None:
    """The help of an image, from the cache of this worker or from the image itself.

    That an image cannot say is remembered for this run only: it may have been the host's bad day.
    """
    digest = names.slug(pinned.rpartition("@")[2])
    folder = settings.home() / "cache" / "help"
    said, silent = folder / f"{engine_name}-{digest}.txt", folder / f"{engine_name}-{digest}.{run.run}.silent"
    lists = get_engine(engine_name).help_lists
    if said.is_file() and lists in (text := said.read_text()):
        return text
    if silent.exists():
        return None
    from benchgate.hosts.docker_help import help_text
    from benchgate.steps.seeding import docker_host

    engine = get_engine(engine_name)
    try:
        found = help_text(
            docker_host(run, host).engine,
            pinned,
            engine.help_variants,
            entrypoint=engine.help_entrypoint,
            lists=lists,
        )
    except BenchgateError:
        return None  # the launch itself will say what is wrong with this host
    folder.mkdir(parents=True, exist_ok=True)
    if found is None:
        silent.touch()
        return None
    write_whole(said, found)
    return found
