"""The image of a campaign on one host: pulled by tag, resolved to a digest, and named by the digest from then on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.records import Evidence, SeedFact
from benchgate.seeding.image_pull import PullFailed, RegistryLogin, pull
from benchgate.spec.image_reference import ImageReference, parse_reference, through_mirror

# Where images say which engine they hold; labels first, because nobody sets them by accident.
_VERSION_LABELS = ("io.benchgate.engine.version", "ai.vllm.build.version", "org.opencontainers.image.version")
_VERSION_ENV = ("VLLM_VERSION", "SGLANG_VERSION", "SGL_VERSION", "VLLM_BUILD_VERSION")


@dataclass(frozen=True)
class ResolvedImage:
    """An image that is on the host now, by its digest."""

    host: str
    reference: str  # as the campaign writes it
    # repo@sha256:.., the only name that the run uses; the image's own id when it was built there and never pushed
    pinned: str
    digest: str
    previous_digest: str | None  # what the tag was on this host before; None: it was not there, or it is pinned
    engine_version: str | None  # None: the image does not say; the server's log will
    engine_version_evidence: Evidence | None
    entrypoint: list[str]
    pulled: bool
    brought: bool = False  # by this very pull: no such digest was on the host before
    note: str | None = None  # for the record, e.g. that the last digest was used because the pull failed

    @property
    def moved(self) -> bool:
        """Whether the tag means another image than before on this host."""
        return self.previous_digest is not None and self.previous_digest != self.digest

    @property
    def source(self) -> str:
        """The repository, or where it was built."""
        repository, at, _ = self.pinned.partition("@")
        return repository if at else f"built on host {self.host}"

    def seed_fact(self) -> SeedFact:
        """The fact for the run's record."""
        return SeedFact(kind="image", name=self.reference, digest=self.digest, source=self.source, note=self.note)


def registry_login(values: Mapping[str, str], *, prefix: str = "REGISTRY") -> RegistryLogin | None:
    """The login among a campaign's secrets: ``REGISTRY_USERNAME`` and ``REGISTRY_PASSWORD``; None without them.

    Raises:
        SeedError: one of the two is missing.
    """
    names = (f"{prefix}_USERNAME", f"{prefix}_PASSWORD")
    given = [name for name in names if values.get(name)]
    if len(given) == 1:
        missing = next(name for name in names if name not in given)
        raise SeedError(f"the secret {given[0]} is there and {missing} is not", remedy="give both, or neither")
    return RegistryLogin(values[names[0]], values[names[1]]) if given else None


def digest_of(repo_digests: Collection[str], repository: str) -> str | None:
    """The digest that an engine knows an image by in one repository; None for an image that was built there."""
    for entry in repo_digests:
        name, _, digest = entry.partition("@")
        if name.removeprefix("docker.io/").removeprefix("library/") == repository.removeprefix(
            "docker.io/"
        ).removeprefix("library/"):
            return digest
    return None


def version_in_image(config: Mapping[str, Any]) -> tuple[str, Evidence] | None:
    """The engine's version as the image states it, with the label or variable as evidence; None when it does not."""
    labels = config.get("Labels") or {}
    for name in _VERSION_LABELS:
        if value := labels.get(name):
            return str(value), Evidence(line=None, text=f"label {name}={value}", source="image")
    env = dict(entry.partition("=")[::2] for entry in config.get("Env") or [])
    for name in _VERSION_ENV:
        if value := env.get(name):
            return str(value), Evidence(line=None, text=f"env {name}={value}", source="image")
    return None


def digest_in(pinned: str) -> str:
    """``sha256:..`` of an image's unchanging name: behind ``repo@``, or the whole of an image id."""
    return pinned.rpartition("@")[2]


def nothing_new(
    planned: Collection[tuple[str, str]], published: Mapping[str, Collection[str]], *, force: bool
) -> str | None:
    """Why a run has nothing to measure: earlier runs measured all of it on the very same images. None: measure.

    Args:
        planned: digest of the image, resolved, and measurement of every planned cell.
        published: digest -> measurements that earlier runs are done with; only digests that published a cell.
        force: measure all the same.
    """
    if force or not planned or any(measurement not in published.get(digest, ()) for digest, measurement in planned):
        return None
    named = ", ".join(sorted({digest[:19] for digest, _ in planned}))
    return f"nothing new to measure: {named} was published by an earlier run (force measures it again)"


def resolve_image(
    engine: DockerEngine,
    image: str,
    *,
    mirror: str | None = None,
    login: RegistryLogin | None = None,
    on_pull_failure: Literal["fail", "use_last"] = "fail",
    last_digest: str | None = None,
    report: Callable[[str], None],
) -> ResolvedImage:
    """Bring the image to the host and name it by its digest.

    A tag is pulled every time: that is what *nightly* means. A digest that is already there is not pulled again.

    Args:
        last_digest: what an earlier run used; with ``use_last`` it stands in when the pull fails and the tag is not on
            the host any more.

    Raises:
        PullFailed: no such tag, no login, no space, registry unreachable, and no earlier digest (nor an image of that
            tag that was built on the host) may or can be used.
        HostError: the Docker Engine does not answer.
    """
    if login is None and engine.connection.registry_username and engine.connection.registry_password:
        login = RegistryLogin(engine.connection.registry_username, engine.connection.registry_password)
    reference = through_mirror(parse_reference(image), mirror)
    previous = None if reference.pinned else _local_digest(engine, reference)
    note = None
    pulled = False
    there = digests_on(engine, reference.repository)
    if reference.digest is not None and engine.image(str(reference)) is not None:
        digest = reference.digest
        report(f"{engine.host}: {reference} is there")
    else:
        try:
            said = pull(engine, reference, login=login, report=report)
            found = reference.digest or said.digest or _local_digest(engine, reference)
            pulled = True
        except PullFailed as error:
            if on_pull_failure != "use_last":
                raise
            found = _last_usable(engine, reference, previous, last_digest)
            if found is None:
                built = _built_here(engine, image, reference)
                if built is None:
                    raise
                report(f"{engine.host}: {image} is in no registry; {built.note}")
                return built
            note = secrets.mask(f"pull failed ({error.kind.value}), last digest used: {error.message}")
            report(f"{engine.host}: {note}")
        if found is None:
            raise SeedError(
                f"host {engine.host}: {reference} was pulled and the engine does not say its digest",
                remedy="use an image that comes from a registry",
            )
        digest = found
    resolved = _described(engine, image, reference, digest, previous=previous, pulled=pulled, note=note, report=report)
    return replace(resolved, brought=pulled and digest not in there)


def _described(
    engine: DockerEngine,
    image: str,
    reference: ImageReference,
    digest: str,
    *,
    previous: str | None,
    pulled: bool,
    note: str | None,
    report: Callable[[str], None],
) -> ResolvedImage:
    pinned = reference.at(digest)
    details = engine.image(pinned)
    if details is None:
        raise SeedError(
            f"host {engine.host}: {pinned} is not there although its pull ended well",
            remedy="another process removed it; start the run again",
        )
    resolved = _resolved(engine, image, pinned, details, previous=previous, pulled=pulled, note=note)
    if resolved.moved:
        report(f"{engine.host}: {reference} moved from {previous} to {digest}")
    return resolved


def _resolved(
    engine: DockerEngine,
    image: str,
    pinned: str,
    details: Mapping[str, Any],
    *,
    previous: str | None = None,
    pulled: bool = False,
    note: str | None = None,
) -> ResolvedImage:
    config = details.get("Config") or {}
    version = version_in_image(config)
    return ResolvedImage(
        host=engine.host,
        reference=image,
        pinned=pinned,
        digest=digest_in(pinned),
        previous_digest=previous,
        engine_version=version[0] if version else None,
        engine_version_evidence=version[1] if version else None,
        entrypoint=list(config.get("Entrypoint") or []),
        pulled=pulled,
        note=note,
    )


def _built_here(engine: DockerEngine, image: str, reference: ImageReference) -> ResolvedImage | None:
    """What the tag means on this host when no registry ever had it: its id, which is a digest over its content.

    None: it is not there, it is asked for by a registry's digest, or it did come from a registry.
    """
    details = None if reference.pinned else engine.image(str(reference))
    if details is None or details.get("RepoDigests"):
        return None
    note = "the image that was built on this host is used, by its id"
    return _resolved(engine, image, str(details["Id"]), details, note=note)


def digests_on(engine: DockerEngine, repository: str) -> set[str]:
    """Every digest of a repository that is on the host, tagged or not."""
    with engine.doing(f"cannot list images of {repository}"):
        images = engine.api.images(name=repository)
    found = (digest_of(image.get("RepoDigests") or [], repository) for image in images)
    return {digest for digest in found if digest is not None}


def _local_digest(engine: DockerEngine, reference: ImageReference) -> str | None:
    """The digest that the tag means on this host now."""
    found = engine.image(str(reference))
    return digest_of(found.get("RepoDigests") or [], reference.repository) if found else None


def _last_usable(
    engine: DockerEngine, reference: ImageReference, previous: str | None, last_digest: str | None
) -> str | None:
    """An earlier digest that is still on the host: the tag's own before the pull, else what an earlier run used.

    A pinned reference has no other: measuring a different content under that name would be a lie.
    """
    if reference.pinned:
        return None
    for digest in (previous, last_digest):
        if digest and engine.image(reference.at(digest)) is not None:
            return digest
    return None
