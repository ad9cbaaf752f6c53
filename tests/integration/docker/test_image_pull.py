"""Pull, resolve and move a nightly tag against a real Docker Engine and a real registry."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from benchgate import secrets
from benchgate.hosts.docker_connections import EngineConnection
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.seeding.image import RegistryLogin, digests_on, resolve_image
from benchgate.seeding.image_pull import PullFailed, PullFailure
from benchgate.steps.old_images import ImageUse, remove_old_images
from tests.integration.docker.conftest import LOCAL
from tests.support import base_image
from tests.support.docker_engine import SecondEngine, second_engine
from tests.support.registry import Registry, running_registry
from tests.support.requirements import require

pytestmark = pytest.mark.docker
MakeNightly = Callable[[str], str]


@pytest.fixture
def engine(local_api: Any) -> Iterator[DockerEngine]:
    made = DockerEngine("gpu1", EngineConnection(LOCAL))
    yield made
    made.close()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    require("registry")
    with running_registry(tmp_path) as running:
        yield running


@pytest.fixture
def nightly(engine: DockerEngine, registry: Registry) -> Iterator[MakeNightly]:
    """Build a version, push it as ``nightly`` and forget it locally; returns its digest."""
    made: list[str] = []
    unique = uuid.uuid4().hex[:8]

    def push(version: str) -> str:
        tag = f"benchgate-test/nightly-{unique}:{version}"
        text = f'FROM {base_image.PYBASE}\nLABEL io.benchgate.engine.version={version} unique={unique}\nCMD ["x"]\n'
        base_image.build(engine.api, tag, text, {})
        digest = registry.push(engine.api, tag, "engines/vllm", "nightly")
        engine.api.remove_image(tag, force=True)
        forget(engine, f"{registry.address}/engines/vllm:nightly")
        made.append(digest)
        return digest

    yield push
    for digest in made:
        forget(engine, f"{registry.address}/engines/vllm@{digest}")
    forget(engine, f"{registry.address}/engines/vllm:nightly")


def forget(engine: DockerEngine, name: str) -> None:
    """Remove an image from the engine, so that a pull has something to do."""
    with contextlib.suppress(APIError):
        engine.api.remove_image(name, force=True)


def test_a_moved_tag_is_seen_with_both_digests_and_the_version(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    image = f"{registry.address}/engines/vllm:nightly"
    lines: list[str] = []
    first_digest = nightly("1.0.0")
    first = resolve_image(engine, image, report=lines.append)
    second_digest = nightly("1.1.0")
    # nightly() forgot the tag, as a prune would: bring the first one back under it
    engine.api.tag(first.pinned, f"{registry.address}/engines/vllm", "nightly")

    second = resolve_image(engine, image, report=lines.append)
    third = resolve_image(engine, image, report=lines.append)

    assert (first.digest, first.previous_digest, first.engine_version) == (first_digest, None, "1.0.0")
    assert first.pinned == f"{registry.address}/engines/vllm@{first_digest}"
    assert (second.digest, second.previous_digest, second.engine_version) == (second_digest, first_digest, "1.1.0")
    assert second.moved
    assert not third.moved
    assert any(f"moved from {first_digest} to {second_digest}" in line for line in lines)
    assert any("layers" in line or "Downloaded newer image" in line for line in lines)
    assert second.seed_fact().digest == second_digest


def test_a_pinned_digest_that_is_there_is_not_pulled_again(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    digest = nightly("2.0.0")
    pinned = f"{registry.address}/engines/vllm@{digest}"
    first = resolve_image(engine, pinned, report=lambda _: None)
    registry.stop()

    second = resolve_image(engine, pinned, report=lambda _: None)

    assert first.pulled
    assert not second.pulled
    assert second.pinned == pinned
    assert second.previous_digest is None


def test_a_tag_that_does_not_exist_is_told_apart(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    nightly("3.0.0")

    for image in ("engines/vllm:no-such-tag", "no/such-repository:nightly"):
        with pytest.raises(PullFailed) as caught:
            resolve_image(engine, f"{registry.address}/{image}", report=lambda _: None)
        assert caught.value.kind is PullFailure.NO_SUCH_TAG
        assert "host gpu1" in str(caught.value)
        assert image in str(caught.value)


def test_an_unreachable_registry_fails_or_uses_the_last_digest_and_says_so(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    image = f"{registry.address}/engines/vllm:nightly"
    digest = nightly("4.0.0")
    resolve_image(engine, image, report=lambda _: None)
    registry.stop()

    with pytest.raises(PullFailed) as caught:
        resolve_image(engine, image, report=lambda _: None)
    used = resolve_image(engine, image, on_pull_failure="use_last", report=lambda _: None)
    engine.api.remove_image(image, noprune=True)  # the tag goes, the digest that a container used may stay
    with pytest.raises(PullFailed):
        resolve_image(
            engine, image, on_pull_failure="use_last", last_digest="sha256:" + "0" * 64, report=lambda _: None
        )

    assert caught.value.kind is PullFailure.UNREACHABLE
    assert used.digest == digest
    assert used.note is not None
    assert "pull failed (unreachable), last digest used" in used.note
    assert used.seed_fact().note == used.note
    assert not used.pulled


def test_a_login_is_asked_for_used_and_never_shown(engine: DockerEngine, tmp_path: Path) -> None:
    require("registry")
    secret = "correct-horse-battery"
    auth = {"username": "ci", "password": secret}
    with running_registry(tmp_path, login=("ci", secret)) as registry:
        digest = registry.push(engine.api, base_image.TEST_SERVER, "private/vllm", "nightly", auth)
        image = f"{registry.address}/private/vllm:nightly"
        forget(engine, image)
        lines: list[str] = []

        with pytest.raises(PullFailed) as without:
            resolve_image(engine, image, report=lines.append)
        with pytest.raises(PullFailed) as wrong:
            resolve_image(engine, image, login=RegistryLogin("ci", "wrong-password"), report=lines.append)
        right = resolve_image(engine, image, login=RegistryLogin("ci", secret), report=lines.append)
        forget(engine, image)

    assert without.value.kind is PullFailure.NO_LOGIN
    assert wrong.value.kind is PullFailure.NO_LOGIN
    assert right.digest == digest
    shown = "\n".join([*lines, str(without.value), str(wrong.value), repr(right), repr(RegistryLogin("ci", secret))])
    assert secret not in shown
    assert secrets.mask(secret) == "***"


def test_a_mirror_gives_the_same_digest(engine: DockerEngine, registry: Registry, nightly: MakeNightly) -> None:
    digest = nightly("5.0.0")

    resolved = resolve_image(engine, "engines/vllm:nightly", mirror=registry.address, report=lambda _: None)

    assert resolved.reference == "engines/vllm:nightly"
    assert resolved.pinned == f"{registry.address}/engines/vllm@{digest}"


def test_the_digest_of_an_earlier_run_stands_in_only_while_it_is_there(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    image = f"{registry.address}/engines/vllm:nightly"
    digest = nightly("6.0.0")
    resolve_image(engine, f"{registry.address}/engines/vllm@{digest}", report=lambda _: None)  # there, but not tagged
    registry.stop()

    used = resolve_image(engine, image, on_pull_failure="use_last", last_digest=digest, report=lambda _: None)
    forget(engine, used.pinned)
    with pytest.raises(PullFailed):
        resolve_image(engine, image, on_pull_failure="use_last", last_digest=digest, report=lambda _: None)

    assert used.digest == digest


@pytest.mark.slow
def test_a_full_disk_is_told_apart(engine: DockerEngine, tmp_path: Path) -> None:
    require("registry", "root")
    (tmp_path / "registry").mkdir()
    with (
        second_engine(tmp_path / "small", disk_mib=40) as small,
        running_registry(tmp_path / "registry", bind="0.0.0.0") as registry,
    ):
        registry.push(engine.api, base_image.PYBASE, "big/image", "nightly")
        forget(engine, f"{registry.address}/big/image:nightly")
        port = registry.address.rpartition(":")[2]
        far = DockerEngine("gpu2", small.connection())

        with pytest.raises(PullFailed) as caught:
            resolve_image(far, f"{small.worker_address}:{port}/big/image:nightly", report=lambda _: None)
        far.close()

    assert caught.value.kind is PullFailure.NO_SPACE
    assert "docker system df" in str(caught.value.remedy)


@pytest.mark.slow
def test_a_remote_host_pulls_from_a_registry_of_the_site(
    engine: DockerEngine, remote: SecondEngine, tmp_path: Path
) -> None:
    require("registry")
    with running_registry(tmp_path, bind="0.0.0.0") as registry:
        digest = registry.push(engine.api, base_image.TEST_SERVER, "engines/vllm", "nightly")
        forget(engine, f"{registry.address}/engines/vllm:nightly")
        mirror = f"{remote.worker_address}:{registry.address.rpartition(':')[2]}"
        far = DockerEngine("gpu2", remote.connection())

        resolved = resolve_image(far, "engines/vllm:nightly", mirror=mirror, report=lambda _: None)
        forget(far, resolved.pinned)
        far.close()

    assert resolved.digest == digest
    assert resolved.engine_version == "1.2.3"


def test_an_image_that_was_built_on_the_host_is_used_by_its_id_where_that_is_allowed(engine: DockerEngine) -> None:
    image = "localhost/benchgate-test/built-here:1"  # nobody can publish under this name: localhost is no registry
    base_image.build(engine.api, image, f"FROM {base_image.TEST_SERVER}\nLABEL io.benchgate.engine.version=b7\n", {})
    lines: list[str] = []

    with pytest.raises(PullFailed):
        resolve_image(engine, image, report=lines.append)
    used = resolve_image(engine, image, on_pull_failure="use_last", report=lines.append)
    found = engine.api.inspect_image(used.pinned)
    forget(engine, image)
    with pytest.raises(PullFailed):
        resolve_image(engine, image, on_pull_failure="use_last", report=lines.append)

    assert used.pinned == used.digest == found["Id"]
    assert used.engine_version == "b7"
    assert not used.moved
    assert used.seed_fact().source == f"built on host {engine.host}"
    assert "built on this host" in str(used.note)
    assert any("in no registry" in line for line in lines)


def test_old_nights_that_our_pulls_brought_go_and_others_images_stay(
    engine: DockerEngine, registry: Registry, nightly: MakeNightly
) -> None:
    image = f"{registry.address}/engines/vllm:nightly"
    used = []
    for number in range(1, 5):
        digest = nightly(f"0.{number}")
        if number == 1:
            engine.api.pull(image)  # by a person, before any run
        resolved = resolve_image(engine, image, report=lambda _: None)
        assert (resolved.digest, resolved.brought) == (digest, number != 1)
        used.append(resolved)
    uses = [
        ImageUse(f"run-{n}", f"2026-11-0{n}", n != 2, (found.pinned,), (found.pinned,) if found.brought else ())
        for n, found in enumerate(used, 1)
    ]

    removed = remove_old_images(engine, 1, is_over=lambda _: True, uses=uses)
    again = remove_old_images(engine, 1, is_over=lambda _: True, uses=uses)

    there = digests_on(engine, f"{registry.address}/engines/vllm")
    assert there == {
        used[0].digest,
        used[1].digest,
        used[3].digest,
    }  # a person's, that of a run in progress, the newest
    assert [used[2].pinned in what for what in removed] == [True]
    assert again == []
