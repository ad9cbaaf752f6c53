"""Runs whose campaign file is gone or broken: Airflow keeps their DAG run as ``running`` and can start no task of it.

A file that is missing for a moment ends no run: a redeploy swaps the folder, a person saves a mistake and mends it. So
the first look only notes the time among the run's artifacts, and a later one ends the run, when the grace is over.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchgate import settings
from benchgate.artifacts import RunStore
from benchgate.errors import BenchgateError, DamagedArtifact, SpecError
from benchgate.records import CampaignGone, RunRecord
from benchgate.spec.load import load_campaign, load_inventory

# Housekeeping looks every hour, at the same minute give or take some seconds: so the second look in a row decides.
GRACE_MINUTES = 50.0
NOTE = "campaign_gone.json"


def grace() -> timedelta:
    """How long a campaign must be gone (``BENCHGATE_GONE_MINUTES``) before its runs count as over.

    Raises:
        BenchgateError: the setting is no number of minutes.
    """
    text = os.environ.get("BENCHGATE_GONE_MINUTES") or str(GRACE_MINUTES)
    try:
        minutes = float(text)
        if minutes <= 0:
            raise ValueError
        return timedelta(minutes=minutes)
    except (ValueError, OverflowError):
        raise BenchgateError(
            f"BENCHGATE_GONE_MINUTES is {text!r}", remedy="give a number of minutes above 0, such as 50"
        ) from None


def why_no_dag(campaign: str) -> str | None:
    """Why the campaign files of this machine make no DAG for ``campaign``, in words; None when they do, or might.

    Nothing is told from an inventory that cannot be read or a folder that is not there: all campaigns would be gone.
    """
    folder = settings.campaigns_dir()
    try:
        inventory = load_inventory(settings.hosts_file())
        files = sorted(folder.glob("*.yaml"), key=lambda file: (file.stem != campaign, file.name))
        readable = folder.is_dir()
    except (SpecError, OSError):
        return None
    if not readable:
        return None
    broken = []
    for file in files:
        try:
            if load_campaign(file, inventory).campaign == campaign:
                return None
        except SpecError:
            broken.append(file)
    for file in broken:
        if file.stem == campaign or _names(file, campaign):
            return f"its campaign file {file.name} is broken"
    return "its campaign file is gone"


def _names(file: Path, campaign: str) -> bool:
    """Whether a file that cannot be loaded says that it is this campaign."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return False
    return re.search(rf"""^campaign:\s*["']?{re.escape(campaign)}["']?\s*(#|$)""", text, re.MULTILINE) is not None


def forget(record: RunRecord) -> None:
    """The campaign is there (again): the grace begins anew when it goes."""
    store = RunStore(record.run)
    if store.exists(store.path(NOTE)):
        store.remove(store.path(NOTE))


def over_after_grace(record: RunRecord, why: str, *, now: datetime | None = None) -> bool:
    """Whether a run that has been seen without its campaign is over. The first look notes when that was.

    Args:
        record: of the run.
        why: what is amiss now, in words.
        now: the time, UTC.

    Raises:
        BenchgateError: the note cannot be kept, or the grace is no number.
    """
    now = now or datetime.now(timezone.utc)
    allowed = grace()
    store = RunStore(record.run)
    try:
        note = store.read(store.path(NOTE), CampaignGone)
    except DamagedArtifact:
        note = None
    if note is None:
        store.write(store.path(NOTE), CampaignGone(since=now.isoformat(timespec="seconds"), why=why))
        return False
    return now - datetime.fromisoformat(note.since) >= allowed
