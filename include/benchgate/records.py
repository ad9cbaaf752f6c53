"""Records that cross the seams: written by the steps as JSON artifacts, read by gates, warehouse and reports.

None always means unknown. Units are in the names. Times are UTC, ISO 8601, unless they end in ``_ms`` or ``_s``.
"""

from __future__ import annotations

from enum import Enum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Record(BaseModel):
    """Base of all records: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class EndState(str, Enum):
    """How a planned cell ended. Exactly one for every cell of the ledger."""

    PUBLISHED = "published"  # measured, and every gate let it through
    UNPUBLISHABLE = "unpublishable"  # the server was up, and a gate refused the launch or the cell
    FAILED = "failed"  # the measurement itself broke
    NOT_RUN = "not_run"  # there was no server to measure, or nobody asked for the cell


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


class Evidence(Record):
    """The line that a fact was read from."""

    line: int | None  # counts from 1; None when the fact came from an API, not a log
    text: str
    source: Literal["log", "api", "image", "host"] = "log"


class Proof(Record):
    """A fact about a launch, read from the server's own words."""

    name: str  # e.g. moe_kernel, kv_tokens, model_sha256
    value: str | int | float | bool
    evidence: Evidence


class NeedleResult(Record):
    """One planted fact, asked back."""

    depth: float
    context_tokens: int | None  # as the server counted them
    asked: str
    expected: str
    answered: str  # cut to a readable length
    found: bool
    error_kind: str | None = None
    error_message: str | None = None
    duration_s: float | None = None


class NeedleCheck(Record):
    """All needles of one launch. It passes only when every one was found."""

    requested_context_tokens: int
    results: list[NeedleResult]

    @property
    def found(self) -> int:
        """How many needles came back."""
        return sum(result.found for result in self.results)

    @property
    def passed(self) -> bool:
        """All of n, and at least one was asked."""
        return bool(self.results) and self.found == len(self.results)


class ExitInfo(Record):
    """How a server process ended; all None while it runs."""

    exit_code: int | None = None
    signal: str | None = None
    oom_killed: bool | None = None


class Failure(Record):
    """Why a server died or never became ready."""

    kind: FailureKind
    reason: str  # one sentence a person can act on
    evidence: Evidence | None = None


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


class Percentiles(Record):
    """Distribution of one latency, in ms. Our client fills all of it; an imported file may say less."""

    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    mean: float | None
    n: int | None


class ErrorGroup(Record):
    """All errors of one kind in a cell."""

    kind: str
    count: int
    near_cap: int  # of these, how many ended within 2 % of max_tokens
    sample: str  # first message, cut, secrets masked


class CellSummary(Record):
    """What ``summary.json`` of the load generator says (docs/metrics.md defines each number)."""

    client_name: str
    client_version: str | None  # None: an imported file that does not say
    metric_definition: str
    token_count_source: str  # usage | tokenizer | mixed | unknown
    started_at: str | None = None
    completed: int
    errors: int | None  # None: an imported file that does not say
    cut_off: int | None  # the same
    error_kinds: dict[str, int]
    error_groups: list[ErrorGroup] = []
    prompt_tokens: int | None  # None: the server sent no usage and nothing could count
    completion_tokens: int | None
    duration_s: float
    prefill_tok_s: float | None
    decode_tok_s: float | None
    request_s: float | None = None  # completed requests per second
    error_rate: float | None
    ttft_ms: Percentiles | None
    ttfv_ms: Percentiles | None = None
    tpot_ms: Percentiles | None
    itl_ms: Percentiles | None
    e2e_ms: Percentiles | None
    queue_ms: Percentiles | None = None
    latency_verdict: str  # valid | burst | client_bound | too_few_samples | no_stream
    latency_reason: str | None = None
    warm_verdict: str | None = None  # warm | not_warm
    warm_reason: str | None = None
    steady_duration_s: float | None = None
    steady_prefill_tok_s: float | None = None
    steady_decode_tok_s: float | None = None
    events: int | None = None
    tokens_per_event: float | None = None
    goodput: float | None = None  # share of good requests
    stopped_by: str = "requests"  # requests | time_cap | error_rate | interrupt | unknown (imported)
    client_cpu_share: float | None = None
    client_loop_lag_p99_ms: float | None = None
    stamp_source: str | None = None  # who timed the reads: kernel | user (the client) | mixed
    tokenize_refused: str | None = None  # what the server's /tokenize said in place of a count; None: it counted
    users: int | None = None
    request_rate: float | None = None
    notes: list[str] = []


class ServerMetricsSnapshot(Record):
    """The server's own counters and gauges at one moment; None where the engine has no such metric."""

    at: str
    running: float | None = None
    waiting: float | None = None
    kv_use: float | None = None  # 0..1
    prompt_tokens_total: float | None = None
    generation_tokens_total: float | None = None
    prefix_cache_queries_total: float | None = None
    prefix_cache_hits_total: float | None = None
    preemptions_total: float | None = None


class ServerMetrics(Record):
    """Server metrics around and during one cell."""

    before: ServerMetricsSnapshot | None = None
    after: ServerMetricsSnapshot | None = None
    samples: list[ServerMetricsSnapshot] = []


class GpuSample(Record):
    """One GPU at one moment."""

    at: str
    gpu: str
    memory_used_mib: float | None = None
    power_w: float | None = None
    sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    utilization: float | None = None  # 0..1
    throttle_reasons: str | None = None


class TokenTotals(Record):
    """Tokens of everything a client sent between two server snapshots: warm-up, probes, errors and cut-off included."""

    prompt_tokens: int
    completion_tokens: int
    unaccounted: int  # requests that reached the server and whose token counts nobody knows


class CellRecord(Record):
    """One measured (or planned) cell. ``state`` is what the measuring step knows; gates decide publication."""

    cell: str  # names.cell_key
    launch: str
    arm: str
    host: str
    placement: str
    workload: str
    users: int | None
    request_rate: float | None
    repeat: int
    state: Literal["planned", "measured", "failed", "not_run"] = "planned"
    reason: str | None = None  # for failed and not_run
    summary: CellSummary | None = None
    server_metrics: ServerMetrics | None = None
    client_totals: TokenTotals | None = None  # to be held against the rise of the server's counters
    gpu: list[GpuSample] = []
    prompt_tokens_requested: int | None = None
    max_tokens: int | None = None
    dataset: str | None = None


class Verdict(Record):
    """A gate's answer about one launch or cell."""

    subject: str  # launch or cell key
    subject_kind: Literal["launch", "needle_check", "cell"]
    rule: str
    passed: bool
    observed: str | None
    limit: str | None
    reason: str
    severity: Literal["critical", "warning"] = "critical"


class PlannedLaunch(Record):
    """One line of the ledger above its cells."""

    launch: str
    arm: str
    host: str
    placement: str
    expect: str = "published"


class PlannedCell(Record):
    """One line of the ledger."""

    cell: str
    launch: str
    arm: str
    host: str
    placement: str
    workload: str
    users: int | None
    request_rate: float | None
    repeat: int


class Ledger(Record):
    """The planned matrix, written before anything runs."""

    campaign: str
    run: str  # names.run_key
    created_at: str
    launches: list[PlannedLaunch]
    cells: list[PlannedCell]
    deselected: list[str] = Field(default_factory=list)  # cells nobody asked for in this run


class RunRecord(Record):
    """One campaign run."""

    run: str
    campaign: str
    airflow_run_id: str
    started_at: str
    ended_at: str | None = None
    state: Literal["running", "success", "failed", "nothing_new"] = "running"
    trigger: dict[str, object] = {}
    campaign_yaml: str = ""
    benchgate_version: str
    nothing_new_reason: str | None = None
    # the process that the run lives and dies with ("host pid start-time"); None: Airflow's scheduler keeps it
    owner: str | None = None
    # why it ended before all that it planned was done (interrupted, killed); None: it came to its own end
    broken_off: str | None = None
    publish_later: bool = False  # its person publishes it by hand (`run --no-publish`); housekeeping leaves it unloaded
    load_pending: bool = False  # it has ended and is not in the warehouse yet: a load that failed or was killed


class CellOutcome(Record):
    """How one planned cell ended, decided once, after all gates."""

    cell: str
    state: EndState
    reason: str | None  # why it is not published; None for published


class QuarantineRow(Record):
    """A row that a gate refused, kept whole beside the rules that refused it."""

    subject: str  # launch or cell key
    subject_kind: Literal["launch", "needle_check", "cell"]
    rules: list[str]
    reason: str  # all reasons, joined
    row: dict[str, object]  # what the gate saw, column by column


class GateResult(Record):
    """What the gates decided about a whole run."""

    verdicts: list[Verdict]
    quarantine: list[QuarantineRow]
    outcomes: list[CellOutcome]  # exactly one for every cell of the ledger
    gx_version: str | None = None


class Approval(Record):
    """Who let a run go on at a point where its campaign asks a person."""

    point: Literal["changed_image", "regression"]
    approved: bool
    by: str | None
    at: str
    note: str | None = None
