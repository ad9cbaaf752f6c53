"""Per-request records go after their nights; everything that a published number rests on stays."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchgate.artifacts import RunStore
from benchgate.records import RunRecord
from benchgate.steps.expired import is_expired, kept_nights, remove_expired

NOW = datetime(2026, 6, 30, 12, tzinfo=timezone.utc)


def record(days: float, state: str = "success", yaml: str = "keep_requests_nights: 3") -> RunRecord:
    started = (NOW - timedelta(days=days)).isoformat()
    fields = {"run": "c.n1", "campaign": "c", "airflow_run_id": "n1", "started_at": started, "benchgate_version": "0"}
    return RunRecord.model_validate({**fields, "state": state, "campaign_yaml": yaml})


def test_a_run_expires_after_its_nights_and_never_while_it_runs() -> None:
    assert not is_expired(record(3.9), now=NOW, keep_nights=3)
    assert is_expired(record(4.1), now=NOW, keep_nights=3)
    assert not is_expired(record(400, "running"), now=NOW, keep_nights=3)


def test_the_campaign_says_how_many_nights_and_a_broken_file_means_the_default() -> None:
    assert kept_nights(record(1)) == 3
    assert kept_nights(record(1, yaml="campaign: c")) == 30
    assert kept_nights(record(1, yaml="a: [")) == 30
    assert kept_nights(record(1, yaml="keep_requests_nights: many")) == 30


def test_only_the_raw_rows_of_an_expired_run_are_removed(tmp_path: Path) -> None:
    store = RunStore("c.n1", str(tmp_path))
    store.write(store.path("run.json"), record(10))
    cell = "marlin@h/a/chat/u1/r1"
    store.write_text(store.cell_path(cell, "requests.parquet"), "rows")
    store.write_text(store.cell_path(cell, "summary.json"), "{}")

    dry = remove_expired(dry=True, root=str(tmp_path), now=NOW)
    there = store.cell_path(cell, "requests.parquet").exists()
    said = remove_expired(root=str(tmp_path), now=NOW)

    assert dry == ["would remove 1 requests.parquet of run c.n1 (0.0 MiB)"]
    assert there
    assert said == ["removed 1 requests.parquet of run c.n1 (0.0 MiB)"]
    assert not store.cell_path(cell, "requests.parquet").exists()
    assert store.cell_path(cell, "summary.json").exists()
    assert remove_expired(root=str(tmp_path), now=NOW) == []


def test_an_artifact_store_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert remove_expired(root=str(tmp_path / "none"), now=NOW) == []
