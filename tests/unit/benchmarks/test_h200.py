"""docs/h200.md and the eight-GPU campaign: what is written agrees with what was measured and what is planned."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from benchgate.plan import build_ledger
from benchgate.spec.load import load_campaign, load_inventory, load_sources
from benchmarks.h200 import tables

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results" / "h200"
CAMPAIGN = ROOT / "include" / "campaigns" / "gpt-oss-120b-h200-dp4.yaml"


def test_every_table_of_the_document_is_what_the_results_say() -> None:
    document = (ROOT / "docs" / "h200.md").read_text()

    assert document.count("<!-- table: ") == len(tables.tables(RESULTS))
    assert tables.write(RESULTS, document) == document


def test_a_table_is_replaced_and_the_text_around_it_is_left_alone() -> None:
    document = (
        "before\n<!-- table: launches -->\nold\n<!-- end -->\nbetween\n<!-- table: swap -->\n<!-- end -->\nafter\n"
    )

    written = tables.write(RESULTS, document)

    assert "old" not in written
    assert "\nbetween\n" in written
    assert written.endswith("<!-- end -->\nafter\n")
    assert "marlin@h200-process/gpu1" in written


def test_no_cell_of_random_weights_is_called_published() -> None:
    assert {row["basis"] for row in tables.read(RESULTS, "comparisons")} == {"unpublishable"}
    assert {row["needles"] for row in tables.read(RESULTS, "launches")} == {"0/3"}


def test_the_eight_gpu_campaign_measures_every_cell_that_the_write_up_states() -> None:
    inventory = load_inventory(ROOT / "include" / "hosts.yaml")
    ledger = build_ledger(load_campaign(CAMPAIGN, inventory), "run", "2026-11-30T00:00:00Z")
    planned = {(cell.arm, cell.workload, cell.users) for cell in ledger.cells}
    references = load_sources(ROOT / "include" / "sources.yaml").references
    (stated,) = [entry for entry in references if entry.source == "gpt-oss-120b-two-kernels"]

    assert {(cell.arm, cell.workload, cell.users) for cell in stated.cells} <= planned


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    """A copy of the drive whose arm.sh only says what it was called with, on a machine with one GPU."""
    scripts, campaigns, bin_ = tmp_path / "benchmarks" / "h200", tmp_path / "include" / "campaigns", tmp_path / "bin"
    for folder in (scripts, campaigns, bin_, tmp_path / "plugins"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "benchmarks" / "h200" / "quads.sh", scripts)
    shutil.copy(CAMPAIGN, campaigns)
    (scripts / "arm.sh").write_text('echo "$@"\ncp "$1" "$SEEN"\n')
    (bin_ / "nvidia-smi").write_text('#!/bin/sh\necho "GPU 0: NVIDIA H200 (UUID: GPU-1)"\n')
    (bin_ / "nvidia-smi").chmod(0o755)
    return tmp_path


def drive(lease: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{lease / 'bin'}:{os.environ['PATH']}",
        "PLUGINS": str(lease / "plugins"),
        "SERVED_PLUGINS": str(lease / "served"),
        "SEEN": str(lease / "seen.yaml"),
    }
    return subprocess.run(
        ["bash", str(lease / "benchmarks" / "h200" / "quads.sh"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_dry_run_is_the_campaign_with_one_replica_on_one_gpu(lease: Path) -> None:
    done = drive(lease, "r1", "60", "--one-gpu", "marlin")

    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["r1", "60", "marlin"]
    campaign = load_campaign(lease / "seen.yaml", load_inventory(ROOT / "include" / "hosts.yaml"))
    assert campaign.args["data-parallel-size"] == 1
    assert {arm.placement for arm in campaign.arms.values()} == {"h200-process/gpu0"}
    whole = load_campaign(CAMPAIGN)
    assert campaign.workloads == whole.workloads
    assert {**campaign.args, "data-parallel-size": 4} == whole.args


def test_too_few_gpus_are_told_before_anything_starts(lease: Path) -> None:
    done = drive(lease, "r1", "60")

    assert done.returncode == 3
    assert "8 GPUs are needed and this machine has 1" in done.stderr
    assert not (lease / "seen.yaml").exists()


def test_both_quads_prove_four_replicas() -> None:
    arms = yaml.safe_load(CAMPAIGN.read_text())["arms"]

    assert {name: arm["prove"] for name, arm in arms.items()} == {
        kernel: {"moe_kernel": kernel, "kv_ranks": 4} for kernel in ("triton", "marlin")
    }
