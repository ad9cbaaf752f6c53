"""Runs the real client against the reference server and pairs each record with what really happened."""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.client.bench import BenchResult, run_bench
from benchgate.client.config import BenchConfig
from benchgate.request_record import RequestRecord
from benchmarks.reference_server.truth import RequestTruth
from tests.support.reference_server import RunningServer
from tests.support.reference_server import _shared_server as _shared_server
from tests.support.reference_server import reference_server as reference_server
from tests.support.reference_server import start_reference_server as start_reference_server

CHANNELS = {"content": "content", "reasoning": "reasoning", "reasoning_content": "reasoning", "tool": "tool"}


@dataclass
class Pair:
    """One request: what the client says, and the truth. ``truth`` is the last attempt if the request was retried."""

    record: RequestRecord
    truth: RequestTruth

    def truth_events(self, channel: str) -> int:
        """Token-bearing events that the server wrote in a channel (content, reasoning, tool)."""
        return sum(CHANNELS[name] == channel for name in self.truth.event_channels)


@dataclass
class Measured:
    """A run of the client, paired with the truth."""

    result: BenchResult
    pairs: list[Pair]
    truth: list[RequestTruth]

    @property
    def records(self) -> list[RequestRecord]:
        """The measured requests; the client may have asked a question or two before."""
        return [record for record in self.result.records if record.phase == "measured"]


def measure(
    server: RunningServer, scenario: str, *, simulate: dict[str, object] | None = None, **config: object
) -> Measured:
    """Two users, four requests, sixteen tokens, unless ``config`` says otherwise."""
    defaults: dict[str, object] = {
        "base_url": server.base_url,
        "model": scenario,
        "prompt_tokens": 64,
        "users": 2,
        "num_prompts": 4,
        "max_tokens": 16,
        "warmup": 0,
        "probe": "none",
        "timeout_s": 20.0,
        "extra_body": {"simulate": {"scenario": scenario, **(simulate or {})}},
    }
    result = run_bench(BenchConfig(**{**defaults, **config}))  # type: ignore[arg-type]
    answered = sum(record.sent_at is not None for record in result.records)
    truth = server.wait_for_truth(answered)
    by_id = {request.client_request_id: request for request in truth}
    pairs = [
        Pair(record, by_id[f"{record.phase}-{record.request_id}"])
        for record in result.records
        if record.phase == "measured" and f"{record.phase}-{record.request_id}" in by_id
    ]
    return Measured(result, pairs, truth)
