"""A model snapshot of the Hugging Face Hub (or of a mirror, ``HF_ENDPOINT``) at one revision.

The revision is resolved to a commit hash first; the commit names the folder, so a branch that moved is another seed.
Every file is checked against what the hub says of it: sha256 for large files, git's blob id for small ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.meanwhile import meanwhile
from benchgate.records import SeedFact
from benchgate.seeding.places import Report, locked, place, silent
from benchgate.seeding.verify import NOTE, git_blob_sha1, verified_sha256
from benchgate.spec.campaign import ModelSpec
from benchgate.whole_file import PART

LISTING = f"{NOTE}hub.json"  # in the snapshot: what the hub said each file is
LAST = "last-{}.json"  # beside the snapshots: the commit a revision was resolved to last time
_TELL_EVERY_S = 10.0
DEFAULT_ENDPOINT = "https://huggingface.co"
_AGAIN = "run the seed step again: it fetches what is not whole"
_COMMIT = re.compile(r"^[0-9a-f]{40}$")
# The same weights again in other formats: no server here reads them, and they treble the download of gpt-oss.
_OTHER_FORMATS = ("original/", "metal/")


@dataclass(frozen=True)
class HubFile:
    """One file as the hub describes it."""

    path: str
    size: int | None
    blob_id: str | None  # git's sha1 over header and content
    sha256: str | None  # large files only


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
    token = token or os.environ.get("HF_TOKEN") or None
    secrets.register(token)
    folder = place("models", model.id.replace("/", "--"))
    what = f"model {model.id}@{model.revision}"
    note = None
    with locked(folder, what, report):
        try:
            commit = _resolve(model, folder, what, token)
        except _Unreachable as error:
            last = _last_commit(folder, model.revision)
            if on_hub_failure == "fail" or last is None:
                raise SeedError(str(error), remedy="check HF_ENDPOINT and the network, or pin a commit hash") from None
            commit, note = last, f"the hub cannot be reached; the last resolved commit {last} is used"
            report(f"{what}: {note}")
        target = folder / commit
        if not target.is_dir():
            try:
                _fetch(model, commit, target, what, token, report)
            except _Unreachable as error:
                raise SeedError(str(error), remedy="run the seed step again: what is there is kept") from None
        _verify_seeded(target, what)
        (folder / LAST.format(model.revision.replace("/", "--"))).write_text(json.dumps({"commit": commit}))
    return SeedFact(
        kind="model", name=model.id, digest=commit, source=f"{endpoint()}/{model.id}", path=str(target), note=note
    )


def endpoint() -> str:
    """The hub that is asked (``HF_ENDPOINT``)."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


class _Unreachable(Exception):
    """The hub did not answer; the message is fit for a person."""


def _resolve(model: ModelSpec, folder: Path, what: str, token: str | None) -> str:
    if _COMMIT.match(model.revision) and (folder / model.revision).is_dir():
        return model.revision
    return str(_ask(what, lambda api: api.model_info(model.id, revision=model.revision, timeout=30).sha, token))


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

    files = _ask(what, lambda api: _describe(api, model.id, commit), token)
    skipped = _other_formats([file.path for file in files])
    wanted = [file for file in files if not file.path.startswith(skipped)]
    size = sum(file.size or 0 for file in wanted) / 2**30
    report(f"{what}: fetching {len(wanted)} files, {size:.2f} GiB, commit {commit}")
    aside = _aside(target)
    aside.mkdir(parents=True, exist_ok=True)
    patterns = [f"{prefix}*" for prefix in skipped]
    disable_progress_bars()  # they fill a task log; the size on disk tells the same

    def tell() -> None:
        report(f"{what}: {_lying_in(aside) / 2**30:.2f} of {size:.2f} GiB")

    with meanwhile(tell, every_s=_TELL_EVERY_S, name="model-download"):
        _ask(
            what,
            lambda _: snapshot_download(
                model.id,
                revision=commit,
                local_dir=aside,
                ignore_patterns=patterns or None,
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


def _describe(api: Any, repo: str, commit: str) -> list[HubFile]:
    info = api.model_info(repo, revision=commit, files_metadata=True, timeout=30)
    return [
        HubFile(file.rfilename, file.size, file.blob_id, file.lfs.sha256 if file.lfs is not None else None)
        for file in info.siblings or []
    ]


def _other_formats(paths: list[str]) -> tuple[str, ...]:
    """Folders that only repeat weights which the top level has as safetensors."""
    if not any("/" not in path and path.endswith(".safetensors") for path in paths):
        return ()
    return tuple(prefix for prefix in _OTHER_FORMATS if any(path.startswith(prefix) for path in paths))


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


def _ask(what: str, question: Any, token: str | None) -> Any:
    """Ask the hub; its many errors become two: it says no (SeedError), or it does not answer (_Unreachable)."""
    from huggingface_hub import HfApi
    from huggingface_hub import errors as hub

    try:
        return question(HfApi(endpoint=endpoint(), token=token))
    except hub.GatedRepoError:
        raise SeedError(f"{what}: access is gated", remedy="accept its terms on the hub, and set HF_TOKEN") from None
    except hub.RepositoryNotFoundError as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        missing = "" if token else "; no token was sent, and the hub also answers so for private models"
        raise SeedError(
            f"{what}: {endpoint()} has no such model for us (HTTP {status}{missing})",
            remedy="check the id, and HF_TOKEN for a private model",
        ) from None
    except hub.RevisionNotFoundError:
        raise SeedError(f"{what}: the model has no such revision", remedy="name a branch, tag or commit") from None
    except hub.HFValidationError as error:
        raise SeedError(f"{what}: {error}", remedy="write the id as owner/name") from None
    except hub.HfHubHTTPError as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status in (401, 403):
            raise SeedError(f"{what}: the hub refused us (HTTP {status})", remedy="is HF_TOKEN valid?") from None
        raise _Unreachable(f"{what}: {endpoint()} answered {secrets.mask(str(error))[:300]}") from None
    except (hub.OfflineModeIsEnabled, hub.LocalEntryNotFoundError) as error:
        raise _Unreachable(f"{what}: {secrets.mask(str(error)).splitlines()[0][:300]}") from None
    except OSError as error:
        raise _Unreachable(f"{what}: {endpoint()}: {secrets.mask(str(error))[:300]}") from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("httpx", "httpx2", "httpcore", "requests", "hf_xet"):
            raise
        raise _Unreachable(f"{what}: {endpoint()}: {type(error).__name__}: {secrets.mask(str(error))[:300]}") from None
