"""A run keeps its campaign as the text of the file; what is read out of it is what the run was planned from."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.errors import SpecError
from benchgate.spec.load import campaign_of, load_campaign
from benchgate.warehouse.rows import build_rows
from tests.support.warehouses import bundle

CAMPAIGNS = sorted((Path(__file__).parents[3] / "include" / "campaigns").glob("*.yaml"))


@pytest.mark.parametrize("file", CAMPAIGNS, ids=lambda file: file.stem)
def test_every_campaign_of_ours_is_read_from_its_text_as_from_its_file(file: Path) -> None:
    assert campaign_of(file.read_text()) == load_campaign(file)


@pytest.mark.parametrize("text", ["", "[]", "a: [", "imported", "campaign: x"])
def test_what_is_no_campaign_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        campaign_of(text)


TEXT = """
campaign: kernels
engine: vllm
model: {id: some/model}
sources: [S02]
baseline: marlin
env: {VLLM_USE_RUST_FRONTEND: 0}
arms:
  triton: {placement: h200/quad-a}
  marlin: {placement: h200/quad-b}
workloads:
  short-chat: {dataset: synthetic, prompt_tokens: 8, users: [1, 64], requests_per_user: 3, endpoint: completions}
"""


def test_a_number_in_the_environment_loses_neither_sources_nor_baseline_nor_plan() -> None:
    spec = campaign_of(TEXT)

    rows = build_rows(bundle(spec=spec, run_changes={"campaign_yaml": TEXT}))

    assert [row["source"] for row in rows["campaign_source"]] == ["S02"]
    assert {row["baseline_arm"] for row in rows["launch"]} == {"marlin"}
    assert {row["endpoint"] for row in rows["cell"]} == {"completions"}


def test_requests_of_each_user_are_planned_for_all_users() -> None:
    spec = campaign_of(TEXT)

    rows = build_rows(bundle(spec=spec, run_changes={"campaign_yaml": TEXT}))

    assert {row["users"]: row["requests_planned"] for row in rows["cell"]} == {1: 3, 64: 192}
