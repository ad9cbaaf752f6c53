"""Sources: the bibliography and the reference values that stand beside our own numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.spec.load import load_sources, read_campaign
from tests.unit.spec.writing import CAMPAIGN, problems

INCLUDE = Path(__file__).parents[3] / "include"


@pytest.fixture(scope="module")
def shipped():
    return load_sources(INCLUDE / "sources.yaml")


def test_the_bibliography_holds_what_the_write_ups_cite(shipped):
    assert {"S02", "S57", "S87", "S112", "S113", "S114"} <= set(shipped.sources)
    assert shipped.sources["S113"].url == "https://github.com/vllm-project/vllm/pull/27523"


def test_the_reference_values_give_the_findings_of_the_write_ups(shipped):
    kernels, engines = shipped.references
    cells = {(cell.arm, cell.workload, cell.users): cell for cell in kernels.cells}

    def ratio(workload: str, users: int) -> float:
        return cells["marlin", workload, users].decode_tok_s / cells["triton", workload, users].decode_tok_s

    assert ratio("short-chat", 64) == pytest.approx(1.36, abs=0.005)
    assert ratio("prompt-8k", 64) == pytest.approx(1.04, abs=0.005)
    assert ratio("document-126k", 8) < 1
    assert cells["marlin", "prompt-8k", 64].ttft_s > cells["triton", "prompt-8k", 64].ttft_s
    vllm, sglang = engines.cells
    assert vllm.prefill_tok_s / sglang.prefill_tok_s == pytest.approx(1.8, abs=0.05)
    assert vllm.decode_tok_s / sglang.decode_tok_s == pytest.approx(1.9, abs=0.05)
    assert vllm.completed + vllm.errors == vllm.requests == 1000


def test_what_a_source_does_not_state_is_unknown_and_not_zero(shipped):
    sglang = shipped.references[1].cells[1]
    assert sglang.errors is None
    assert sglang.ttft_s is None


def test_versions_and_fractions_stay_text(shipped):
    assert shipped.references[0].engine.version == "0.31.0"
    assert shipped.references[0].facts == {"kv_tokens": 2610000, "needle": "3/3"}
    assert [failure.arm for failure in shipped.references[0].did_not_run].count("cpu-kv-offload") == 2


SMALL = """\
sources:
  S1: {title: One}
references:
  - source: S1
    hardware: {gpu: g}
    engine: {name: vllm}
    cells:
      - {arm: a, workload: w, users: 1, tpot_ms: 1}
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "says"),
    [
        ("source: S1", "source: S2", 4, "references[0].source", "'S2' is not in sources. Sources: S1"),
        ("users: 1,", "users: 0,", 8, "references[0].cells[0].users", "must be greater than 0"),
        ("tpot_ms: 1", "tpot_ms: 0", 8, "references[0].cells[0].tpot_ms", "must be greater than 0"),
        ("tpot_ms", "tpot", 8, "references[0].cells[0].tpot", "did you mean tpot_ms?"),
        ("{title: One}", "{url: x}", 2, "sources.S1.title", "is missing"),
        (
            "tpot_ms: 1}",
            "tpot_ms: 1}\n      - {arm: a, workload: w, users: 1}",
            9,
            "references[0].cells[1]",
            "already stated",
        ),
    ],
)
def test_a_mistake_is_told_with_line_and_field(tmp_path, old, new, line, field, says):
    assert old in SMALL
    found = problems(load_sources, tmp_path / "s.yaml", SMALL.replace(old, new, 1))
    here = [problem for problem in found if problem.field == field]
    assert here, found
    assert here[0].line == line
    assert says in here[0].message


def test_a_campaign_may_only_name_sources_that_exist(tmp_path, shipped):
    text = f"sources: [S113, S99]\n{CAMPAIGN}"
    found = problems(lambda file: read_campaign(file, None, shipped), tmp_path / "c.yaml", text)
    assert [(problem.line, problem.field) for problem in found] == [(1, "sources[1]")]
