"""What preflight says of this machine and of GPUs that nvidia-smi describes."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from benchgate.hosts import gpu_memory, process_facts, process_preflight
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.process import ProcessHost


def spec(**changes) -> ServerSpec:
    values = {"campaign": "c", "run": "r", "arm": "a", "placement": "p", "argv": [], "env": {}, "port": 0}
    return ServerSpec(**(values | changes))


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An nvidia-smi that prints what the test says for each query."""
    answers = tmp_path / "answers"
    answers.mkdir()
    program = tmp_path / "nvidia-smi"
    program.write_text(
        '#!/bin/sh\ncase "$1" in *compute-apps*) cat apps ;; *query-gpu*) cat facts ;; *) cat banner ;; esac\n'.replace(
            "cat ", f"cat {answers}/"
        )
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def say(*, facts: str, apps: str = "", banner: str = "") -> None:
        for name, text in (("banner", banner), ("apps", apps), ("facts", facts)):
            (answers / name).write_text(text)

    return say


FACTS = "0, GPU-aa, NVIDIA H200, 143771, 4, 570.1\n1, GPU-bb, NVIDIA H200, 143771, 98304, 570.1\n"


def test_a_gpu_in_use_is_refused_and_its_holder_named(smi):
    smi(facts=FACTS, apps=f"GPU-bb, {os.getpid()}, python, 98300\n")

    free, busy = process_preflight.gpu_memory("local", spec(gpus=["0", "GPU-bb"]))

    assert free.ok
    assert not busy.ok
    assert f"96.00 of 140.4 GiB in use: pid {os.getpid()} " in busy.message
    assert "holds 98300 MiB" in busy.message
    assert "pytest" in busy.message


def test_a_gpu_that_is_not_there_is_named_with_those_that_are(smi):
    smi(facts=FACTS)

    (finding,) = process_preflight.gpu_memory("local", spec(gpus=["7"]))

    assert not finding.ok
    assert "host local has no GPU 7; it has 0, 1" in finding.message


def test_a_gpu_that_does_not_say_its_memory_is_not_called_empty(smi):
    smi(facts="0, GPU-aa, NVIDIA GB10, [N/A], [N/A], 580.1\n")

    (finding,) = process_preflight.gpu_memory("local", spec(gpus=["0"]))

    assert finding.ok
    assert "does not say" in finding.message


def test_gpus_without_a_driver_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nonexistent")

    (finding,) = process_preflight.gpu_memory("local", spec(gpus=["0"]))

    assert not finding.ok
    assert "nvidia-smi shows none" in str(finding.remedy)


def test_a_cpu_placement_asks_no_gpu(smi):
    smi(facts=FACTS)

    assert process_preflight.gpu_memory("local", spec()) == []


def test_gpu_facts_are_read_and_absent_ones_are_unknown(smi, monkeypatch: pytest.MonkeyPatch):
    smi(facts=FACTS, banner="| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 13.0 |")

    with_gpus = process_facts.host_facts("here")
    monkeypatch.setenv("PATH", "/nonexistent")
    without = process_facts.host_facts("here")

    assert (with_gpus.gpu_model, with_gpus.gpu_count, with_gpus.driver) == ("NVIDIA H200", 2, "570.1")
    assert with_gpus.cuda == "13.0"
    assert with_gpus.gpu_memory_gib == pytest.approx(140.4, abs=0.01)
    assert (without.gpu_model, without.gpu_count, without.gpu_memory_gib) == (None, None, None)
    assert without.cpu_count == os.cpu_count()


def test_more_pinned_memory_than_there_is_is_refused():
    finding = process_preflight.host_memory(spec(pinned_host_memory_gib=1e6))

    assert not finding.ok
    assert "the arm pins 1e+06 GiB" in finding.message


def test_missing_seeds_are_refused_by_name(tmp_path: Path):
    there, missing = process_preflight.seeds(spec(mounts=[Mount(str(tmp_path), "/x"), Mount(f"{tmp_path}/gone", "/y")]))

    assert there.ok
    assert not missing.ok
    assert f"{tmp_path}/gone is missing" in missing.message


def test_stale_shared_memory_is_reported_with_its_size_and_refuses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "psm_left_over").write_bytes(b"\0" * (64 << 20))
    monkeypatch.setattr(process_preflight, "SHM", tmp_path)

    finding = process_preflight.shm()

    assert finding.ok
    assert "1 segments of 0.06 GiB are mapped by nobody: psm_left_over" in finding.message


def test_too_little_disk_is_refused(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process_preflight, "MIN_FREE_DISK_GIB", 1e9)

    finding = process_preflight.disk()

    assert not finding.ok
    assert str(benchgate_home) in finding.message


def test_a_listening_port_is_in_use_and_a_closed_one_is_not():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        assert process_preflight.port_in_use(port)
        assert f"pid {os.getpid()} " in str(process_preflight.port_holder(port))

    assert not process_preflight.port_in_use(port)
    assert process_preflight.port_holder(port) is None


def test_gpu_memory_that_comes_back_late_is_waited_for(smi, monkeypatch: pytest.MonkeyPatch):
    smi(facts=FACTS)  # GPU 1 holds 96 GiB
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if seconds == gpu_memory.POLL_S:
            smi(facts=FACTS.replace("98304", "4"))

    monkeypatch.setattr(gpu_memory.time, "sleep", wait)
    host = ProcessHost("local")

    assert host.gpu_memory_returned(["1"]) is True
    assert gpu_memory.POLL_S in waits
    assert host.gpu_memory_returned([]) is None


def test_gpu_memory_that_stays_is_said_and_what_nobody_can_look_at_is_unknown(smi, monkeypatch: pytest.MonkeyPatch):
    smi(facts=FACTS)

    assert ProcessHost("local").gpu_memory_returned(["1"], timeout_s=0) is False
    assert ProcessHost("local").gpu_memory_returned(["0"], timeout_s=0) is True
    smi(facts="0, GPU-aa, NVIDIA GB10, [N/A], [N/A], 580.1\n")
    assert ProcessHost("local").gpu_memory_returned(["0"], timeout_s=0) is None
    monkeypatch.setenv("PATH", "/nonexistent")
    assert ProcessHost("local").gpu_memory_returned(["0"], timeout_s=0) is None
