"""What a measurement is: every option of ``benchgate bench``, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchgate.errors import BenchgateError

ENDPOINTS = ("chat", "completions")
ARRIVALS = ("poisson", "constant", "burst")
PROBES = ("auto", "harmony", "none")
# of the command, when every request failed; its result files are written all the same
EXIT_NOTHING_SUCCEEDED = 1


class OptionError(BenchgateError):
    """An option that cannot work, or two that do not go together."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class BenchConfig:
    """One cell to measure. Times in seconds. Either ``users`` (closed loop) or ``request_rate`` (open loop)."""

    base_url: str
    model: str | None = None  # None: the first model that the server lists
    endpoint: str = "chat"
    dataset: str = "synthetic"  # synthetic | path of a ShareGPT-like JSON file
    prompt_tokens: int | None = None  # synthetic only
    num_prompts: int | None = None  # None: as many as max_seconds allows
    max_seconds: float | None = None
    users: int | None = None
    request_rate: float | None = None  # requests per second
    arrivals: str = "poisson"
    ramp_seconds: float = 0.0
    max_tokens: int = 256
    seed: int = 1017
    warmup: int | None = None  # requests before the window; None: as many as there are users
    timeout_s: float = 3600.0  # a whole request
    idle_timeout_s: float = 300.0  # silence after the first token
    processes: int | None = 1  # None: chosen from users and cores
    ignore_eos: bool = False
    temperature: float | None = 0.0  # None: not sent
    extra_body: dict[str, object] = field(default_factory=dict)
    stop_on_error_rate: float | None = None
    tokenizer: str | None = None  # tokenizer.json, or a folder that holds one
    tokenize_refused: str | None = None  # why the server's /tokenize is not asked (again); None: it is
    api_key: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    probe: str = "auto"
    allow_truncated: bool = False  # use what is whole of a cut-off dataset file

    @property
    def warmup_requests(self) -> int:
        """How many requests come before the window. Open loop: one second's worth, at most 64."""
        if self.warmup is not None:
            return self.warmup
        return self.users if self.users is not None else max(1, min(64, round(self.request_rate or 1)))

    @property
    def streams(self) -> int:
        """Streams that may be open at once, as far as it is known beforehand."""
        if self.users is not None:
            return self.users
        return max(1, min(self.num_prompts or 4096, round((self.request_rate or 1) * 10)))

    def check(self) -> None:
        """Raise :class:`OptionError` for the first option that cannot work."""
        if (self.users is None) == (self.request_rate is None):
            raise OptionError("give either --concurrency (closed loop) or --request-rate (open loop)")
        if self.num_prompts is None and self.max_seconds is None:
            raise OptionError("nothing ends this run", remedy="give --num-prompts, --max-seconds or both")
        _one_of("--endpoint", self.endpoint, ENDPOINTS)
        _one_of("--arrivals", self.arrivals, ARRIVALS)
        _one_of("--probe", self.probe, PROBES)
        for name, value in (
            ("--concurrency", self.users),
            ("--request-rate", self.request_rate),
            ("--num-prompts", self.num_prompts),
            ("--max-seconds", self.max_seconds),
            ("--max-tokens", self.max_tokens),
            ("--prompt-tokens", self.prompt_tokens),
            ("--timeout", self.timeout_s),
            ("--idle-timeout", self.idle_timeout_s),
            ("--processes", self.processes),
        ):
            if value is not None and not 0 < value < float("inf"):
                raise OptionError(f"{name} must be more than zero, not {value:g}")
        for name, value in (
            ("--warmup", self.warmup),
            ("--ramp-seconds", self.ramp_seconds),
            ("--temperature", self.temperature),
        ):
            if value is not None and not 0 <= value < float("inf"):
                raise OptionError(f"{name} must be zero or more, not {value:g}")
        if self.stop_on_error_rate is not None and not 0 < self.stop_on_error_rate <= 1:
            raise OptionError(f"--stop-on-error-rate is a share between 0 and 1, not {self.stop_on_error_rate:g}")
        if self.dataset == "synthetic" and self.prompt_tokens is None:
            raise OptionError("a synthetic dataset needs --prompt-tokens")
        if self.dataset != "synthetic" and self.prompt_tokens is not None:
            raise OptionError("--prompt-tokens belongs to --dataset synthetic")
        carrier = "messages" if self.endpoint == "chat" else "prompt"
        if carrier in self.extra_body:
            raise OptionError(f"--extra-body must not hold {carrier}: the prompts of the dataset are sent in it")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
