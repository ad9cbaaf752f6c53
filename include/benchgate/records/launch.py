"""One attempt to start an arm: what was started where, what it proved, how it ended."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from benchgate.records.base import Evidence, Record
from benchgate.records.needles import NeedleCheck


class FailureKind(str, Enum):
    """Why a launch did not become ready."""

    VOCAB_MISSING = "vocab_missing"
    GPU_MEMORY_IN_USE = "gpu_memory_in_use"
    KV_TOO_SMALL = "kv_too_small"
    CUDA_OOM = "cuda_oom"
    HOST_OOM = "host_oom"
    CHECKPOINT_MISMATCH = "checkpoint_mismatch"
    PORT_IN_USE = "port_in_use"
    SHM_TOO_SMALL = "shm_too_small"
    OFFLINE_MISS = "offline_miss"
    ENGINE_CORE_DIED = "engine_core_died"
    FRONTEND_CRASH = "frontend_crash"
    BAD_FLAG = "bad_flag"
    IMAGE_MISSING = "image_missing"
    SEED_FAILED = "seed_failed"
    PREFLIGHT = "preflight"
    LEASE_HELD = "lease_held"
    TIMEOUT = "timeout"
    KILLED = "killed"
    UNKNOWN = "unknown"


class Failure(Record):
    """Why a server died or never became ready."""

    kind: FailureKind
    reason: str  # one sentence a person can act on
    evidence: Evidence | None = None


class ExitInfo(Record):
    """How a server process ended; all None while it runs."""

    exit_code: int | None = None
    signal: str | None = None
    oom_killed: bool | None = None


class Proof(Record):
    """A fact about a launch, read from the server's own words."""

    name: str  # e.g. moe_kernel, kv_tokens, model_sha256
    value: str | int | float | bool
    evidence: Evidence


class HostFacts(Record):
    """What the host said about itself when the launch started."""

    host: str
    kind: str
    engine_version: str | None = None  # Docker Engine version
    os: str | None = None
    kernel: str | None = None
    cpu_model: str | None = None
    cpu_count: int | None = None
    memory_gib: float | None = None
    free_memory_gib: float | None = None
    gpu_model: str | None = None
    gpu_count: int | None = None
    gpu_memory_gib: float | None = None
    driver: str | None = None
    cuda: str | None = None


class LaunchRecord(Record):
    """One attempt to start an arm on a placement, from preflight to stop."""

    launch: str  # names.launch_key
    arm: str
    host: str
    placement: str
    attempt: int = 1
    engine: str
    engine_version: str | None = None
    image: str | None = None  # as written
    image_digest: str | None = None
    image_previous_digest: str | None = None
    model_id: str
    model_revision: str | None = None  # resolved commit hash or file sha256
    draft_revisions: dict[str, str | None] = {}  # the same of each draft model, by its id
    vocab_sha256: str | None = None
    needs_vocab: bool = False
    gpus: list[str] = []  # of the placement; empty: CPU only
    args: dict[str, object] = {}
    env: dict[str, str] = {}  # as written in the campaign; never secrets
    env_names: list[str] = []  # every variable that Benchgate set, secrets included, without values
    command: list[str] = []  # secrets masked
    simulated: bool = False
    host_facts: HostFacts | None = None
    fingerprint: str | None = None  # None while it is incomplete
    started_at: str | None = None
    ready_at: str | None = None
    stopped_at: str | None = None
    startup_s: float | None = None
    end_state: Literal["starting", "ready", "failed", "not_run"] = "starting"
    failure: Failure | None = None
    exit: ExitInfo | None = None
    proofs: list[Proof] = []
    warnings: list[Evidence] = []
    needle: NeedleCheck | None = None
    tokenize_refused: str | None = None  # what the server said to the first cell that asked; later cells do not ask
    gpu_memory_returned: bool | None = None  # after stop; None where there is no GPU
