from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from benchgate.analysis.reference import ReferenceCell, compare_references, versus_references
from benchgate.analysis.reversals import reversals, summaries
from tests.unit.analysis.fabricate import cell, swapped

STATED = Path(__file__).parents[2] / "fixtures" / "analysis" / "reference-values.yaml"


def stated() -> list[ReferenceCell]:
    return [
        ReferenceCell(source, c.pop("arm"), c.pop("workload"), c.pop("users"), c)
        for source, cells in yaml.safe_load(STATED.read_text()).items()
        for c in cells
    ]


def at(found: list[Comparison], workload: str, users: int, metric: str) -> Comparison:
    [c] = [c for c in found if (c.workload, c.users, c.metric) == (workload, users, metric)]
    return c


@pytest.mark.parametrize(
    ("workload", "users", "metric", "ratio"),
    [
        ("short-chat", 64, "decode_tok_s", 1.36),
        ("prompt-8k", 64, "decode_tok_s", 1.04),
        ("document-126k", 8, "decode_tok_s", 0.93),
        ("prompt-8k", 64, "ttft_p50_ms", 1.58),
        ("sharegpt", 32, "prefill_tok_s", 1.82),
        ("sharegpt", 32, "decode_tok_s", 1.92),
    ],
)
def test_the_write_ups_ratios_come_out_of_their_own_numbers(
    workload: str, users: int, metric: str, ratio: float
) -> None:
    found = at(compare_references(stated()), workload, users, metric)

    assert round(found.point or 0, 2) == ratio
    assert found.verdict == "one run"
    assert found.low is None


def test_the_write_ups_reversals_are_found_and_labelled_one_run() -> None:
    found = reversals(compare_references(stated()))

    assert {r.label for r in found} == {"one run"}
    places = {(r.kind, r.ahead.metric, r.behind.metric, r.behind.workload, r.behind.users) for r in found}
    assert ("between workloads", "decode_tok_s", "decode_tok_s", "document-126k", 8) in places
    assert ("between metrics", "decode_tok_s", "ttft_p50_ms", "prompt-8k", 64) in places
    assert ("between metrics", "tpot_p50_ms", "ttft_p50_ms", "document-126k", 1) in places
    assert not [r for r in found if "sglang" in r.text]


def test_a_summary_is_one_sentence_for_a_metric() -> None:
    [sentence] = [s for s in summaries(reversals(compare_references(stated()))) if "throughput: ahead" in s]

    assert sentence == (
        "marlin against triton, decode throughput: ahead at short-chat, 1 user (1.83x) and at short-chat, 64 users "
        "(1.36x) and at prompt-8k, 64 users (1.04x), but behind at document-126k, 8 users (0.93x). "
        "Single runs, stated by gpt-oss-120b-two-kernels."
    )


def test_a_declared_baseline_is_taken() -> None:
    found = compare_references(stated(), {"gpt-oss-20b-vllm-mxfp4": "vllm"})

    assert round(at(found, "sharegpt", 32, "decode_tok_s").point or 0, 2) == 0.52


def measured(short: float, document: float, noise: float = 0.02, repeats: int = 3) -> list[Comparison]:
    rng = np.random.default_rng(1)
    return compare(
        [
            *swapped(rng, effect=short, noise=noise, repeats=repeats, workload="short-chat"),
            *swapped(rng, effect=document, noise=noise, repeats=repeats, workload="document-126k", users=8),
        ]
    )


def test_a_measured_reversal_needs_both_sides_to_be_significant() -> None:
    assert [r.label for r in reversals(measured(1.36, 0.85))] == ["significant"]
    assert reversals(measured(1.36, 0.995)) == []


def test_measured_single_runs_never_make_a_reversal() -> None:
    assert reversals(measured(1.36, 0.85, repeats=1)) == []


def test_a_reversal_between_loads_of_one_workload_is_called_that() -> None:
    rng = np.random.default_rng(2)
    cells = [*swapped(rng, effect=1.5, users=1), *swapped(rng, effect=0.7, users=64)]

    [found] = reversals(compare(cells))

    assert found.kind == "between loads"
    assert "ahead at short-chat, 1 user (1." in found.text


def test_noise_alone_makes_no_reversals() -> None:
    rng = np.random.default_rng(3)
    runs = 200
    alarms = sum(
        bool(reversals(compare([c for users in range(1, 9) for c in swapped(rng, users=users)]))) for _ in range(runs)
    )
    assert alarms / runs <= 0.05


def test_ours_stand_beside_theirs_with_the_source_and_are_not_mixed() -> None:
    cells = [cell("marlin", v, repeat=r) for r, v in enumerate([2900.0, 2975.5, 3100.0], 1)]

    [found] = versus_references(cells, stated(), ["gpt-oss-120b-two-kernels"])

    assert (found.ours, found.theirs, found.ratio, found.repeats) == (2975.5, 5951, 0.5, 3)
    assert found.source == "gpt-oss-120b-two-kernels"


def test_sources_that_the_campaign_does_not_name_stay_out() -> None:
    assert versus_references([cell("marlin", 1.0)], stated(), []) == []
