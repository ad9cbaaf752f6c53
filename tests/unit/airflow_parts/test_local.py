"""The Airflow of one's own: what its environment says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchgate.airflow import local


@pytest.mark.parametrize(("cpus", "tasks"), [(1, "4"), (2, "4"), (6, "12"), (192, "16"), (None, "4")])
def test_a_local_airflow_forks_as_many_workers_as_the_machine_has_use_for(
    benchgate_home: Path, monkeypatch: pytest.MonkeyPatch, cpus: int | None, tasks: str
) -> None:
    monkeypatch.delenv("AIRFLOW__CORE__PARALLELISM", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)

    assert local.environment()["AIRFLOW__CORE__PARALLELISM"] == tasks


def test_what_the_caller_set_wins(benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__PARALLELISM", "7")

    assert local.environment()["AIRFLOW__CORE__PARALLELISM"] == "7"
