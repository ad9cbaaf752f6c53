"""What the Hugging Face Hub (or a mirror, ``HF_ENDPOINT``) says of a model, without fetching it.

A revision is a commit, and a commit is a list of files: each with its size, and the digest it must have.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.spec.campaign import ModelSpec

DEFAULT_ENDPOINT = "https://huggingface.co"
# The same weights again in other formats: no server here reads them, and they treble the download of gpt-oss.
_OTHER_FORMATS = ("original/", "metal/")
_COMMIT = re.compile(r"^[0-9a-f]{40}$")


@dataclass(frozen=True)
class HubFile:
    """One file as the hub describes it."""

    path: str
    size: int | None
    blob_id: str | None  # git's sha1 over header and content
    sha256: str | None  # large files only


def endpoint() -> str:
    """The hub that is asked (``HF_ENDPOINT``)."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def hub_token(given: str | None = None) -> str | None:
    """The token for the hub: ``given``, or ``HF_TOKEN``, or what ``hf auth login`` stored; masked from here on."""
    from huggingface_hub import get_token

    token = given or os.environ.get("HF_TOKEN") or get_token()
    secrets.register(token)
    return token


def is_commit(revision: str) -> bool:
    """Whether a revision is a commit hash, which means the same for ever."""
    return _COMMIT.match(revision) is not None


class Unreachable(Exception):
    """The hub did not answer; the message is fit for a person."""


def current_commit(model: ModelSpec, token: str | None) -> str:
    """The commit that the model's revision is now.

    Raises:
        SeedError: no such model or revision, or no permission.
        Unreachable: the hub does not answer.
    """
    question = lambda api: api.model_info(model.id, revision=model.revision, timeout=30).sha  # noqa: E731
    return str(ask(f"model {model.id}@{model.revision}", question, token))


def files_of(model: ModelSpec, commit: str, token: str | None) -> list[HubFile]:
    """The files of a commit that a server may read: without folders that repeat its weights in other formats.

    Raises:
        SeedError: the hub says no.
        Unreachable: the hub does not answer.
    """
    files = ask(f"model {model.id}@{model.revision}", lambda api: _describe(api, model.id, commit), token)
    skipped = _other_formats([file.path for file in files])
    return [file for file in files if not file.path.startswith(skipped)]


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


def ask(what: str, question: Any, token: str | None) -> Any:
    """Ask the hub; its many errors become two: it says no (SeedError), or it does not answer (Unreachable)."""
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
        raise Unreachable(f"{what}: {endpoint()} answered {secrets.mask(str(error))[:300]}") from None
    except (hub.OfflineModeIsEnabled, hub.LocalEntryNotFoundError) as error:
        raise Unreachable(f"{what}: {secrets.mask(str(error)).splitlines()[0][:300]}") from None
    except OSError as error:
        raise Unreachable(f"{what}: {endpoint()}: {secrets.mask(str(error))[:300]}") from None
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("httpx", "httpx2", "httpcore", "requests", "hf_xet"):
            raise
        raise Unreachable(f"{what}: {endpoint()}: {type(error).__name__}: {secrets.mask(str(error))[:300]}") from None
