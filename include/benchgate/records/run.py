"""One campaign run: what was planned, and what became of the run as a whole."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from benchgate.records.base import Record


class PlannedLaunch(Record):
    """One line of the ledger above its cells."""

    launch: str
    arm: str
    host: str
    placement: str
    expect: str = "published"


class PlannedCell(Record):
    """One line of the ledger."""

    cell: str  # names.cell_key
    launch: str
    arm: str
    host: str
    placement: str
    workload: str
    users: int | None
    request_rate: float | None
    repeat: int


class Ledger(Record):
    """The planned matrix, written before anything runs."""

    campaign: str
    run: str  # names.run_key
    created_at: str
    launches: list[PlannedLaunch]
    cells: list[PlannedCell]
    deselected: list[str] = Field(default_factory=list)  # cells nobody asked for in this run


class RunRecord(Record):
    """One campaign run."""

    run: str
    campaign: str
    airflow_run_id: str
    started_at: str
    ended_at: str | None = None
    state: Literal["running", "success", "failed", "nothing_new"] = "running"
    trigger: dict[str, object] = {}
    campaign_yaml: str = ""
    benchgate_version: str
    nothing_new_reason: str | None = None
    # the process that the run lives and dies with ("host pid start-time"); None: Airflow's scheduler keeps it
    owner: str | None = None
    # why it ended before all that it planned was done (interrupted, killed); None: it came to its own end
    broken_off: str | None = None
    publish_later: bool = False  # its person publishes it by hand (`run --no-publish`); housekeeping leaves it unloaded
    load_pending: bool = False  # it has ended and is not in the warehouse yet: a load that failed or was killed


class CampaignGone(Record):
    """When a run that Airflow still counts as running was first seen without its campaign."""

    since: str  # UTC, ISO 8601
    why: str


class Approval(Record):
    """Who let a run go on at a point where its campaign asks a person."""

    point: Literal["changed_image", "regression"]
    approved: bool
    by: str | None
    at: str
    note: str | None = None
