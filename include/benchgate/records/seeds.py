"""What was put in place on a host before anything started there."""

from __future__ import annotations

from typing import Literal

from benchgate.records.base import Record
from benchgate.records.launch import FailureKind


class SeedFact(Record):
    """One thing that was put in place and verified before a server started."""

    kind: Literal["image", "vocab", "model", "dataset"]
    name: str
    digest: str | None  # sha256:.. or commit hash
    source: str
    path: str | None = None  # where the host has it
    note: str | None = None  # e.g. "pull failed, last digest used"


class SeedMount(Record):
    """A read-only mount that makes seeds visible to a server or a load generator."""

    source: str  # volume name or path on the host
    target: str


class SeedFailure(Record):
    """How a seed step of a host failed, for the launches that need what it did not bring."""

    kind: FailureKind
    reason: str  # in the step's own words, secrets masked
    remedy: str | None = None


class HostSeeds(Record):
    """All that was put in place on one host, and how servers and load generators see it."""

    host: str
    facts: list[SeedFact] = []
    images: dict[str, str] = {}  # image as written -> repo@sha256:..
    pulled: list[str] = []  # of these, what this run's own pull brought to the host
    previous_digests: dict[str, str] = {}  # image as written -> digest of the last run, when the tag moved
    models: dict[str, str] = {}  # "id@revision" as written -> path as the server sees it
    model_revisions: dict[str, str] = {}  # "id@revision" as written -> commit hash or sha256
    vocab_dir: str | None = None  # as the server sees it
    vocab_sha256: str | None = None
    datasets: dict[str, str] = {}  # dataset as written -> path as the load generator sees it
    mounts: list[SeedMount] = []
