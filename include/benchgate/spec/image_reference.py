"""Names of images: what a person writes, taken apart and put together again."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from benchgate.errors import SeedError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REGISTRY = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?")
_PATH = re.compile(r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*")


@dataclass(frozen=True)
class ImageReference:
    """``registry/path:tag`` or ``registry/path@digest``. A digest wins: it is the content, a tag is a wish."""

    registry: str | None  # None: the engine's default, Docker Hub
    path: str
    tag: str | None
    digest: str | None = None

    @property
    def repository(self) -> str:
        """What stands before the tag, as the engine lists it."""
        return f"{self.registry}/{self.path}" if self.registry else self.path

    @property
    def pinned(self) -> bool:
        """Whether it names one content for ever."""
        return self.digest is not None

    def at(self, digest: str) -> str:
        """The same repository at a digest: the only form that the rest of a run uses."""
        return f"{self.repository}@{digest}"

    def __str__(self) -> str:
        return self.at(self.digest) if self.digest else f"{self.repository}:{self.tag}"


def parse_reference(text: str) -> ImageReference:
    """Take an image name apart; without tag and digest it is ``latest``.

    Raises:
        SeedError: it is no image name.
    """
    reference, problem = _taken_apart(text)
    if problem:
        raise SeedError(f"{text!r} is no image name: {problem}", remedy="write repository:tag or repository@sha256:..")
    return reference


def image_problem(text: str) -> str | None:
    """What keeps a text from being an image name, for whoever wrote it into a file; None when it is one."""
    problem = _taken_apart(text)[1]
    return f"must be an image, name:tag or name@sha256:..: {problem}; is {text!r}" if problem else None


def _taken_apart(text: str) -> tuple[ImageReference, str | None]:
    """The parts of an image name, and what is wrong with them."""
    rest, _, digest = text.partition("@")
    first, slash, others = rest.partition("/")
    registry = None
    if slash and ("." in first or ":" in first or first == "localhost"):
        registry, rest = first, others
    path, _, tag = rest.partition(":")
    problem = None
    if digest and not _DIGEST.fullmatch(digest):
        problem = "the digest must be sha256: and 64 hexadecimal digits"
    elif "@" in text and not digest:
        problem = "nothing stands after the @"
    elif registry is not None and not _REGISTRY.fullmatch(registry):
        problem = "a registry is a host name, with :port or without"
    elif not _PATH.fullmatch(path):
        problem = "a repository is lower-case letters, digits and . _ - between slashes"
    elif ":" in rest and not _TAG.fullmatch(tag):
        problem = "a tag is letters, digits and . _ -"
    return ImageReference(registry, path, None if digest else tag or "latest", digest or None), problem


def through_mirror(reference: ImageReference, mirror: str | None) -> ImageReference:
    """The same image from a mirror (``host:port`` or ``host:port/prefix``). The digest does not change on the way."""
    if not mirror:
        return reference
    registry, _, prefix = mirror.removeprefix("https://").removeprefix("http://").strip("/").partition("/")
    if reference.registry == registry:
        return reference
    path = reference.path if reference.registry or "/" in reference.path else f"library/{reference.path}"
    return replace(reference, registry=registry, path=f"{prefix}/{path}" if prefix else path)
