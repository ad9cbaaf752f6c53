"""The findings of the two write-ups, number by number, from the project's sources file through tables and views."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchgate.analysis.write import write_sources
from benchgate.settings import PROJECT_ROOT
from benchgate.spec.load import load_sources
from benchgate.warehouse.migrate import migrate
from tests.support.warehouses import rows

SOURCES = PROJECT_ROOT / "include" / "sources.yaml"
KERNELS, ENGINES = "gpt-oss-120b-two-kernels", "gpt-oss-20b-vllm-mxfp4"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A warehouse that holds the sources and no run of ours."""
    url = f"sqlite:///{tmp_path_factory.mktemp('sources')}/warehouse.db"
    migrate(url)
    write_sources(load_sources(SOURCES), url)
    return url


@pytest.mark.parametrize(
    ("source", "workload", "users", "metric", "ratio", "words"),
    [
        (KERNELS, "short-chat", 1, "decode_tok_s", 1.83, "104 to 190 tokens/s"),
        (KERNELS, "short-chat", 1, "tpot_ms", 0.54, "9.6 to 5.2 ms"),
        (KERNELS, "short-chat", 64, "decode_tok_s", 1.36, "+36 %"),
        (KERNELS, "short-chat", 64, "tpot_ms", 0.74, "10.1 ms instead of 13.6"),
        (KERNELS, "prompt-8k", 64, "decode_tok_s", 1.04, "shrank to 4 %"),
        (KERNELS, "prompt-8k", 64, "ttft_ms", 1.58, "2.66 s versus 1.68 s"),
        (KERNELS, "document-126k", 1, "tpot_ms", 0.58, "6.2 vs 10.6 ms per token"),
        (KERNELS, "document-126k", 1, "ttft_ms", 1.08, "7.7 s vs 7.1 s"),
        (KERNELS, "document-126k", 8, "decode_tok_s", 0.93, "130 vs 121 tokens/s"),
        (KERNELS, "document-126k", 8, "ttft_ms", 1.22, "15.7 s vs 19.2 s"),
        (ENGINES, "sharegpt", 32, "prefill_tok_s", 1.82, "~1.8x prefill"),
        (ENGINES, "sharegpt", 32, "decode_tok_s", 1.92, "~1.9x decode"),
    ],
)
def test_each_ratio_of_the_write_ups_stands_in_versus_reference(
    url: str, source: str, workload: str, users: int, metric: str, ratio: float, words: str
) -> None:
    [row] = rows(
        url,
        "select * from versus_reference where source = :source and workload = :workload and users = :users "
        "and metric = :metric",
        source=source,
        workload=workload,
        users=users,
        metric=metric,
    )

    assert round(row["reference_ratio"], 2) == ratio, words
    arms = ("marlin", "triton") if source == KERNELS else ("vllm", "sglang")
    assert (row["arm"], row["baseline_arm"]) == arms
    assert row["our_value"] is None  # nothing of ours is mixed in


def test_versus_reference_states_these_ratios_and_no_other(url: str) -> None:
    found = rows(url, "select source, count(*) as n from versus_reference group by source")

    assert {row["source"]: row["n"] for row in found} == {KERNELS: 10, ENGINES: 2}


@pytest.mark.parametrize(
    ("kind", "metric", "ahead", "point", "other_metric", "behind", "other_point"),
    [
        # Marlin leads with short chats and 8K prompts, and falls behind with long documents and eight users
        ("between workloads", "decode_tok_s", "short-chat u64", 1.36, "decode_tok_s", "document-126k u8", 0.93),
        ("between workloads", "decode_tok_s", "prompt-8k u64", 1.04, "decode_tok_s", "document-126k u8", 0.93),
        ("between workloads", "decode_tok_s", "short-chat u1", 1.83, "decode_tok_s", "document-126k u8", 0.93),
        # with 8K prompts its throughput leads and its first token comes later
        ("between metrics", "decode_tok_s", "prompt-8k u64", 1.04, "ttft_p50_ms", "prompt-8k u64", 1.58),
        # a long document alone: faster per token, slower to begin
        ("between metrics", "tpot_p50_ms", "document-126k u1", 0.58, "ttft_p50_ms", "document-126k u1", 1.08),
    ],
)
def test_each_reversal_of_the_write_up_stands_in_the_view(
    url: str, kind: str, metric: str, ahead: str, point: float, other_metric: str, behind: str, other_point: float
) -> None:
    found = [
        row
        for row in rows(url, "select * from reversal")
        if (row["kind"], row["metric"], row["other_metric"]) == (kind, metric, other_metric)
        and f"{row['workload']} {row['load_label']}" == ahead
        and f"{row['other_workload']} {row['other_load_label']}" == behind
    ]

    [row] = found
    assert (row["arm"], row["baseline_arm"]) == ("marlin", "triton")
    assert (round(row["point"], 2), round(row["other_point"], 2)) == (point, other_point)
    assert row["label"] == "one run"
    assert row["basis"] == KERNELS
    assert row["words"].endswith(f"Single runs, stated by {KERNELS}.")


def test_nothing_else_is_called_a_reversal(url: str) -> None:
    assert len(rows(url, "select * from reversal")) == 5


def test_latencies_of_a_stream_that_came_in_one_burst_are_not_among_the_values(url: str) -> None:
    found = rows(url, "select metric from reference_value where source = :source", source=ENGINES)

    assert {row["metric"] for row in found} == {"prefill_tok_s", "decode_tok_s"}


def test_the_sources_file_states_what_the_write_ups_state() -> None:
    stated = yaml.safe_load(SOURCES.read_text())["references"]
    fixture = Path(__file__).parents[2] / "fixtures" / "analysis" / "reference-values.yaml"

    units = {"ttft_s": ("ttft_p50_ms", 1000), "tpot_ms": ("tpot_p50_ms", 1)}
    for reference in stated:
        ours = []
        for cell in reference["cells"]:
            kept = {name: cell[name] for name in ("arm", "workload", "users")}
            for name, value in cell.items():
                if name in ("ttft_s", "tpot_ms", "decode_tok_s", "prefill_tok_s"):
                    metric, factor = units.get(name, (name, 1))
                    kept[metric] = pytest.approx(value * factor)
            ours.append(kept)
        assert yaml.safe_load(fixture.read_text())[reference["source"]] == ours
