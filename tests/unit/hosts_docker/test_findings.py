"""What preflight makes of facts about a host, with GPUs that this machine does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchgate.hosts import docker_findings as findings
from benchgate.hosts import gpu_memory
from benchgate.hosts.base import Mount, ServerSpec
from benchgate.hosts.docker_facts import GIB, HostLook, ShmSegment
from benchgate.hosts.docker_seeds import judge
from benchgate.hosts.gpu import GpuFact, GpuProcess
from benchgate.hosts.gpu_memory import all_idle, chosen
from benchgate.records import FailureKind

SPEC = ServerSpec(
    campaign="c", run="r", arm="a", placement="quad-a", argv=[], env={}, port=8000, image="i", gpus=["0", "1"]
)
LOOK = HostLook(100 * GIB, 80 * GIB, "cpu", 50 * GIB, 40 * GIB, 500 * GIB, [], 0)


def gpu(index: str, used: float | None) -> GpuFact:
    return GpuFact(index, f"GPU-{index}", "NVIDIA H200", 140.4, used, "570.1")


FOUR = [gpu(str(index), 0.4) for index in range(4)]


def test_idle_gpus_are_fine_and_busy_ones_are_refused_with_who_holds_them() -> None:
    gpus = [gpu("0", 0.4), gpu("1", 22.1), gpu("2", 90.0)]
    users = [GpuProcess("GPU-1", 4711, "VLLM::Worker", 22_500.0), GpuProcess("GPU-2", 1, "other", 9.0)]

    found = gpu_memory.findings(gpus, users, ["0", "1"], "h200")

    assert [finding.ok for finding in found] == [True, False]
    assert "GPU 1: 22.10 of 140.4 GiB in use: pid 4711 VLLM::Worker holds 22500 MiB" in found[1].message
    assert "not its own" in str(found[1].remedy)
    assert found[1].kind is FailureKind.GPU_MEMORY_IN_USE


def test_a_gpu_that_the_host_does_not_have_is_named() -> None:
    found = gpu_memory.findings(FOUR, [], ["3", "4", "GPU-9"], "h200")

    assert [finding.ok for finding in found] == [False]
    assert found[0].message == "host h200 has no GPU 4, GPU-9; it has 0, 1, 2, 3"


def test_unified_memory_that_is_not_told_is_not_taken_for_zero() -> None:
    found = gpu_memory.findings([gpu("0", None)], [], ["all"], "spark")

    assert found[0].ok
    assert "does not say" in found[0].message
    assert all_idle([gpu("0", None)]) is None


def test_gpus_are_chosen_by_index_uuid_or_all() -> None:
    assert chosen(FOUR, ["1", "GPU-3"]) == ([FOUR[1], FOUR[3]], [])
    assert chosen(FOUR, ["all"]) == (FOUR, [])
    assert chosen([], ["0"]) == ([], ["0"])


@pytest.mark.parametrize(("used", "idle"), [([0.4, 0.2], True), ([0.4, 22.0], False), ([], None), ([0.4, None], None)])
def test_memory_has_come_back_when_every_gpu_is_idle(used: list[float | None], idle: bool | None) -> None:
    assert all_idle([gpu(str(number), gib) for number, gib in enumerate(used)]) is idle


def container(name: str = "/x", **host_config: Any) -> dict[str, Any]:
    return {"Name": name, "HostConfig": host_config, "Config": {"Env": ["NVIDIA_VISIBLE_DEVICES=2,3"]}}


@pytest.mark.parametrize(
    ("given", "touches"),
    [
        (container(DeviceRequests=[{"DeviceIDs": ["1"], "Capabilities": [["gpu"]]}]), True),
        (container(DeviceRequests=[{"DeviceIDs": ["4"], "Capabilities": [["gpu"]]}]), False),
        (container(DeviceRequests=[{"Count": -1, "DeviceIDs": None, "Capabilities": [["gpu"]]}]), True),
        (container(DeviceRequests=[{"DeviceIDs": ["1"], "Capabilities": [["tpu"]]}]), False),
        (container(), False),  # the variable alone gives no GPU
        (container(Runtime="nvidia"), False),
        (container("/benchgate-h200-quad-a"), True),
        (container("/benchgate-h200-quad-a-client"), True),
        (container("/benchgate-h200-quad-ab"), False),
    ],
)
def test_which_containers_are_in_the_way(given: dict[str, Any], touches: bool) -> None:
    assert findings.touches(given, "benchgate-h200-quad-a", ["0", "1"]) is touches


def test_the_old_way_to_give_gpus_counts() -> None:
    assert findings.gpus_of(container(Runtime="nvidia")) == ["2", "3"]


def test_shared_memory_that_nobody_holds_is_named_with_its_size() -> None:
    segments = [ShmSegment("psm_1", 300 << 20, 0, ()), ShmSegment("nccl-x", 10 << 20, 0, ("abc",))]

    found = findings.shm(replace(LOOK, segments=segments), SPEC)

    assert found.ok
    assert "1 segments of 0.29 GiB that no process holds: psm_1 (300 MiB)" in found.message
    assert found.remedy


def test_a_full_shm_is_refused_only_for_a_server_that_uses_it() -> None:
    full = replace(LOOK, shm_free=1 << 20)

    refused = findings.shm(full, SPEC)
    assert (refused.ok, refused.kind) == (False, FailureKind.SHM_TOO_SMALL)
    assert findings.shm(full, replace(SPEC, shm_size_gib=16.0)).ok


@pytest.mark.parametrize(("pinned", "ok"), [(0.0, True), (79.0, True), (79.5, False), (640.0, False)])
def test_pinned_memory_needs_room_beside_it(pinned: float, ok: bool) -> None:
    found = findings.host_memory(LOOK, replace(SPEC, pinned_host_memory_gib=pinned), unified=False)

    assert found.ok is ok
    assert (found.remedy is None) is ok


def test_an_unknown_amount_of_free_memory_is_said_and_not_zero() -> None:
    found = findings.host_memory(replace(LOOK, memory_available=None), SPEC, unified=True)

    assert found.ok
    assert "does not say" in found.message


def test_a_full_disk_is_refused() -> None:
    assert findings.disk(LOOK).ok
    assert not findings.disk(replace(LOOK, disk_free=GIB)).ok


def test_seeds_are_judged_mount_by_mount() -> None:
    mounts = [Mount("benchgate-vocab", "/vocab"), Mount("/srv/hf", "/hf")]
    whole = {"files": 1, "checked": 1, "wrong": []}

    assert judge(mounts, [whole, {"files": 12, "checked": 0, "wrong": []}], "h").ok
    cut = judge(mounts, [{"files": 1, "checked": 1, "wrong": ["o200k_base.tiktoken"]}, whole], "h")
    empty = judge(mounts, [whole, {"files": 0, "checked": 0, "wrong": []}], "h")
    assert "benchgate-vocab: 1 files gone or cut, first o200k_base.tiktoken" in cut.message
    assert "/srv/hf is empty" in empty.message
