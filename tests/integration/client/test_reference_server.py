"""The reference server itself: its schedule, its truth, its label."""

from __future__ import annotations

import json
import signal
import socket
import time
import urllib.error
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.reference_server import RunningServer

CHAT = {"messages": [{"role": "user", "content": "three short words"}], "max_tokens": 4, "stream": True}
Starter = Callable[..., RunningServer]


def test_everything_it_says_is_labelled_simulated(reference_server: RunningServer) -> None:
    assert json.loads(reference_server.get("/version"))["simulated"] is True
    assert json.loads(reference_server.get("/v1/models"))["data"][0]["owned_by"] == "simulated"
    assert b"simulated" in reference_server.get("/metrics")
    assert b'"system_fingerprint":"simulated"' in reference_server.post("/v1/chat/completions", CHAT)


def test_truth_says_when_each_token_was_written(reference_server: RunningServer) -> None:
    before = time.monotonic()
    reference_server.post("/v1/chat/completions", {**CHAT, "model": "steady:ttft_ms=80,itl_ms=20"})
    after = time.monotonic()

    (request,) = reference_server.wait_for_truth(1)

    assert before <= request.received_ns / 1e9 <= request.token_ns[0] / 1e9 <= after
    assert len(request.token_ns) == 4
    assert request.completion_tokens == 4
    assert request.prompt_tokens == 3
    assert request.ttft_s is not None
    assert request.ttft_s >= 0.08  # never early
    assert all(mark - request.received_ns >= (0.08 + i * 0.02) * 1e9 for i, mark in enumerate(request.token_ns))


def test_truth_can_be_forgotten_and_is_written_at_the_end(start_reference_server: Starter, tmp_path: Path) -> None:
    server = start_reference_server("--ttft-ms", "1", "--itl-ms", "1", "--truth", str(tmp_path / "truth.parquet"))
    server.post("/v1/chat/completions", CHAT)
    server.forget()
    assert server.truth() == []
    server.post("/v1/chat/completions", CHAT)

    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0

    import pyarrow.parquet as pq

    (row,) = pq.read_table(tmp_path / "truth.parquet").to_pylist()
    assert len(row["token_ns"]) == 4
    assert row["scenario"] == "steady"


def test_counters_follow_what_was_sent(reference_server: RunningServer) -> None:
    def counter(name: str) -> float:
        lines = reference_server.get("/metrics").decode().splitlines()
        return float(next(line for line in lines if line.startswith(name)).split()[-1])

    prompt, generated = counter("vllm:prompt_tokens_total"), counter("vllm:generation_tokens_total")
    reference_server.post("/v1/chat/completions", CHAT)
    reference_server.wait_for_truth(1)

    assert counter("vllm:prompt_tokens_total") - prompt == 3
    assert counter("vllm:generation_tokens_total") - generated == 4
    assert counter("vllm:num_requests_running") == 0


def test_tokenize_counts_words(reference_server: RunningServer) -> None:
    answer = json.loads(reference_server.post("/tokenize", {"prompt": "a b c"}))

    assert answer["count"] == 3
    assert len(answer["tokens"]) == 3


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/v1/chat/completions", {**CHAT, "simulate": {"ttft": 1}}, "simulate.ttft is unknown"),
        ("/v1/chat/completions", {**CHAT, "simulate": {"scenario": "nope"}}, "no scenario 'nope'"),
        ("/v1/chat/completions", {**CHAT, "model": "replay:nope"}, "no capture 'nope'"),
        ("/v1/chat/completions", {"model": "steady"}, "neither messages nor prompt"),
        ("/v1/chat/completions", {**CHAT, "max_tokens": 0.5}, "max_tokens"),
        ("/v1/nothing", {}, "does not exist"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    path: str, body: dict[str, object], says: str, reference_server: RunningServer
) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        reference_server.post(path, body)

    assert says in json.loads(raised.value.read())["error"]["message"]


def test_a_prompt_beyond_the_context_is_refused(start_reference_server: Starter) -> None:
    server = start_reference_server("--max-model-len", "2")

    with pytest.raises(urllib.error.HTTPError) as raised:
        server.post("/v1/chat/completions", CHAT)

    assert raised.value.code == 400
    assert "maximum context length is 2 tokens" in json.loads(raised.value.read())["error"]["message"]


def test_without_the_key_there_is_no_answer(start_reference_server: Starter) -> None:
    server = start_reference_server("--api-key", "secret-key")

    with pytest.raises(urllib.error.HTTPError) as raised:
        server.post("/v1/chat/completions", CHAT)

    assert raised.value.code == 401


def test_a_client_that_goes_away_is_seen(reference_server: RunningServer) -> None:
    host, port = reference_server.base_url.removeprefix("http://").split(":")
    body = json.dumps({**CHAT, "model": "stall"}).encode()
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        sock.recv(100)

    (request,) = reference_server.wait_for_truth(1)
    deadline = time.monotonic() + 5
    while request.ended != "client_closed" and time.monotonic() < deadline:
        time.sleep(0.02)
        (request,) = reference_server.truth()

    assert request.ended == "client_closed"


def test_a_prompt_may_name_its_scenario_when_it_is_allowed(start_reference_server: Starter) -> None:
    server = start_reference_server("--scenario-in-prompt", "--ttft-ms", "1")

    with pytest.raises(urllib.error.HTTPError) as raised:
        server.post("/v1/completions", {"prompt": "p1 scenario=http_503 words", "stream": True})

    assert raised.value.code == 503
    assert [request.scenario for request in server.truth()] == ["http_503"]
