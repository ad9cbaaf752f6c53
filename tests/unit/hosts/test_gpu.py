"""What nvidia-smi says, in numbers or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.hosts import gpu, process_facts
from benchgate.records import GpuSample

AT = "2026-11-30T09:04:00Z"
TIMELINE = Path(__file__).parents[2] / "fixtures" / "engines" / "nvidia-smi-timeline.csv"


def test_a_recorded_timeline_of_an_h200() -> None:
    samples = gpu.parse_samples(TIMELINE.read_text(), AT)

    assert len(samples) == 11
    assert samples[1] == GpuSample(
        at="2026/11/30 09:04:00.723",
        gpu="0",
        memory_used_mib=133697,
        power_w=210.83,
        sm_clock_mhz=1980,
        temperature_c=47,
        utilization=1.0,
        throttle_reasons=None,
    )


def test_two_gpus_of_one_look() -> None:
    text = (
        "0, GPU-aa, 133693, 126.74, 1980, 42, 0, 0x0000000000000000\n"
        "1, GPU-bb, 5, 300.10, 1755, 66, 97, 0x0000000000000024\n"
    )

    first, second = gpu.parse_samples(text, AT)

    assert (first.at, first.gpu, first.throttle_reasons, first.utilization) == (AT, "GPU-aa", "none", 0.0)
    assert (second.gpu, second.power_w, second.throttle_reasons) == (
        "GPU-bb",
        300.1,
        "sw_power_cap, sw_thermal_slowdown",
    )


def test_what_a_gpu_does_not_say_is_unknown_and_not_zero() -> None:
    (sample,) = gpu.parse_samples("0, GPU-aa, [N/A], [Not Supported], 2405, 50, [Unknown Error], [N/A]\n", AT)

    assert sample == GpuSample(at=AT, gpu="GPU-aa", sm_clock_mhz=2405, temperature_c=50)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("0x0000000000000001", "gpu_idle"),
        ("0x0000000000000000", "none"),
        ("0x1004", "sw_power_cap, 0x1000"),
        ("[N/A]", None),
        ("Active", None),
        (None, None),
    ],
)
def test_throttle_reasons(mask: str | None, words: str | None) -> None:
    assert gpu.throttle_reasons(mask) == words


@pytest.mark.parametrize(
    "message",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        'Field "clocks_event_reasons.active" is not a valid field to query.',
        "No devices were found",
        "",
    ],
)
def test_a_message_is_no_sample(message: str) -> None:
    assert gpu.parse_samples(message, AT) == []
    assert gpu.parse_facts(message) == []


def test_a_driver_that_refuses_a_field_is_asked_again_without_it() -> None:
    queries = gpu.sample_queries(["0", "GPU-bb"])

    assert [fields[-1] for fields, _ in queries] == [
        "clocks_event_reasons.active",
        "clocks_throttle_reasons.active",
        "utilization.gpu",
    ]
    assert all(command[-1] == "--id=0,GPU-bb" for _, command in queries)
    fields, _ = queries[1]
    assert gpu.parse_samples("0, GPU-aa, 5, 70.0, 210, 30, 0, 0x1\n", AT, fields)[0].throttle_reasons == "gpu_idle"


def test_all_gpus_need_no_list() -> None:
    assert not any(word.startswith("--id") for word in gpu.query(gpu.FACT_FIELDS, ["all"]))


def test_facts_and_processes() -> None:
    (fact,) = gpu.parse_facts("0, GPU-aa, NVIDIA H200, 143771, 4, 580.159.04\n")
    (process,) = gpu.parse_processes("GPU-aa, 680, VLLM::EngineCore, 133684\n")

    assert fact == gpu.GpuFact("0", "GPU-aa", "NVIDIA H200", 143771 / 1024, 4 / 1024, "580.159.04")
    assert process == gpu.GpuProcess("GPU-aa", 680, "VLLM::EngineCore", 133684)


def test_cuda_version_of_the_heading() -> None:
    assert (
        gpu.cuda_version("| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |")
        == "13.0"
    )
    assert gpu.cuda_version("CUDA Version: ERR!") is None


@given(st.text(max_size=300))
def test_no_answer_breaks_the_reader(text: str) -> None:
    gpu.parse_samples(text, AT)
    gpu.parse_facts(text)
    gpu.parse_processes(text)


def test_a_process_host_asks_nvidia_smi_for_its_placements_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "nvidia-smi"
    fake.write_text(
        "#!/bin/sh\n"
        'case "$*" in *clocks_event_reasons*) echo "Field is not a valid field to query."; exit 2;; esac\n'
        'case "$*" in *--id=1*) echo "1, GPU-bb, 5, 70.0, 210, 30, 3, 0x1";; esac\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")

    (sample,) = process_facts.gpu_samples(["1"])

    assert (sample.gpu, sample.utilization, sample.throttle_reasons) == ("GPU-bb", 0.03, "gpu_idle")


def test_a_machine_without_nvidia_smi_has_no_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert process_facts.gpu_samples(["0"]) == []
