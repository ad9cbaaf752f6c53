"""Real files of every client: what they say is taken, what they do not say stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgate.importers import ImportedCell, read_result
from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.percentiles import percentile
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.request_record import OK

FILES = Path(__file__).parents[2] / "fixtures" / "importers"


def only(path: str, format: str = "auto") -> ImportedCell:
    run = read_result(FILES / path, format)
    assert len(run.cells) == 1
    return run.cells[0]


@pytest.mark.parametrize(
    ("path", "format", "client", "version", "definition"),
    [
        ("vllm/detailed.json", "vllm", "vllm-bench", None, "vllm-bench-0.3x"),
        ("vllm/plain.json", "vllm", "vllm-bench", None, "vllm-bench-0.3x"),
        ("vllm/h200_s64.json", "vllm", "vllm-bench", None, "vllm-bench-0.2x"),
        ("sglang/detailed.jsonl", "sglang", "sglang-bench", None, "sglang-bench"),
        ("sglang/plain.jsonl", "sglang", "sglang-bench", None, "sglang-bench"),
        ("aiperf/profile_export_aiperf.json", "aiperf", "aiperf", "0.13.0", "aiperf"),
        ("aiperf", "aiperf", "aiperf", "0.13.0", "aiperf"),
        ("guidellm/concurrent.json", "guidellm", "guidellm", "0.8.1", "guidellm"),
    ],
)
def test_format_is_recognised_and_the_client_is_named(
    path: str, format: str, client: str, version: str | None, definition: str
) -> None:
    run = read_result(FILES / path)

    summary = run.cells[0].summary
    assert run.format == format
    assert (summary.client_name, summary.client_version) == (client, version)
    assert summary.metric_definition == definition


@pytest.mark.parametrize(
    "path", ["vllm/detailed.json", "vllm/plain.json", "sglang/detailed.jsonl", "aiperf", "guidellm/concurrent.json"]
)
def test_what_every_client_said_of_the_same_load(path: str) -> None:
    # 12 requests to a server with TTFT 50 ms, ITL 10 ms, 16 tokens of 64; three were refused
    summary = only(path).summary

    assert (summary.completed, summary.errors) == (9, 3)
    assert summary.error_rate == 0.25
    assert (summary.prompt_tokens, summary.completion_tokens) == (576, 144)
    assert summary.users == 4
    assert summary.request_rate is None
    assert summary.ttft_ms is not None
    assert 50 <= (summary.ttft_ms.p50 or 0) < 60
    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p50 == pytest.approx(10, abs=0.3)
    assert summary.e2e_ms is not None
    assert summary.e2e_ms.p50 == pytest.approx(200, abs=8)
    assert summary.decode_tok_s == pytest.approx(144 / summary.duration_s)
    assert summary.prefill_tok_s == pytest.approx(576 / summary.duration_s)


def test_sglang_without_details_does_not_know_its_failures() -> None:
    summary = only("sglang/plain.jsonl").summary

    assert summary.completed == 9
    assert summary.errors is None
    assert summary.error_rate is None
    assert summary.cut_off is None
    assert summary.started_at is None


def test_default_percentiles_of_vllm_leave_the_others_unknown() -> None:
    summary = only("vllm/default_metrics.json").summary

    assert summary.ttft_ms is not None
    assert summary.ttft_ms.p50 == pytest.approx(51.8456, abs=1e-3)  # its median
    assert (summary.ttft_ms.p90, summary.ttft_ms.p95) == (None, None)
    assert summary.ttft_ms.p99 == pytest.approx(52.621, abs=1e-3)
    assert summary.e2e_ms is None  # not among the metrics that it was asked for
    assert (summary.users, summary.request_rate) == (None, 20.0)


def test_zeros_of_a_run_in_which_all_failed_are_no_latencies() -> None:
    summary = only("vllm/all_failed.json").summary

    assert (summary.completed, summary.errors, summary.error_rate) == (0, 12, 1.0)
    assert summary.error_kinds == {"unknown": 12}
    assert summary.ttft_ms is None
    assert summary.decode_tok_s is None
    assert summary.latency_verdict == "too_few_samples"


@pytest.mark.parametrize(
    ("path", "kind", "sample"),
    [
        ("vllm/detailed.json", "http_4xx", "Bad Request"),
        ("sglang/detailed.jsonl", "http_4xx", "Bad Request"),
        ("aiperf", "context_overflow", "maximum context length"),  # the only one that keeps the server's words
        ("guidellm/concurrent.json", "http_4xx", "400 Bad Request"),
    ],
)
def test_errors_get_our_kinds_as_far_as_the_client_kept_the_message(path: str, kind: str, sample: str) -> None:
    summary = only(path).summary

    assert summary.error_kinds == {kind: 3}
    assert summary.error_groups[0].count == 3
    assert sample in summary.error_groups[0].sample


@pytest.mark.parametrize("path", ["vllm/detailed.json", "sglang/detailed.jsonl", "aiperf", "guidellm/concurrent.json"])
def test_request_rows_give_the_figures_of_the_file_again(path: str) -> None:
    cell = only(path)
    assert cell.requests is not None
    good = [record for record in cell.requests if record.status == OK]

    assert len(cell.requests) == 12
    assert len(good) == 9
    summary = cell.summary
    slack = 1e-2 if path.startswith("guidellm") else 2e-3  # GuideLLM's latency ends with the answer, not the last token
    for values, stated in (
        ([ttft_s(record) for record in good], summary.ttft_ms),
        ([tpot_s(record) for record in good], summary.tpot_ms),
        ([e2e_s(record) for record in good], summary.e2e_ms),
    ):
        known = sorted(value * 1000 for value in values if value is not None)
        assert stated is not None
        assert len(known) == 9
        assert sum(known) / 9 == pytest.approx(stated.mean, rel=slack)
        assert percentile(known, 0.5) == pytest.approx(stated.p50, rel=slack)
    assert sum(record.completion_tokens or 0 for record in good) == summary.completion_tokens
    assert all(record.completion_tokens is None or record.completion_tokens == 16 for record in cell.requests)


def test_rows_without_start_times_say_so() -> None:
    cell = only("sglang/detailed.jsonl")

    assert any("no start times" in note for note in cell.summary.notes)


def test_vllm_rows_keep_the_client_queue_apart() -> None:
    cell = only("vllm/detailed.json")
    assert cell.requests is not None

    first = cell.requests[0]
    assert first.sent_at is not None
    assert first.queued_at is not None
    assert 0 < first.sent_at - first.queued_at < 0.05


def test_guidellm_sweep_is_one_cell_a_benchmark_and_has_no_rows() -> None:
    run = read_result(FILES / "guidellm" / "sweep.json")

    assert [cell.summary.users for cell in run.cells] == [1, 2]
    assert [cell.requests for cell in run.cells] == [None, None]
    assert all("not judged" in (cell.summary.latency_reason or "") for cell in run.cells)


def test_time_per_output_token_of_guidellm_is_not_taken_for_ours() -> None:
    # it includes the prefill: 200 ms / 16 tokens = 12.6 ms; ours and its inter-token latency are 10 ms
    summary = only("guidellm/concurrent.json").summary

    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p50 == pytest.approx(10.0, abs=0.2)
    assert summary.itl_ms is None


def test_a_real_h200_file_is_read_to_the_digit() -> None:
    cell = only("vllm/h200_s64.json")

    summary = cell.summary
    assert cell.model == "openai/gpt-oss-20b"
    assert cell.endpoint == "completions"
    assert summary.started_at == "2026-11-30T09:06:15+00:00"
    assert (summary.completed, summary.errors, summary.users) == (256, 0, 64)
    assert summary.duration_s == 14.097513222000032
    assert summary.decode_tok_s == pytest.approx(65536 / 14.097513222000032)
    assert summary.ttft_ms is not None
    assert summary.ttft_ms.p50 == 1788.7124814999993
    assert summary.ttft_ms.n == 256
    assert summary.token_count_source == "unknown"


def changed(source: str, target: Path, **values: object) -> ImportedCell:
    document = json.loads((FILES / source).read_text())
    target.write_text(json.dumps({**document, **values}))
    (cell,) = read_result(target).cells
    return cell


@pytest.mark.parametrize("source", ["vllm/detailed.json", "sglang/detailed.jsonl"])
def test_an_answer_without_a_token_is_no_success_whatever_the_client_counts(source: str, tmp_path: Path) -> None:
    """SGLang's gpt-oss parser can swallow an answer whole: HTTP 200, 16 tokens in the usage, and no text."""
    before = only(source)
    document = json.loads((FILES / source).read_text())
    lost = [i for i, error in enumerate(document["errors"]) if not error][:2]
    ttfts = [0.0 if i in lost else value for i, value in enumerate(document["ttfts"])]
    gaps = [[] if i in lost else value for i, value in enumerate(document["itls"])]

    cell = changed(source, tmp_path / Path(source).name, ttfts=ttfts, itls=gaps, mean_ttft_ms=1.0, median_ttft_ms=0.0)

    summary, whole = cell.summary, before.summary
    assert (summary.completed, summary.errors) == (7, 5)
    assert summary.error_kinds == {"http_4xx": 3, "empty_completion": 2}
    assert summary.error_rate == pytest.approx(5 / 12)
    assert (summary.completion_tokens, summary.prompt_tokens) == (7 * 16, 7 * 64)
    assert summary.ttft_ms is not None
    assert whole.ttft_ms is not None
    assert summary.ttft_ms.n == 7
    assert summary.ttft_ms.p50 == pytest.approx(whole.ttft_ms.p50, rel=0.05)
    assert any(
        note.startswith("2 requests that the client counts as completed show no token") for note in summary.notes
    )


def test_a_rate_without_a_limit_is_unknown_however_it_is_written(tmp_path: Path) -> None:
    for written in ("inf", float("inf")):
        assert changed("sglang/plain.jsonl", tmp_path / "r.jsonl", request_rate=written).summary.request_rate is None


def test_percentiles_are_taken_where_the_file_leaves_the_mean_out(tmp_path: Path) -> None:
    summary = changed("vllm/plain.json", tmp_path / "r.json", mean_ttft_ms=None).summary

    assert summary.ttft_ms is not None
    assert summary.ttft_ms.mean is None
    assert summary.ttft_ms.p99 == only("vllm/plain.json").summary.ttft_ms.p99  # type: ignore[union-attr]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    target = tmp_path / "r.json"
    target.write_bytes(b"\xef\xbb\xbf" + (FILES / "vllm" / "plain.json").read_bytes())

    assert read_result(target).cells[0].summary == only("vllm/plain.json").summary


def test_a_line_ends_at_its_line_feed_and_nowhere_else(tmp_path: Path) -> None:
    """JSON may hold U+2028 and U+0085 as they are, and AIPerf writes its rows so."""
    for name in ("profile_export_aiperf.json", "profile_export.jsonl"):
        (tmp_path / name).write_text((FILES / "aiperf" / name).read_text())
    rows = tmp_path / "profile_export.jsonl"
    first, _, rest = rows.read_text().partition("\n")
    values = json.loads(first)
    values["metadata"]["worker_id"] = "one\u2028two\u0085three"
    rows.write_text(json.dumps(values, ensure_ascii=False) + "\n" + rest)

    (cell,) = read_result(tmp_path).cells
    assert cell.requests is not None
    assert len(cell.requests) == 12


@pytest.mark.parametrize("source", ["vllm/detailed.json", "sglang/detailed.jsonl"])
def test_a_time_that_a_file_does_not_state_is_unknown_and_no_zero(source: str, tmp_path: Path) -> None:
    target, stated = tmp_path / Path(source).name, json.loads((FILES / source).read_text())["ttfts"]

    without = changed(source, target, ttfts=None)
    one = changed(source, target, ttfts=[None, *stated[1:]])

    assert without.requests is None
    assert without.summary.completed == 9
    assert one.requests is not None
    assert (one.requests[0].status, one.requests[0].first_token_at) == (OK, None)
    assert (one.summary.completed, one.summary.errors) == (9, 3)
