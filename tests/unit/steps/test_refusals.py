"""What preflight refuses has its own kind, so that the warehouse and the metrics tell a busy GPU from a full disk."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchgate.errors import PreflightRefused
from benchgate.hosts.base import PreflightFinding
from benchgate.records import FailureKind
from benchgate.steps import launching
from benchgate.steps.context import CampaignRun
from tests.unit.steps.test_starting_again import LAUNCH, run

__all__ = ["run"]  # the fixture

FINE = PreflightFinding("port", True, "port 8000 is free", kind=FailureKind.PORT_IN_USE)
DISK = PreflightFinding("disk", False, "1 GiB free", remedy="free at least 5 GiB there")
GPU = PreflightFinding("gpu_memory", False, "GPU 0: 22 GiB in use", kind=FailureKind.GPU_MEMORY_IN_USE)


@pytest.mark.parametrize(
    ("findings", "kind", "reason"),
    [
        ([FINE, GPU], FailureKind.GPU_MEMORY_IN_USE, "gpu_memory: GPU 0: 22 GiB in use"),
        ([FINE, DISK], FailureKind.PREFLIGHT, "disk: 1 GiB free (free at least 5 GiB there)"),
        (
            [DISK, GPU],  # the one that has a kind of its own says more
            FailureKind.GPU_MEMORY_IN_USE,
            "disk: 1 GiB free (free at least 5 GiB there); gpu_memory: GPU 0: 22 GiB in use",
        ),
    ],
)
def test_a_refused_launch_says_which_kind_of_thing_refused_it(
    run: CampaignRun,
    monkeypatch: pytest.MonkeyPatch,
    findings: list[PreflightFinding],
    kind: FailureKind,
    reason: str,
) -> None:
    host = SimpleNamespace(preflight=lambda _spec, **_: findings, facts=lambda: None)
    monkeypatch.setattr(CampaignRun, "host", lambda _self, _name: host)
    monkeypatch.setattr(launching, "server_spec", lambda _run, _launch: None)

    with pytest.raises(PreflightRefused):
        launching.preflight(run, LAUNCH, run_is_over=lambda _: False, say=lambda _: None)

    record = run.launch_record(LAUNCH)
    assert record is not None
    assert record.failure is not None
    assert (record.failure.kind, record.failure.reason) == (kind, reason)
