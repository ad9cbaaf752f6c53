"""The build context of an image: wheels of the lock, unpacked, the parts of benchgate that it needs, its Dockerfile."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from images.inputs import IMAGES, PACKAGE, RECIPES, ROOT, BuildError, Target, locked

# Parts of wheels that only matter to somebody who compiles against them or tests them; a third of pyarrow.
_UNUSED = ("pyarrow/include", "pyarrow/tests", "pyarrow/src", "bin")
_UNUSED_GLOBS = ("pyarrow/_flight*", "pyarrow/libarrow_flight*", "pyarrow/libarrow_python_flight*")


def install(requirements: list[str], target: Target, site: Path) -> None:
    """Unpack the wheels of ``requirements`` into ``site``; hashes are checked, nothing is compiled or resolved."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(requirements) + "\n")
        file.flush()
        common = ["--no-deps", "--require-hashes", "--target", str(site), "-r", file.name]
        if shutil.which("uv"):
            platform = f"{target.machine}-manylinux_2_31"
            command = ["uv", "pip", "install", "-q", "--python-platform", platform, "--python-version", target.python]
            command += ["--only-binary", ":all:", *common]
        else:
            command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
            command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", target.python]
            for tag in ("manylinux_2_31", "manylinux_2_28", "manylinux_2_17", "manylinux2014"):
                command += ["--platform", f"{tag}_{target.machine}"]
            command += common
        result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        said = result.stderr.strip()[-1500:]
        raise BuildError(f"the wheels for Python {target.python} on {target.machine} could not be fetched:\n{said}")


def prepare(kind: str, target: Target, context: Path) -> dict[str, str]:
    """Fill ``context`` for an image and return its build arguments."""
    recipe = RECIPES[kind]
    site = context / "site"
    site.mkdir(parents=True)
    requirements = locked((ROOT / "requirements.txt").read_text(), recipe.packages, target)
    install(requirements, target, site)
    for unused in _UNUSED:
        shutil.rmtree(site / unused, ignore_errors=True)
    for pattern in _UNUSED_GLOBS:
        for path in site.glob(pattern):
            path.unlink()
    for part in recipe.parts:
        copy(PACKAGE / part, site / "benchgate" / part)
    for name in recipe.files:
        copy(PACKAGE / name, context / Path(name).name)
    for folder in recipe.folders:
        (context / folder).mkdir()
    copy(IMAGES / kind / "Dockerfile", context / "Dockerfile")
    if recipe.version_of is None:
        return {}
    pinned = requirements[recipe.packages.index(recipe.version_of)]
    return {"ENGINE_VERSION": pinned.split("==", 1)[1].split()[0]}


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder without byte code."""
    if not source.exists():
        raise BuildError(f"{source} is missing; is this a whole checkout?")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


def pack(context: Path) -> io.BufferedRandom:
    """The context as a tar file with fixed owners and times, so that the same content meets the build cache."""

    def plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = 315532800  # 1980: byte code and zip files cannot hold older times
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    file = tempfile.TemporaryFile()  # noqa: SIM115 - it is handed to the caller
    with tarfile.open(fileobj=file, mode="w") as archive:
        for path in sorted(context.rglob("*")):
            archive.add(path, str(path.relative_to(context)), recursive=False, filter=plain)
    file.seek(0)
    return file
