"""``benchgate demo --docker``: what the demo in containers needs before its run: an engine, and two images on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchgate import settings
from benchgate.errors import BenchgateError, HostError
from benchgate.hosts.docker_connections import connection_of
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.seeding.image_pull import PullFailed, pull
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import Inventory
from benchgate.spec.image_reference import parse_reference
from benchgate.spec.load import load_campaign, load_inventory

Say = Callable[[str], None]
CAMPAIGN = "demo-docker"
BASE = "python:3.12-slim"
OWN_BASE = "benchgate/pybase:bookworm"  # what .ci/build-base-image makes from Debian packages
BASE_VARIABLE = "BENCHGATE_BASE_IMAGE"
_BUILD = settings.PROJECT_ROOT / "include" / "images" / "build.py"
_MAKE_BASE = settings.PROJECT_ROOT / ".ci" / "build-base-image"


def prepare(dag_id: str, say: Say) -> list[str]:
    """Build the images that the campaign's servers and load generators run; gives the names of its hosts.

    Raises:
        BenchgateError: no Docker Engine answers, or an image can be neither found nor built.
    """
    inventory = load_inventory(settings.hosts_file())
    campaign = load_campaign(settings.campaigns_dir() / f"{dag_id}.yaml", inventory)
    hosts = hosts_of(campaign, inventory)
    for name in hosts:
        spec = inventory.hosts[name]
        engine = DockerEngine(name, connection_of(name, spec))
        try:
            with engine.doing("the Docker Engine does not answer"):
                version = engine.api.version()["Version"]
        except HostError as error:
            raise HostError(
                f"the demo in containers needs a Docker Engine: {error.message}",
                remedy=f"{error.remedy or 'start Docker'}; host {name} is in {settings.hosts_file()}",
            ) from None
        say(f"Docker Engine {version} at {engine.connection.url}")
        base = base_image(engine, say)
        images = {campaign.image_of(arm) for arm in campaign.arms}
        _build(name, "client", spec.client_image, base, say)
        for image in sorted(image for image in images if image):
            _build(name, "llamacpp", image, base, say)
        engine.close()
    return hosts


def hosts_of(campaign: CampaignSpec, inventory: Inventory) -> list[str]:
    """The Docker hosts that a campaign's arms run on."""
    named = dict.fromkeys(str(arm.placement).partition("/")[0] for arm in campaign.arms.values())
    return [name for name in named if inventory.hosts[name].kind == "docker"]


def base_image(engine: DockerEngine, say: Say) -> str:
    """An image with Python: the one that is asked for, one that is there, a pulled one, or one from Debian packages.

    Raises:
        BenchgateError: none of these can be had.
    """
    asked = os.environ.get(BASE_VARIABLE)
    if asked:
        return asked
    for image in (BASE, OWN_BASE):
        if engine.image(image) is not None:
            return image
    try:
        pull(engine, parse_reference(BASE), report=say)
        return BASE
    except PullFailed as error:
        say(f"{error.message}")
        return _from_packages(engine, error, say)


def _from_packages(engine: DockerEngine, reason: PullFailed, say: Say) -> str:
    remedy = f"pull {BASE} by hand, or name an image that has python3 with {BASE_VARIABLE}"
    if not _MAKE_BASE.is_file() or shutil.which("apt-get") is None:
        raise BenchgateError(f"no base image can be had: {reason.message}", remedy=remedy)
    say(f"making {OWN_BASE} from Debian packages instead ..")
    environment: dict[str, Any] = {**os.environ, "DOCKER_HOST": engine.connection.url}
    made = subprocess.run(
        [str(_MAKE_BASE), OWN_BASE], env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    if made.returncode != 0:
        said = "\n".join(made.stderr.strip().splitlines()[-5:])
        raise BenchgateError(f"no base image can be had: {reason.message}\n{said}", remedy=remedy)
    return OWN_BASE


def _build(host: str, kind: str, tag: str, base: str, say: Say) -> None:
    """Build one image with the script that a person would use; it says by itself when there is nothing to do."""
    say(f"image {tag}: building what is not up to date, on {base} ..")
    built = subprocess.run(
        [sys.executable, str(_BUILD), kind, "--host", host, "--base", base, "--tag", tag],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if built.returncode != 0:
        said = built.stderr.strip().removeprefix("error: ")
        raise BenchgateError(f"image {tag} cannot be built: {said}", remedy=f"the command is: {_BUILD.name} {kind}")
