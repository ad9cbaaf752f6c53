"""Housekeeping of artifacts: per-request records are large, and are kept for as many nights as the campaign says.

Summaries, logs, verdicts and the ledger stay: nothing that a published number rests on is removed but its raw rows.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import yaml

from benchgate.artifacts import all_runs
from benchgate.errors import DamagedArtifact
from benchgate.records import RunRecord
from benchgate.spec.campaign import CampaignSpec

REQUESTS = "requests.parquet"


def is_expired(record: RunRecord, *, now: datetime, keep_nights: int) -> bool:
    """Whether the per-request records of a run may go: it has ended, and its nights are over."""
    if record.state == "running":
        return False
    started = datetime.fromisoformat(record.started_at)
    return now - started.astimezone(timezone.utc) > timedelta(days=keep_nights + 1)


def kept_nights(record: RunRecord, default: int = CampaignSpec.model_fields["keep_requests_nights"].default) -> int:
    """What the campaign file of the run says; the default when it cannot be read any more."""
    try:
        written = yaml.safe_load(record.campaign_yaml)
        nights = written.get("keep_requests_nights", default) if isinstance(written, dict) else default
    except yaml.YAMLError:
        return int(default)
    return nights if isinstance(nights, int) and nights >= 0 else int(default)


def remove_expired(*, dry: bool = False, root: str | None = None, now: datetime | None = None) -> list[str]:
    """Remove the expired per-request records of every run in the artifact store; says what went, a line a run."""
    now = now or datetime.now(timezone.utc)
    removed: list[str] = []
    for store in all_runs(root):
        try:
            record = store.read(store.path("run.json"), RunRecord)
        except DamagedArtifact as error:
            removed.append(f"left run {store.run} alone: {error}")
            continue
        if record is None or not is_expired(record, now=now, keep_nights=kept_nights(record)):
            continue
        files = store.find(REQUESTS, "cells")
        size = sum(store.size(file) for file in files)
        for file in files:
            if not dry:
                store.remove(file)
        if files:
            verb = "would remove" if dry else "removed"
            removed.append(f"{verb} {len(files)} {REQUESTS} of run {record.run} ({size / 2**20:.1f} MiB)")
    return removed
