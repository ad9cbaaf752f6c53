"""``vllm bench serve`` on the H200 servers of docs/h200.md: its figures as it states them, judged by our rules."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchgate.importers import ImportedCell, read_result

FILES = Path(__file__).parents[2] / "fixtures" / "importers" / "vllm"


def measured(arm: str, users: int, folder: Path) -> ImportedCell:
    """One result file, as the client wrote it."""
    plain = folder / f"{arm}-u{users}.json"
    plain.write_bytes(gzip.decompress((FILES / f"h200-{arm}-u{users}.json.gz").read_bytes()))
    (cell,) = read_result(plain).cells
    return cell


@pytest.mark.parametrize(
    ("arm", "users", "completed", "seconds", "tok_s", "tpot_ms", "ttft_ms"),
    [
        ("triton", 16, 48, 7.013, 1752.1, 6.013, 172.6),
        ("triton", 64, 128, 5.181, 6324.5, 6.992, 336.7),
        ("marlin", 16, 48, 5.192, 2366.6, 6.179, 143.2),
        ("marlin", 64, 128, 4.739, 6915.0, 7.847, 314.6),
    ],
)
def test_what_the_client_states_is_taken_to_the_digit(
    arm: str, users: int, completed: int, seconds: float, tok_s: float, tpot_ms: float, ttft_ms: float, tmp_path: Path
) -> None:
    summary = measured(arm, users, tmp_path).summary

    assert (summary.client_name, summary.metric_definition) == ("vllm-bench", "vllm-bench-0.2x")
    assert (summary.completed, summary.errors, summary.users) == (completed, 0, users)
    assert summary.completion_tokens == 256 * completed
    assert summary.duration_s == pytest.approx(seconds, abs=5e-4)
    assert summary.decode_tok_s == pytest.approx(tok_s, abs=0.05)
    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p50 == pytest.approx(tpot_ms, abs=5e-4)
    assert summary.ttft_ms is not None
    assert summary.ttft_ms.p50 == pytest.approx(ttft_ms, abs=0.05)


@pytest.mark.parametrize(("users", "share"), [(16, "2.1 of 7.0 s"), (64, "1.0 of 5.2 s")])
def test_a_result_in_which_the_server_stood_still_is_told_although_the_client_says_nothing(
    users: int, share: str, tmp_path: Path
) -> None:
    summary = measured("triton", users, tmp_path).summary

    assert summary.warm_verdict == "not_warm"
    assert (summary.warm_reason or "").startswith(f"nobody got a token for {share} beyond what waiting prompts explain")


@pytest.mark.parametrize("users", [16, 64])
def test_the_same_load_on_the_other_kernel_is_not_accused(users: int, tmp_path: Path) -> None:
    assert measured("marlin", users, tmp_path).summary.warm_verdict is None


def test_without_the_gaps_between_chunks_nobody_can_tell() -> None:
    (cell,) = read_result(FILES / "h200_s64.json").cells
    assert cell.summary.warm_verdict is None
