"""What really happened, for every request: when the kernel had it, and when each token was handed to the kernel."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CLOCK = "CLOCK_MONOTONIC, ns"


@dataclass(slots=True)
class RequestTruth:
    """One request. All times in ns of CLOCK_MONOTONIC; None where it did not happen."""

    index: int
    connection: int
    requests_before: int  # on the same connection
    scenario: str
    endpoint: str
    model: str
    client_request_id: str | None
    prompt_tokens: int
    max_tokens: int | None
    received_ns: int  # the kernel had the first bytes
    body_ns: int  # the server had read the whole body
    completion_tokens: int | None = None  # what a right client must report
    finish_reason: str | None = None
    head_ns: int | None = None
    token_ns: array[int] = field(default_factory=lambda: array("q"))  # write of each token-bearing event
    event_tokens: list[int] = field(default_factory=list)
    event_channels: list[str] = field(default_factory=list)
    ended_ns: int | None = None
    ended: str | None = None  # keep | close | reset | hang | client_closed
    extra: dict[str, object] = field(default_factory=dict)  # fields of the body that are not understood here

    @property
    def ttft_s(self) -> float | None:
        """From the kernel's receipt of the request to the write of the first token."""
        return (self.token_ns[0] - self.received_ns) / 1e9 if self.token_ns else None

    @property
    def tpot_s(self) -> float | None:
        """(last - first token write) / (tokens - 1); None below two tokens."""
        tokens = self.completion_tokens or 0
        return (self.token_ns[-1] - self.token_ns[0]) / 1e9 / (tokens - 1) if tokens > 1 and self.token_ns else None

    @property
    def e2e_s(self) -> float | None:
        """From the kernel's receipt of the request to the write of the last token."""
        return (self.token_ns[-1] - self.received_ns) / 1e9 if self.token_ns else None

    def as_dict(self) -> dict[str, object]:
        """Plain values for JSON and Parquet."""
        names = (name for name in self.__slots__ if name not in ("token_ns", "event_tokens", "extra"))
        plain: dict[str, object] = {name: getattr(self, name) for name in names}
        written = len(self.token_ns)
        plain["event_channels"] = self.event_channels[:written]
        return plain | {
            "token_ns": list(self.token_ns),
            "event_tokens": self.event_tokens[:written],
            "extra": self.extra,
        }

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> RequestTruth:
        """The inverse of :meth:`as_dict`."""
        marks: list[int] = values["token_ns"]  # type: ignore[assignment]
        return cls(**{**values, "token_ns": array("q", marks)})  # type: ignore[arg-type]


def to_json(requests: Sequence[RequestTruth]) -> bytes:
    """The document behind ``GET /truth``."""
    document = {"simulated": True, "clock": CLOCK, "requests": [request.as_dict() for request in requests]}
    return json.dumps(document).encode()


def from_json(data: bytes | str) -> list[RequestTruth]:
    """Read :func:`to_json`."""
    return [RequestTruth.from_dict(values) for values in json.loads(data)["requests"]]


def write(path: Path, requests: Sequence[RequestTruth]) -> None:
    """Write the truth: Parquet for a name that ends in ``.parquet``, else JSON."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{**request.as_dict(), "extra": json.dumps(request.extra)} for request in requests]
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(to_json(requests))
