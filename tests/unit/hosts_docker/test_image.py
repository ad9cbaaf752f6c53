"""Names of images, what pull errors mean, what progress says, and whether there is anything new to measure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.errors import SeedError
from benchgate.seeding.image import ResolvedImage, digest_of, nothing_new, registry_login, version_in_image
from benchgate.seeding.image_pull import PullFailure, PullProgress, classify
from benchgate.spec.image_reference import ImageReference, parse_reference, through_mirror

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("vllm/vllm-openai:cu130-nightly", ImageReference(None, "vllm/vllm-openai", "cu130-nightly")),
        ("python", ImageReference(None, "python", "latest")),
        ("localhost:5000/engines/vllm", ImageReference("localhost:5000", "engines/vllm", "latest")),
        ("127.0.0.1:5000/vllm:a.b-c_d", ImageReference("127.0.0.1:5000", "vllm", "a.b-c_d")),
        (f"ghcr.io/x/y@{DIGEST}", ImageReference("ghcr.io", "x/y", None, DIGEST)),
        (f"ghcr.io/x/y:nightly@{DIGEST}", ImageReference("ghcr.io", "x/y", None, DIGEST)),
    ],
)
def test_image_names_are_taken_apart(text: str, reference: ImageReference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Vllm/x",
        "vllm/x:",
        "a b",
        "x@sha256:12",
        "x@",
        f"x@md5:{'a' * 32}",
        "x:ta/g",
        "-x",
        "x//y",
        "x:" + "t" * 129,
    ],
)
def test_what_is_no_image_name_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(SeedError, match="is no image name") as caught:
        parse_reference(text)

    assert repr(text) in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_image_name_or_a_clear_error(text: str) -> None:
    try:
        reference = parse_reference(text)
    except SeedError:
        return

    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize(
    ("image", "mirror", "pulled"),
    [
        ("vllm/vllm-openai:nightly", "mirror:5000", "mirror:5000/vllm/vllm-openai:nightly"),
        ("python:3.12", "mirror:5000", "mirror:5000/library/python:3.12"),
        ("ghcr.io/x/y:1", "https://mirror/hub/", "mirror/hub/x/y:1"),
        ("mirror:5000/x:1", "mirror:5000", "mirror:5000/x:1"),
        (f"vllm/vllm-openai@{DIGEST}", "mirror:5000", f"mirror:5000/vllm/vllm-openai@{DIGEST}"),
        ("vllm/vllm-openai:nightly", None, "vllm/vllm-openai:nightly"),
    ],
)
def test_a_mirror_takes_the_place_of_the_registry(image: str, mirror: str | None, pulled: str) -> None:
    assert str(through_mirror(parse_reference(image), mirror)) == pulled


# As Docker Engine 20.10 to 28 say it, for real registries
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("manifest for 127.0.0.1:5000/x:no not found: manifest unknown: manifest unknown", PullFailure.NO_SUCH_TAG),
        ("repository 127.0.0.1:5000/no/x not found: name unknown: repository name not known", PullFailure.NO_SUCH_TAG),
        (
            "pull access denied for vllm/none, repository does not exist or may require 'docker login': denied: "
            "requested access to the resource is denied",
            PullFailure.NO_LOGIN,
        ),
        ('Head "http://127.0.0.1:5000/v2/x/manifests/1": no basic auth credentials', PullFailure.NO_LOGIN),
        ("unauthorized: authentication required", PullFailure.NO_LOGIN),
        ("error from registry: You have reached your pull rate limit. toomanyrequests", PullFailure.RATE_LIMITED),
        ("failed to register layer: write /usr/lib/x: no space left on device", PullFailure.NO_SPACE),
        ("no matching manifest for linux/arm64/v8 in the manifest list entries", PullFailure.WRONG_PLATFORM),
        (
            'Get "http://127.0.0.1:5000/v2/": dial tcp 127.0.0.1:5000: connect: connection refused',
            PullFailure.UNREACHABLE,
        ),
        ("dial tcp: lookup registry.example on 10.0.0.2:53: no such host", PullFailure.UNREACHABLE),
        ('Get "https://r/v2/": net/http: TLS handshake timeout', PullFailure.UNREACHABLE),
        ('Get "https://r/v2/": http: server gave HTTP response to HTTPS client', PullFailure.UNREACHABLE),
        ("something that nobody has seen", PullFailure.OTHER),
    ],
)
def test_pull_failures_are_told_apart(message: str, kind: PullFailure) -> None:
    assert classify(message) is kind


def test_progress_sums_up_the_layers_and_knows_the_digest() -> None:
    progress = PullProgress()
    events: list[dict[str, Any]] = [
        {"status": "Pulling from vllm/vllm-openai", "id": "nightly"},
        {"status": "Already exists", "id": "l1"},
        {"status": "Downloading", "id": "l2", "progressDetail": {"current": 1 << 20, "total": 4 << 20}},
        {"status": "Downloading", "id": "l3", "progressDetail": {"current": 2 << 20, "total": 6 << 20}},
        {"status": "Download complete", "id": "l3", "progressDetail": {}},
        {"status": "Extracting", "id": "l3", "progressDetail": {"current": 1, "total": 6 << 20}},
    ]
    for event in events:
        progress.update(event)

    assert progress.line() == "1 of 3 layers, 7 of 10 MiB"
    progress.update({"status": f"Digest: {DIGEST}"})
    progress.update({"status": "Status: Downloaded newer image for x"})
    assert progress.digest == DIGEST
    assert progress.status == "Downloaded newer image for x"


def test_the_digest_in_the_right_repository_counts() -> None:
    digests = [f"mirror:5000/x@{OTHER}", f"vllm/vllm-openai@{DIGEST}"]

    assert digest_of(digests, "vllm/vllm-openai") == DIGEST
    assert digest_of(digests, "docker.io/vllm/vllm-openai") == DIGEST
    assert digest_of(digests, "vllm/other") is None
    assert digest_of([], "x") is None


@pytest.mark.parametrize(
    ("config", "version", "evidence"),
    [
        (
            {"Labels": {"org.opencontainers.image.version": "0.33.0"}},
            "0.33.0",
            "label org.opencontainers.image.version=",
        ),
        ({"Labels": None, "Env": ["PATH=/x", "VLLM_VERSION=0.33.1rc1"]}, "0.33.1rc1", "env VLLM_VERSION=0.33.1rc1"),
        (
            {"Labels": {"io.benchgate.engine.version": "1", "org.opencontainers.image.version": "22.04"}},
            "1",
            "label io.",
        ),
    ],
)
def test_the_version_is_read_from_the_image_with_its_evidence(config: Any, version: str, evidence: str) -> None:
    found = version_in_image(config)

    assert found is not None
    assert found[0] == version
    assert found[1].text.startswith(evidence)
    assert found[1].source == "image"


def test_an_image_that_does_not_say_its_version_is_unknown() -> None:
    assert version_in_image({"Labels": {}, "Env": ["PATH=/usr/bin"]}) is None


def test_there_is_nothing_new_only_when_all_of_it_was_measured_on_the_same_image() -> None:
    done = {DIGEST: {"cell 1", "cell 2"}, OTHER: {"cell 3"}}

    assert "nothing new to measure" in str(nothing_new([(DIGEST, "cell 1"), (OTHER, "cell 3")], done, force=False))
    assert nothing_new([(DIGEST, "cell 1")], done, force=True) is None
    assert nothing_new([(DIGEST, "cell 1"), (DIGEST, "cell 3")], done, force=False) is None
    assert nothing_new([(DIGEST, "cell 1"), ("sha256:new", "cell 1")], done, force=False) is None
    assert nothing_new([], {}, force=False) is None


def test_a_login_needs_both_halves() -> None:
    login = registry_login({"REGISTRY_USERNAME": "ci", "REGISTRY_PASSWORD": "pw-123456"})

    assert login is not None
    assert (login.username, login.password) == ("ci", "pw-123456")
    assert registry_login({"HF_TOKEN": "x"}) is None
    with pytest.raises(SeedError, match="REGISTRY_USERNAME is there and REGISTRY_PASSWORD is not"):
        registry_login({"REGISTRY_USERNAME": "ci"})


def test_a_tag_has_moved_only_when_it_was_something_else_before() -> None:
    def resolved(previous: str | None) -> ResolvedImage:
        return ResolvedImage("h", "x:1", f"x@{DIGEST}", DIGEST, previous, None, None, [], True)

    assert resolved(OTHER).moved
    assert not resolved(DIGEST).moved
    assert not resolved(None).moved
