"""Load shapes, ends and datasets, seen from the server's side."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgate.client import bench
from benchgate.client.bench import run_bench
from benchgate.client.config import BenchConfig
from benchgate.client.progress import ProgressNow
from benchgate.metrics.summary import summarise
from benchgate.request_record import RequestRecord
from benchmarks.reference_server.truth import RequestTruth
from tests.integration.client.conftest import measure
from tests.support.reference_server import RunningServer


def most_at_once(truth: list[RequestTruth]) -> int:
    """The largest number of requests that the server had at one moment."""
    moments = [(request.received_ns, 1) for request in truth]
    moments += [(request.token_ns[-1], -1) for request in truth if request.token_ns]  # before the client can see it
    running = itertools.accumulate(change for _, change in sorted(moments))
    return max(running)


def measured_only(records: list[RequestRecord]) -> list[RequestRecord]:
    return [record for record in records if record.phase == "measured"]


def test_a_closed_loop_keeps_its_users_busy_and_no_more(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=5, num_prompts=25)
    assert most_at_once(measured.truth) == 5
    assert {record.user for record in measured_only(measured.result.records)} == set(range(5))


@pytest.mark.parametrize(("scenario", "status"), [("stall", "timeout"), ("cut", "truncated_stream"), ("steady", "ok")])
def test_a_user_wants_to_send_again_when_its_request_has_ended_however_that_was(
    scenario: str, status: str, reference_server: RunningServer
) -> None:
    measured = measure(reference_server, scenario, users=1, num_prompts=3, idle_timeout_s=0.4)
    records = measured.records
    assert [record.status for record in records] == [status] * 3
    assert [later.queued_at for later in records[1:]] == [record.ended_at for record in records[:-1]]
    if status == "timeout":  # it ended when it was given up, not when it last said something
        assert min((record.ended_at or 0.0) - (record.last_token_at or 0.0) for record in records) > 0.4


def test_warm_up_has_the_cells_shape_and_is_outside_the_window(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=3, num_prompts=6, warmup=None)
    phases = [request.client_request_id.partition("-")[0] for request in measured.truth if request.client_request_id]
    assert phases == ["warmup"] * 3 + ["measured"] * 6
    assert most_at_once(measured.truth[:3]) == 3
    assert {request.max_tokens for request in measured.truth} == {16}
    assert summarise(measured.result.records, measured.result.facts).completed == 6


def test_an_open_loop_counts_from_the_intended_arrival_when_the_server_is_slow(
    start_reference_server: Callable[..., RunningServer],
) -> None:
    server = start_reference_server("--ttft-ms", "100", "--itl-ms", "5", "--accept-delay-ms", "300")
    measured = measure(server, "steady", users=None, request_rate=50.0, arrivals="constant", num_prompts=20)
    records = measured_only(measured.result.records)
    assert [record.status for record in records] == ["ok"] * 20
    gaps = [later.intended_at - earlier.intended_at for earlier, later in itertools.pairwise(records)]  # type: ignore[operator]
    assert gaps == pytest.approx([0.02] * 19)
    assert most_at_once(measured.truth) > 5  # nobody waited for an answer
    waited = [record.first_token_at - record.intended_at for record in records]  # type: ignore[operator]
    assert min(waited) >= 0.1
    assert summarise(records).ttft_ms is not None


def test_a_ramp_starts_users_one_after_another(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=4, num_prompts=8, ramp_seconds=0.8)
    first = {record.user: record.sent_at for record in reversed(measured_only(measured.result.records))}
    starts = [first[user] - first[0] for user in range(4)]  # type: ignore[operator]
    assert all(start >= 0.2 * user - 0.01 for user, start in enumerate(starts))


def test_the_time_cap_cuts_what_is_in_flight_and_keeps_the_rest(reference_server: RunningServer) -> None:
    begin = time.monotonic()
    measured = measure(reference_server, "steady", num_prompts=None, max_seconds=1.0, max_tokens=16)
    summary = summarise(measured.result.records, measured.result.facts)
    assert time.monotonic() - begin < 10
    assert summary.stopped_by == "time_cap"
    assert summary.completed >= 2
    assert summary.cut_off == 2
    assert (summary.errors, summary.error_rate) == (0, 0.0)


def test_an_interrupt_while_tokens_are_counted_keeps_what_was_measured(
    reference_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def count_slowly(*_: object) -> list[str]:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)
        return []

    monkeypatch.setattr(bench, "fill_missing", count_slowly)
    measured = measure(reference_server, "steady")
    assert len(measured.pairs) == 4
    assert any("interrupt" in note for note in measured.result.facts.notes)


def test_a_cap_that_is_not_needed_stops_nothing(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", num_prompts=4, max_seconds=60.0)
    assert measured.result.facts.stopped_by == "requests"


def test_a_broken_server_stops_the_run_at_the_error_rate_limit(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "http_500", num_prompts=500, stop_on_error_rate=0.5)
    summary = summarise(measured.result.records, measured.result.facts)
    assert summary.stopped_by == "error_rate"
    assert 10 <= summary.errors < 50
    assert summary.error_kinds == {"http_5xx": summary.errors}


def test_several_processes_share_users_and_requests_on_one_clock(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=6, num_prompts=24, processes=2, warmup=None)
    records = measured_only(measured.result.records)
    assert sorted(record.request_id for record in records) == list(range(24))
    assert {record.status for record in records} == {"ok"}
    assert {record.process for record in records} == {0, 1}
    assert most_at_once(measured.truth) == 6
    for pair in measured.pairs:
        assert pair.record.sent_at is not None
        assert pair.record.sent_at <= pair.truth.received_ns / 1e9 <= pair.record.sent_at + 5
    assert measured.result.facts.processes == 2


def test_several_processes_send_each_arrival_of_an_open_loop_once(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", users=None, request_rate=40.0, num_prompts=30, processes=2)
    records = measured_only(measured.result.records)
    assert sorted(record.request_id for record in records) == list(range(30))


def test_several_processes_stop_together_at_the_error_rate_limit(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "http_500", users=4, num_prompts=100_000, processes=2, stop_on_error_rate=0.5)
    assert measured.result.facts.stopped_by == "error_rate"


def test_synthetic_prompts_have_the_length_that_the_server_counts(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", prompt_tokens=500, warmup=2, num_prompts=6)
    counted = [record.prompt_tokens for record in measured_only(measured.result.records)]
    assert counted == pytest.approx([500] * 6, rel=0.01)


def test_a_run_says_why_the_server_did_not_tokenize(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "steady", prompt_tokens=500, warmup=2, tokenize_refused="it answered 500: oh")
    facts = measured.result.facts
    counted = [record.prompt_tokens for record in measured_only(measured.result.records)]
    assert facts.tokenize_refused == "it answered 500: oh"
    assert facts.notes[0].startswith(
        "the server's /tokenize is not asked again: it answered 500: oh; tokens are counted by"
    )
    assert counted == pytest.approx([500] * 4, rel=0.01)  # the usage of the warm-up corrected them


def test_sharegpt_prompts_are_sent_whole(reference_server: RunningServer, tmp_path: Path) -> None:
    entries = [
        {
            "conversations": [
                {"from": "human", "value": f"Number {number}: please explain this carefully"},
                {"from": "gpt", "value": "an answer of five words"},
            ]
        }
        for number in range(20)
    ]
    path = tmp_path / "data.json"
    path.write_text(json.dumps(entries))
    measured = measure(reference_server, "steady", dataset=str(path), prompt_tokens=None, num_prompts=8)
    assert {record.status for record in measured.result.records} == {"ok"}
    assert {record.prompt_tokens for record in measured.result.records} == {6}


def test_progress_is_called_and_ends_with_everything_done(reference_server: RunningServer) -> None:
    seen: list[ProgressNow] = []
    config = BenchConfig(
        reference_server.base_url, model="steady", prompt_tokens=32, users=2, num_prompts=8, max_tokens=40, warmup=0
    )
    run_bench(config, on_progress=seen.append)
    assert len(seen) >= 2
    assert (seen[-1].done, seen[-1].planned, seen[-1].errors) == (8, 8, 0)
    assert any(now.tok_s > 0 for now in seen)


def test_a_harmony_server_is_found_out_by_the_probe(reference_server: RunningServer) -> None:
    measured = measure(reference_server, "harmony_mid", probe="harmony")
    notes = measured.result.facts.notes
    assert any("harmony probe: faults come from the server" in note for note in notes)
    assert {record.phase for record in measured.result.records} == {"measured", "probe"}


@pytest.mark.parametrize("tokens", [126_000, 1_000_000])
def test_long_prompts_are_exact_and_arrive_whole(reference_server: RunningServer, tokens: int) -> None:
    measured = measure(reference_server, "steady", prompt_tokens=tokens, warmup=1, num_prompts=3)
    records = measured_only(measured.result.records)
    assert [record.status for record in records] == ["ok"] * 3
    assert [record.prompt_tokens for record in records] == pytest.approx([tokens] * 3, rel=0.01)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_server_that_only_says_no_is_not_hammered(reference_server: RunningServer, processes: int) -> None:
    measured = measure(reference_server, "http_429", num_prompts=None, max_seconds=2.0, processes=processes)
    assert 2 <= len(measured_only(measured.result.records)) < 100
