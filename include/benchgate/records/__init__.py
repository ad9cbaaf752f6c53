"""Records that cross the seams: written by the steps as JSON artifacts, read by gates, warehouse and reports.

None always means unknown. Units are in the names. Times are UTC, ISO 8601, unless they end in ``_ms`` or ``_s``.
"""

from __future__ import annotations

from benchgate.records.base import Evidence, Record
from benchgate.records.cell import (
    CellRecord,
    CellSummary,
    ErrorGroup,
    GpuSample,
    Percentiles,
    ServerMetrics,
    ServerMetricsSnapshot,
    TokenTotals,
)
from benchgate.records.decisions import CellOutcome, EndState, GateResult, QuarantineRow, Verdict
from benchgate.records.launch import ExitInfo, Failure, FailureKind, HostFacts, LaunchRecord, Proof
from benchgate.records.needles import NeedleCheck, NeedleResult
from benchgate.records.run import Approval, CampaignGone, Ledger, PlannedCell, PlannedLaunch, RunRecord
from benchgate.records.seeds import HostSeeds, SeedFact, SeedFailure, SeedMount

__all__ = [
    "Approval",
    "CampaignGone",
    "CellOutcome",
    "CellRecord",
    "CellSummary",
    "EndState",
    "ErrorGroup",
    "Evidence",
    "ExitInfo",
    "Failure",
    "FailureKind",
    "GateResult",
    "GpuSample",
    "HostFacts",
    "HostSeeds",
    "LaunchRecord",
    "Ledger",
    "NeedleCheck",
    "NeedleResult",
    "Percentiles",
    "PlannedCell",
    "PlannedLaunch",
    "Proof",
    "QuarantineRow",
    "Record",
    "RunRecord",
    "SeedFact",
    "SeedFailure",
    "SeedMount",
    "ServerMetrics",
    "ServerMetricsSnapshot",
    "TokenTotals",
    "Verdict",
]
