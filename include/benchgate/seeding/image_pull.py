"""One pull over the Docker API: its progress in few lines, and its failures told apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import requests
from docker.errors import APIError

from benchgate import secrets
from benchgate.errors import SeedError
from benchgate.hosts.docker_engine import DockerEngine, explain_connect_error
from benchgate.spec.image_reference import ImageReference

SILENCE_S = 900.0  # an engine that says nothing about a pull for this long has lost its registry
REPORT_EVERY_S = 5.0


class PullFailure(str, Enum):
    """Why an image could not be pulled."""

    NO_SUCH_TAG = "no_such_tag"
    WRONG_PLATFORM = "wrong_platform"
    NO_LOGIN = "no_login"
    NO_SPACE = "no_space"
    RATE_LIMITED = "rate_limited"
    UNREACHABLE = "unreachable"
    OTHER = "other"


# (words in the engine's message in lower case, what they mean); the first hit counts
_WORDS: tuple[tuple[str, PullFailure], ...] = (
    ("no space left on device", PullFailure.NO_SPACE),
    ("disk quota exceeded", PullFailure.NO_SPACE),
    ("toomanyrequests", PullFailure.RATE_LIMITED),
    ("no matching manifest", PullFailure.WRONG_PLATFORM),
    # Docker Hub says "access denied .. may require 'docker login'" for repositories that do not exist as well
    ("no basic auth credentials", PullFailure.NO_LOGIN),
    ("unauthorized", PullFailure.NO_LOGIN),
    ("authentication required", PullFailure.NO_LOGIN),
    ("access denied", PullFailure.NO_LOGIN),
    ("requested access to the resource is denied", PullFailure.NO_LOGIN),
    ("403 forbidden", PullFailure.NO_LOGIN),
    ("manifest unknown", PullFailure.NO_SUCH_TAG),
    ("manifest for", PullFailure.NO_SUCH_TAG),
    ("name unknown", PullFailure.NO_SUCH_TAG),
    ("not found", PullFailure.NO_SUCH_TAG),
    ("connection refused", PullFailure.UNREACHABLE),
    ("no such host", PullFailure.UNREACHABLE),
    ("i/o timeout", PullFailure.UNREACHABLE),
    ("timeout exceeded", PullFailure.UNREACHABLE),
    ("tls handshake timeout", PullFailure.UNREACHABLE),
    ("no route to host", PullFailure.UNREACHABLE),
    ("network is unreachable", PullFailure.UNREACHABLE),
    ("connection reset", PullFailure.UNREACHABLE),
    ("eof", PullFailure.UNREACHABLE),
    ("server gave http response to https client", PullFailure.UNREACHABLE),
    ("x509:", PullFailure.UNREACHABLE),
    ("bad gateway", PullFailure.UNREACHABLE),
    ("service unavailable", PullFailure.UNREACHABLE),
)
_REMEDIES = {
    PullFailure.NO_SUCH_TAG: "correct the image of the campaign: the registry has no such tag or digest",
    PullFailure.WRONG_PLATFORM: "choose an image that is built for this host's processor",
    PullFailure.NO_LOGIN: "give the registry login as a secret (or correct the repository's name)",
    PullFailure.NO_SPACE: "free disk space on the host: `docker system df`, then `docker image prune`",
    PullFailure.RATE_LIMITED: "log in to the registry, or set a mirror for this host",
    PullFailure.UNREACHABLE: "check the registry and the host's way to it, or set a mirror for this host",
    PullFailure.OTHER: "try `docker pull` on the host",
}


class PullFailed(SeedError):
    """A pull failed; ``kind`` tells the reasons apart."""

    def __init__(self, message: str, *, kind: PullFailure) -> None:
        self.kind = kind
        super().__init__(message, remedy=_REMEDIES[kind])


def classify(message: str) -> PullFailure:
    """What an engine's message about a failed pull means."""
    lowered = message.lower()
    return next((kind for words, kind in _WORDS if words in lowered), PullFailure.OTHER)


@dataclass(frozen=True)
class RegistryLogin:
    """Who pulls. Never part of a message."""

    username: str
    password: str = field(repr=False)

    def __post_init__(self) -> None:
        secrets.register(self.password)


@dataclass
class PullProgress:
    """What the engine has said about a pull so far: bytes of the layers that are on their way."""

    digest: str | None = None  # from the engine's last word about the tag: no race with another pull of it
    status: str | None = None
    layers: dict[str, tuple[int, int | None, str]] = field(default_factory=dict)  # done, of, state

    def update(self, event: dict[str, Any]) -> None:
        """Take in one event of the stream."""
        status = str(event.get("status") or "")
        layer = event.get("id")
        if layer is None:
            if status.startswith("Digest: "):
                self.digest = status.removeprefix("Digest: ").strip()
            elif status.startswith("Status: "):
                self.status = status.removeprefix("Status: ").strip()
            return
        if status.startswith("Pulling from"):
            return
        detail = event.get("progressDetail") or {}
        done, of, _ = self.layers.get(layer, (0, None, ""))
        if status == "Downloading":
            done, of = int(detail.get("current") or done), detail.get("total") or of
        elif status in ("Download complete", "Pull complete", "Already exists", "Extracting", "Verifying Checksum"):
            done = of or done
        self.layers[layer] = (done, of, status)

    def line(self) -> str:
        """Where the pull stands, in one line."""
        ready = sum(state in ("Pull complete", "Already exists") for _, _, state in self.layers.values())
        done = sum(done for done, _, _ in self.layers.values())
        known = sum(of or 0 for _, of, _ in self.layers.values())
        text = f"{ready} of {len(self.layers)} layers"
        return f"{text}, {done / 2**20:.0f} of {known / 2**20:.0f} MiB" if known else text


def pull(
    engine: DockerEngine,
    reference: ImageReference,
    *,
    login: RegistryLogin | None = None,
    report: Callable[[str], None],
    every_s: float = REPORT_EVERY_S,
) -> PullProgress:
    """Pull an image by tag or digest and return what the engine said, the digest included.

    ``report`` gets a line at the start, every ``every_s`` seconds, and at the end.

    Raises:
        PullFailed: with the kind, the host and the engine's own words.
    """
    progress = PullProgress()
    report(f"{engine.host}: pulling {reference}")
    told_at = time.monotonic()
    auth = {"username": login.username, "password": login.password} if login else None
    api = engine.api_with_timeout(SILENCE_S)
    try:
        tag = reference.digest or reference.tag
        for event in api.pull(reference.repository, tag=tag, stream=True, decode=True, auth_config=auth):
            if "error" in event:
                raise _failed(engine, reference, str(event["error"]))
            progress.update(event)
            if progress.layers and time.monotonic() - told_at >= every_s:
                report(f"{engine.host}: pulling {reference}: {progress.line()}")
                told_at = time.monotonic()
    except APIError as error:
        raise _failed(engine, reference, str(error.explanation or error)) from error
    except requests.RequestException as error:
        # the engine itself went away: not the registry's fault, and nothing is known about the image
        raise explain_connect_error(engine.host, engine.connection.url, error) from error
    finally:
        api.close()
    report(f"{engine.host}: pulled {reference}: {progress.status or progress.line()}")
    return progress


def _failed(engine: DockerEngine, reference: ImageReference, message: str) -> PullFailed:
    words = secrets.mask(" ".join(message.split())[:400])
    kind = classify(words)
    return PullFailed(f"host {engine.host}: cannot pull {reference}: {kind.value}: {words}", kind=kind)
