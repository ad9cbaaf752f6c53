#!/usr/bin/env python3
"""Build Benchgate's own images on a Docker Engine: ``python include/images/build.py client [--host NAME]``.

The wheels are fetched here, at the versions and hashes of requirements.txt, for the Python and the machine of the base
image, and go into the build context unpacked. So the build needs no network and no pip in the image, works on engines
without egress, and the same Dockerfile serves ``python:3.12-slim`` and a base that was made from Debian packages.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # include/, when this file is run as a script

from images.context import pack, prepare
from images.inputs import RECIPES, BuildError, Target, inputs_digest

DEFAULT_BASE = "python:3.12-slim"
INPUTS_LABEL = "io.benchgate.inputs"  # digest over all that an image was built from


def target_of(api: Any, base: str) -> Target:
    """Ask the base image which Python and which machine it is.

    Raises:
        BuildError: the engine does not have it, or it has no python3.
    """
    from docker.errors import APIError, ImageNotFound

    try:
        machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(api.inspect_image(base)["Architecture"])
    except ImageNotFound:
        raise BuildError(
            f"the base image {base} is not on this engine; `docker pull {base}` there, or make one from Debian "
            "packages with .ci/build-base-image and give it as --base benchgate/pybase:bookworm"
        ) from None
    if machine is None:
        raise BuildError(f"the base image {base} is for a machine that has no wheels; use amd64 or arm64")
    script = "import sys; print('%d.%d' % sys.version_info[:2])"
    body = {"Image": base, "Entrypoint": ["python3", "-c", script], "Cmd": [], "HostConfig": {"NetworkMode": "none"}}
    container = api.create_container_from_config(body)["Id"]
    try:
        api.start(container)
        code = api.wait(container)["StatusCode"]
        said = api.logs(container).decode(errors="replace").strip()
    except APIError as error:
        raise BuildError(f"the base image {base} cannot run python3: {error.explanation}") from error
    finally:
        api.remove_container(container, force=True, v=True)
    if code != 0 or not re.fullmatch(r"3\.\d+", said):
        raise BuildError(f"the base image {base} cannot run python3: {said[-300:]}")
    return Target(said, machine)


def labels_of(api: Any, tag: str) -> dict[str, str]:
    """The labels of an image; none when it is not there."""
    from docker.errors import ImageNotFound

    try:
        return dict(api.inspect_image(tag)["Config"].get("Labels") or {})
    except ImageNotFound:
        return {}


def build(api: Any, kind: str, *, tag: str, base: str = DEFAULT_BASE) -> Iterator[str]:
    """Build one image, unless the tag is one of the same inputs; yields what the engine says, line by line.

    Raises:
        BuildError: the base is missing, a wheel cannot be had, or a step failed.
    """
    target = target_of(api, base)
    inputs = inputs_digest(kind, str(api.inspect_image(base)["Id"]), target)
    if labels_of(api, tag).get(INPUTS_LABEL) == inputs:
        yield f"{kind}: {tag} is up to date"
        return
    yield f"{kind}: wheels for Python {target.python} on {target.machine}"
    with tempfile.TemporaryDirectory() as folder:
        arguments = prepare(kind, target, Path(folder))
        with pack(Path(folder)) as context:
            said = api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                rm=True,
                forcerm=True,
                network_mode="none",
                buildargs={"BASE": base, **arguments},
                labels={INPUTS_LABEL: inputs},
                decode=True,
            )
            for line in said:
                if "error" in line:
                    raise BuildError(f"{kind}: {line['error'].strip()}")
                if text := line.get("stream", "").strip():
                    yield f"{kind}: {text}"


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 when every image was built."""
    from benchgate.errors import BenchgateError
    from benchgate.hosts.docker_connections import EngineConnection, connection_of
    from benchgate.hosts.docker_engine import DockerEngine

    parser = argparse.ArgumentParser(description="Build Benchgate's own images on a Docker Engine.")
    parser.add_argument("kind", nargs="+", choices=sorted(RECIPES))
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--docker-url", default="unix:///var/run/docker.sock", help="default: %(default)s")
    where.add_argument("--host", help="a host of include/hosts.yaml instead")
    parser.add_argument("--base", default=DEFAULT_BASE, help="image with python3, default: %(default)s")
    parser.add_argument("--tag", help="default: benchgate/KIND:latest")
    args = parser.parse_args(argv)
    if args.tag and len(args.kind) > 1:
        parser.error("--tag goes with one image")
    try:
        if args.host:
            from benchgate import settings
            from benchgate.spec.load import load_inventory

            inventory = load_inventory(settings.hosts_file())
            if args.host not in inventory.hosts:
                raise BuildError(f"no host {args.host} in the inventory; there are {', '.join(inventory.hosts)}")
            engine = DockerEngine(args.host, connection_of(args.host, inventory.hosts[args.host]))
        else:
            engine = DockerEngine("local", EngineConnection(args.docker_url))
        api = engine.api_with_timeout(600)
        for kind in args.kind:
            for line in build(api, kind, tag=args.tag or f"benchgate/{kind}:latest", base=args.base):
                print(line, flush=True)
    except (BuildError, BenchgateError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
