"""What goes into Benchgate's own images, and a digest over all of it. Pure but for reading this checkout."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

IMAGES = Path(__file__).resolve().parent
ROOT = IMAGES.parents[1]
PACKAGE = ROOT / "include" / "benchgate"

# What `benchgate bench` imports, and nothing that only a worker needs. A unit test follows the imports, and another one
# runs the image.
CLIENT_PARTS = (
    "__init__.py",
    "__main__.py",
    "py.typed",
    "errors.py",
    "names.py",
    "settings.py",
    "secrets.py",
    "records",
    "request_record.py",
    "whole_file.py",
    "client",
    "metrics",
    "cli/__init__.py",
    "cli/bench_arguments.py",
    "cli/bench_command.py",
    "cli/bench_table.py",
    "cli/bench_options.py",
    "cli/options.py",
)


@dataclass(frozen=True)
class Recipe:
    """What goes into an image besides its Dockerfile."""

    packages: tuple[str, ...]  # with everything they need: the lock is installed without resolving again
    parts: tuple[str, ...] = ()  # of benchgate, below site/benchgate
    files: tuple[str, ...] = ()  # of benchgate, at the top of the context
    folders: tuple[str, ...] = ()  # empty ones at the top of the context
    version_of: str | None = None  # the package whose version is the engine's


RECIPES = {
    "client": Recipe(
        packages=(
            "httptools",
            "uvloop",
            "orjson",
            "pyarrow",
            "ijson",
            "pydantic",
            "pydantic-core",
            "annotated-types",
            "typing-extensions",
            "typing-inspection",
        ),
        parts=CLIENT_PARTS,
        folders=("out",),
    ),
    "llamacpp": Recipe(packages=("xllamacpp",), files=("engines/llamacpp_server.py",), version_of="xllamacpp"),
}


class BuildError(Exception):
    """The image cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class Target:
    """The Python that the wheels are for."""

    python: str  # 3.12
    machine: str  # x86_64 | aarch64

    @property
    def markers(self) -> dict[str, str]:
        """The environment in which requirement markers are read."""
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": self.machine,
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "os_name": "posix",
        }


def locked(lock: str, names: tuple[str, ...], target: Target) -> list[str]:
    """The requirement lines (``name==version --hash=..``) of ``names`` that hold for ``target``.

    Raises:
        BuildError: a name that the lock does not have for this Python.
    """
    from packaging.markers import Marker

    found: dict[str, str] = {}
    for block in re.split(r"\n(?=[A-Za-z0-9])", lock):
        match = re.match(r"([A-Za-z0-9_.-]+)==([^\s;\\]+)\s*(?:;\s*([^\\\n]+?))?\s*\\?\n", block + "\n")
        if match is None:
            continue
        name, version, marker = match.groups()
        if marker and not Marker(marker).evaluate(target.markers):
            continue
        hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}", block)
        found[name.lower()] = " ".join([f"{name}=={version}", *hashes])
    missing = [name for name in names if name not in found]
    if missing:
        raise BuildError(f"requirements.txt has no {', '.join(missing)} for Python {target.python}; run `make lock`")
    return [found[name] for name in names]


def inputs_digest(kind: str, base_id: str, target: Target) -> str:
    """A digest over everything that decides an image's content: equal digests need no build.

    Args:
        kind: of :data:`RECIPES`.
        base_id: id of the base image.
        target: the Python in it.
    """
    recipe = RECIPES[kind]
    digest = hashlib.sha256()
    said = [kind, base_id, target.python, target.machine]
    said += locked((ROOT / "requirements.txt").read_text(), recipe.packages, target)
    for line in said:
        digest.update(f"{line}\n".encode())
    for path in sorted(_files(recipe, IMAGES / kind / "Dockerfile")):
        digest.update(f"{relative(path)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def relative(path: Path) -> str:
    """How a file is called in this checkout, wherever that lies."""
    return path.relative_to(ROOT).as_posix()


def _files(recipe: Recipe, dockerfile: Path) -> list[Path]:
    found = [dockerfile, *IMAGES.glob("*.py")]
    for name in (*recipe.parts, *recipe.files):
        path = PACKAGE / name
        inside = path.rglob("*") if path.is_dir() else [path]
        found += [file for file in inside if file.is_file() and "__pycache__" not in file.parts]
    return found
