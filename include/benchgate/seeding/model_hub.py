"""A model snapshot of the Hugging Face Hub (or of a mirror, ``HF_ENDPOINT``) at one revision.

The revision is resolved to a commit hash first; the commit names the folder, so a branch that moved is another seed.
Every file is checked against what the hub says of it: sha256 for large files, git's blob id for small ones.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Literal

from benchgate.errors import SeedError
from benchgate.meanwhile import meanwhile
from benchgate.records import SeedFact
from benchgate.seeding.hub_listing import (
    HubFile,
    Unreachable,
    ask,
    current_commit,
    endpoint,
    files_of,
    hub_token,
    is_commit,
)
from benchgate.seeding.places import Report, locked, place, silent
from benchgate.seeding.verify import NOTE, git_blob_sha1, verified_sha256
from benchgate.spec.campaign import ModelSpec
from benchgate.whole_file import PART

LISTING = f"{NOTE}hub.json"  # in the snapshot: what the hub said each file is
LAST = "last-{}.json"  # beside the snapshots: the commit a revision was resolved to last time
_TELL_EVERY_S = 10.0
_AGAIN = "run the seed step again: it fetches what is not whole"


def seed_hub_model(
    model: ModelSpec,
    report: Report = silent,
    *,
    token: str | None = None,
    on_hub_failure: Literal["fail", "use_last"] = "fail",
) -> SeedFact:
    """Put the snapshot of ``model.id`` at ``model.revision`` in place, verified.

    A snapshot that is there is verified without the hub when the revision is a commit hash. An interrupted download
    goes on where it stopped.

    Args:
        model: what to fetch.
        report: takes lines of progress.
        token: for private and gated models; None: ``HF_TOKEN``, or what ``hf auth login`` stored.
        on_hub_failure: ``use_last`` takes the commit that this revision had last time when the hub cannot be reached,
            and says so in the fact's note.

    Raises:
        SeedError: no such model, revision or permission; unreachable; or a file that is not what the hub says (both
            digests named).
    """
    token = hub_token(token)
    folder = place("models", model.id.replace("/", "--"))
    what = f"model {model.id}@{model.revision}"
    note = None
    with locked(folder, what, report):
        try:
            commit = _resolve(model, folder, token)
        except Unreachable as error:
            last = _last_commit(folder, model.revision)
            if on_hub_failure == "fail" or last is None:
                raise SeedError(str(error), remedy="check HF_ENDPOINT and the network, or pin a commit hash") from None
            commit, note = last, f"the hub cannot be reached; the last resolved commit {last} is used"
            report(f"{what}: {note}")
        target = folder / commit
        if not target.is_dir():
            try:
                _fetch(model, commit, target, what, token, report)
            except Unreachable as error:
                raise SeedError(str(error), remedy="run the seed step again: what is there is kept") from None
        _verify_seeded(target, what)
        (folder / LAST.format(model.revision.replace("/", "--"))).write_text(json.dumps({"commit": commit}))
    return SeedFact(
        kind="model", name=model.id, digest=commit, source=f"{endpoint()}/{model.id}", path=str(target), note=note
    )


def _resolve(model: ModelSpec, folder: Path, token: str | None) -> str:
    if is_commit(model.revision) and (folder / model.revision).is_dir():
        return model.revision
    return current_commit(model, token)


def _last_commit(folder: Path, revision: str) -> str | None:
    try:
        commit = json.loads((folder / LAST.format(revision.replace("/", "--"))).read_text())["commit"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(commit) if (folder / str(commit)).is_dir() else None


def _fetch(model: ModelSpec, commit: str, target: Path, what: str, token: str | None, report: Report) -> None:
    """Download into the folder aside, verify there, rename."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    wanted = files_of(model, commit, token)
    size = sum(file.size or 0 for file in wanted) / 2**30
    report(f"{what}: fetching {len(wanted)} files, {size:.2f} GiB, commit {commit}")
    aside = _aside(target)
    aside.mkdir(parents=True, exist_ok=True)
    disable_progress_bars()  # they fill a task log; the size on disk tells the same

    def tell() -> None:
        report(f"{what}: {_lying_in(aside) / 2**30:.2f} of {size:.2f} GiB")

    with meanwhile(tell, every_s=_TELL_EVERY_S, name="model-download"):
        ask(
            what,
            lambda _: snapshot_download(
                model.id,
                revision=commit,
                local_dir=aside,
                allow_patterns=[escape(file.path) for file in wanted],
                endpoint=endpoint(),
                token=token,
                max_workers=4,
            ),
            token,
        )
    _verify(aside, wanted, what)
    (aside / LISTING).write_text(json.dumps([asdict(file) for file in wanted], indent=1))
    aside.rename(target)
    report(f"{what}: verified")


def _aside(target: Path) -> Path:
    """Where a snapshot lies while it is not whole."""
    return target.with_name(f"{target.name}{PART}")


def _lying_in(folder: Path) -> int:
    """Bytes of everything below a folder."""
    have = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # it is being renamed
            have += path.stat().st_size
    return have


def _listing(target: Path) -> list[HubFile]:
    try:
        return [HubFile(**file) for file in json.loads((target / LISTING).read_text())]
    except (OSError, ValueError, TypeError):
        raise SeedError(
            f"{target} is not a snapshot that was seeded here: {LISTING} is missing or damaged",
            remedy=_AGAIN,
        ) from None


def _verify_seeded(target: Path, what: str) -> None:
    """Verify a snapshot that is in place. A damaged one is refused, and leaves the place where it is taken for whole.

    What is whole of it is kept aside: the next attempt fetches the rest.
    """
    try:
        _verify(target, _listing(target), what)
    except SeedError:
        shutil.rmtree(_aside(target), ignore_errors=True)
        target.rename(_aside(target))
        raise


def _verify(folder: Path, files: list[HubFile], what: str) -> None:
    for file in files:
        path = folder / file.path
        if not path.is_file():
            raise SeedError(f"{what}: {file.path} is missing in {folder}", remedy=_AGAIN)
        size = path.stat().st_size
        if file.size is not None and size != file.size:
            path.unlink()  # the next attempt fetches this file only; below too
            raise SeedError(f"{what}: {file.path} has {size} bytes, and the hub says {file.size}", remedy=_AGAIN)
        if file.sha256 is not None:
            kind, found, expected = "sha256", verified_sha256(path), file.sha256
        elif file.blob_id is not None:
            kind, found, expected = "git blob id", git_blob_sha1(path), file.blob_id
        else:
            continue
        if found != expected:
            path.unlink()
            raise SeedError(
                f"{what}: {file.path} has wrong content: {kind} is {found}, and {expected} was expected", remedy=_AGAIN
            )
