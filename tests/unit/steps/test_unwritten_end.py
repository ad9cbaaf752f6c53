"""A cell whose end cannot be recorded: the reason that a person sees is what ended it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate.errors import ArtifactError, MeasureFailed
from benchgate.records import Ledger
from benchgate.steps import measuring
from benchgate.steps.context import CampaignRun
from tests.support.runs import planned_cell

CELL = planned_cell()


def test_a_full_disk_does_not_hide_what_ended_the_measurement(
    benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CampaignRun("mini.night-1")
    ledger = Ledger(campaign="mini", run=run.run, created_at="2026-11-30T02:00:00Z", launches=[], cells=[CELL])
    run.store.write(run.store.path("ledger.json"), ledger)
    said: list[str] = []

    def server_gone(*_args: object, **_more: object) -> None:
        raise MeasureFailed("the server is gone")

    def disk_full(*_args: object) -> None:
        raise ArtifactError("there is no space left")

    monkeypatch.setattr(measuring, "_measure", server_gone)
    monkeypatch.setattr(measuring, "fail_cell", disk_full)

    with pytest.raises(MeasureFailed, match="the server is gone"):
        measuring.measure_cell(run, CELL.cell, say=said.append)

    assert said == [f"{CELL.cell}: its end could not be recorded: there is no space left"]
