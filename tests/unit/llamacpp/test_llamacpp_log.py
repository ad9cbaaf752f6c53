"""What a llama.cpp log proves, and how its failures are named. The logs are of a real server."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.engines import get_engine
from benchgate.records import ExitInfo, FailureKind

LOGS = Path(__file__).parents[2] / "fixtures" / "llamacpp"
ENGINE = get_engine("llamacpp")


def parse(name: str):
    with (LOGS / name).open("rb") as log:
        return ENGINE.parse_log(log)


def test_a_ready_server_proves_version_model_context_and_slots():
    facts = parse("ready_and_chat.log")

    values = {name: proof.value for name, proof in facts.proofs.items()}
    assert facts.ready
    assert values["engine_version"] == "2026.10.11549"
    assert values["model_sha256"] == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert values["slots"] == 4
    assert values["context_tokens"] == 2048, "what one request may use, not the pool of all slots"
    assert values["kv_tokens"] == 8192, "the pool of all slots"
    assert values["threads"] == 2
    assert values["threads_batch"] == 1
    assert values["kv_type_k"] == "q8_0"
    assert values["kv_type_v"] == "f16"
    assert values["kv_cache_gib"] == pytest.approx(137.81 / 1024, abs=1e-6)
    assert values["weights_gib"] == pytest.approx(92.10 / 1024, abs=1e-6)
    assert values["cache_prompt"] is False


def test_every_proof_points_at_the_line_that_says_it():
    facts = parse("ready_and_chat.log")

    lines = (LOGS / "ready_and_chat.log").read_text().splitlines()
    for proof in facts.proofs.values():
        assert proof.evidence.line is not None
        assert lines[proof.evidence.line - 1].strip() == proof.evidence.text


def test_a_log_that_breaks_off_before_the_context_leaves_it_unknown():
    whole = (LOGS / "ready_and_chat.log").read_bytes().splitlines(keepends=True)
    start = [line for line in whole[:20] if b"n_ctx" not in line]

    facts = ENGINE.parse_log(start)

    assert not facts.ready
    assert "context_tokens" not in facts.proofs
    assert "slots" not in facts.proofs


@pytest.mark.parametrize(
    ("log", "kind", "told"),
    [
        ("bad_flag.log", FailureKind.BAD_FLAG, "--bogus-flag 3"),
        ("port_in_use.log", FailureKind.PORT_IN_USE, "127.0.0.1:8080"),
        ("port_in_use_llama_server.log", FailureKind.PORT_IN_USE, "port: 8080"),
        ("model_missing.log", FailureKind.SEED_FAILED, "missing.gguf"),
        ("model_cut_off.log", FailureKind.CHECKPOINT_MISMATCH, "cut.gguf"),
        ("no_memory_for_kv.log", FailureKind.KV_TOO_SMALL, "KV cache"),
    ],
)
def test_a_failed_start_is_named_by_its_root_cause(log: str, kind: FailureKind, told: str):
    facts = parse(log)

    failure = ENGINE.failure(facts, ExitInfo(exit_code=1))
    assert not facts.ready
    assert failure.kind is kind
    assert told in failure.reason
    assert failure.evidence is not None
    assert failure.evidence.line is not None


def test_a_killed_server_without_a_cause_in_its_log_is_killed():
    failure = ENGINE.failure(parse("ready_and_chat.log"), ExitInfo(signal="SIGKILL", oom_killed=False))

    assert failure.kind is FailureKind.KILLED


def test_a_kernel_that_ran_out_of_memory_outweighs_the_log():
    failure = ENGINE.failure(parse("ready_and_chat.log"), ExitInfo(signal="SIGKILL", oom_killed=True))

    assert failure.kind is FailureKind.HOST_OOM


@given(st.lists(st.one_of(st.text(), st.binary())))
def test_no_log_content_raises(lines: list[str | bytes]):
    facts = ENGINE.parse_log(lines)

    assert facts.lines == len(lines)


def test_metrics_of_the_real_server_are_read():
    snapshot = ENGINE.parse_metrics((LOGS / "metrics.txt").read_text(), "2026-11-30T11:00:00Z")

    assert snapshot.prompt_tokens_total == 32
    assert snapshot.generation_tokens_total == 8
    assert snapshot.prefix_cache_hits_total == 0
    assert snapshot.prefix_cache_queries_total == 32
    assert snapshot.running == 0
    assert snapshot.waiting == 0
    assert snapshot.kv_use is None, "this version has no such gauge, and none is not zero"


def test_cached_prompt_tokens_count_as_prompt_tokens():
    text = "llamacpp:prompt_tokens_total 48\nllamacpp:prompt_tokens_cached_total 24\n"

    snapshot = ENGINE.parse_metrics(text, "now")

    assert snapshot.prompt_tokens_total == 72, "clients are told 72 in usage"
    assert snapshot.prefix_cache_hits_total == 24


def test_an_older_server_without_a_cache_counter_leaves_cache_numbers_unknown():
    snapshot = ENGINE.parse_metrics("llamacpp:prompt_tokens_total 48\n", "now")

    assert snapshot.prompt_tokens_total == 48
    assert snapshot.prefix_cache_hits_total is None
    assert snapshot.prefix_cache_queries_total is None


@given(st.text())
def test_no_metrics_page_raises(text: str):
    ENGINE.parse_metrics(text, "now")


def test_api_proofs_are_read_from_models_and_props():
    pages = {
        "/v1/models": (200, (LOGS / "v1_models.json").read_bytes()),
        "/props": (200, (LOGS / "props.json").read_bytes()),
    }

    proofs = {proof.name: proof for proof in ENGINE.api_proofs(lambda path: pages[path])}

    assert proofs["served_model"].value == "smollm2"
    assert proofs["trained_context_tokens"].value == 8192
    assert proofs["context_tokens"].value == 2048
    assert proofs["slots"].value == 4
    assert proofs["slots"].evidence.source == "api"


@pytest.mark.parametrize("page", [(404, b""), (200, b"<html>"), (200, b"[]"), (200, b'{"data": []}')])
def test_an_api_that_does_not_say_leaves_facts_out(page: tuple[int, bytes]):
    assert ENGINE.api_proofs(lambda _path: page) == []
