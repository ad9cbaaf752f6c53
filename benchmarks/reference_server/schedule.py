"""When tokens are due: from the ``simulate`` field, the model name, or the server's options, in this order."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from dataclasses import dataclass, field
from itertools import pairwise


class ScheduleError(ValueError):
    """The request asks for a schedule that cannot be; the server answers 400 with this message."""


@dataclass(frozen=True)
class Span:
    """A value, or a range from which each prompt draws its own; the same prompt always draws the same."""

    low: float
    high: float

    @classmethod
    def parse(cls, text: object) -> Span:
        """``200`` or ``32:256``."""
        low, _, high = str(text).partition(":")
        try:
            span = cls(float(low), float(high or low))
        except ValueError:
            raise ScheduleError(f"{text!r} is neither a number nor LOW:HIGH") from None
        if not 0 <= span.low <= span.high:
            raise ScheduleError(f"{text!r}: LOW must be at least 0 and at most HIGH")
        return span

    def draw(self, prompt: str, what: str) -> float:
        """The value for one prompt: a hash decides, so that every client meets the same lengths."""
        if self.low == self.high:
            return self.low
        seed = hashlib.blake2b(f"{what}\x1f{prompt}".encode(), digest_size=8).digest()
        return random.Random(seed).uniform(self.low, self.high)


@dataclass(frozen=True)
class Settings:
    """What a request may set. Times in ms; ``offsets_ms`` (one entry an event) overrides ``ttft_ms`` and ``itl_ms``."""

    scenario: str = "steady"
    ttft_ms: Span = Span(200, 200)
    itl_ms: Span = Span(20, 20)
    tokens: Span | None = None  # None: what max_tokens asks for
    offsets_ms: tuple[float, ...] | None = None
    tokens_per_event: tuple[int, ...] | None = None  # repeated over the events
    finish_reason: str | None = None  # None: "length" when max_tokens ended it, else "stop"
    at_token: int | None = None  # where a fault strikes; None: in the middle
    text: tuple[str, ...] = field(default=())  # the tokens' text, repeated; () means plain words

    def changed(self, values: dict[str, object]) -> Settings:
        """These settings with some replaced; raises :class:`ScheduleError` on a key or value that cannot be."""
        known = {f.name for f in dataclasses.fields(self)}
        changes: dict[str, object] = {}
        for key, value in values.items():
            if key not in known:
                raise ScheduleError(f"simulate.{key} is unknown; known are {', '.join(sorted(known))}")
            if key in ("ttft_ms", "itl_ms", "tokens"):
                changes[key] = Span.parse(value)
            elif key in ("offsets_ms", "tokens_per_event", "text"):
                if not isinstance(value, list) or not value:
                    raise ScheduleError(f"simulate.{key} must be a list with at least one entry")
                changes[key] = tuple(value)
            elif key == "at_token":
                changes[key] = int(str(value))
            else:
                changes[key] = str(value)
        offsets = changes.get("offsets_ms")
        if isinstance(offsets, tuple) and any(b < a for a, b in pairwise((0.0, *offsets))):
            raise ScheduleError("simulate.offsets_ms must not go back in time")
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Schedule:
    """The events of one answer: when each is due after the request, and how many tokens it carries."""

    offsets_s: tuple[float, ...]
    tokens: tuple[int, ...]
    finish_reason: str
    at_token: int | None = None
    text: tuple[str, ...] = ()

    @property
    def total_tokens(self) -> int:
        """Tokens of the whole answer."""
        return sum(self.tokens)

    @property
    def ttft_s(self) -> float:
        """When the first event is due."""
        return self.offsets_s[0]

    @property
    def fault_index(self) -> int:
        """The event at which a fault strikes."""
        return min(len(self.tokens) // 2 if self.at_token is None else self.at_token, len(self.tokens))

    def end_s(self, more: float = 0.0) -> float:
        """When the last event is due, and ``more`` seconds."""
        return self.offsets_s[-1] + more


DEFAULT_TOKENS = 16  # what OpenAI's completions give when max_tokens is missing


def _split(total: int, per_event: tuple[int, ...]) -> tuple[int, ...]:
    """``total`` tokens over events that carry ``per_event`` tokens each, repeated."""
    if per_event == (1,):
        return (1,) * total
    counts: list[int] = []
    while total > 0:
        counts.append(min(total, max(1, int(per_event[len(counts) % len(per_event)]))))
        total -= counts[-1]
    return tuple(counts)


def build(settings: Settings, prompt: str, max_tokens: int | None) -> Schedule:
    """The schedule of one request."""
    wanted = round(settings.tokens.draw(prompt, "tokens")) if settings.tokens else max_tokens or DEFAULT_TOKENS
    total = max(1, min(wanted, max_tokens or wanted))
    per_event = settings.tokens_per_event or (1,)
    if settings.offsets_ms is not None:
        offsets = tuple(offset / 1000 for offset in settings.offsets_ms)
        tokens = tuple(int(per_event[i % len(per_event)]) for i in range(len(offsets)))
        total = sum(tokens)
    else:
        tokens = _split(total, per_event)
        ttft = settings.ttft_ms.draw(prompt, "ttft") / 1000
        gap = settings.itl_ms.draw(prompt, "itl") / 1000
        offsets = tuple(ttft + i * gap for i in range(len(tokens)))
    finish = settings.finish_reason or ("length" if max_tokens is not None and total >= max_tokens else "stop")
    return Schedule(offsets, tokens, finish, settings.at_token, settings.text)
