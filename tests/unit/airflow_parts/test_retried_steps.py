"""What Airflow tries again: only what may pass by itself, and only steps that change nothing when done twice."""

from __future__ import annotations

import pytest

from benchgate.airflow.task_steps import may_pass
from benchgate.errors import (
    ArtifactError,
    BenchgateError,
    DamagedArtifact,
    HostError,
    MeasureFailed,
    SeedError,
    SpecError,
    WarehouseError,
)


@pytest.mark.parametrize(
    ("step", "error", "expected"),
    [
        ("pull_image", HostError("the engine restarts"), True),
        ("seed_model", SeedError("the hub does not answer"), True),
        ("load", WarehouseError("the database restarts"), True),
        ("stop_server", HostError("the engine restarts"), True),
        ("validate", ArtifactError("no space left"), True),
        ("plan", ArtifactError("no space left"), True),
        ("plan", SpecError([]), False),
        ("load", DamagedArtifact("gates.json", "was cut off"), False),
        ("validate", BenchgateError("the run was not planned"), False),
        ("start_server", HostError("the engine restarts"), False),  # a second start is another launch
        ("measure", MeasureFailed("the server is gone"), False),  # a second try is another measurement
        ("measure", HostError("the engine restarts"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(step: str, error: BenchgateError, expected: bool) -> None:
    assert may_pass(step, error) is expected
