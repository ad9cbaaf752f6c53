"""The tables. One module a subject; every column has its unit in its name and its meaning in its comment."""

from benchgate.warehouse.tables.base import metadata
from benchgate.warehouse.tables.cell import cell, cell_median, error_group, gpu_sample, request, server_metrics
from benchgate.warehouse.tables.decision import quarantine, verdict
from benchgate.warehouse.tables.finding import comparison, regression_finding, reversal_finding
from benchgate.warehouse.tables.launch import host_snapshot, launch, needle_check, proof
from benchgate.warehouse.tables.percentile import request_percentile
from benchgate.warehouse.tables.reference import campaign_source, reference_value
from benchgate.warehouse.tables.run import approval, campaign_run, seed, view_text

__all__ = [
    "approval",
    "campaign_run",
    "campaign_source",
    "cell",
    "cell_median",
    "comparison",
    "error_group",
    "gpu_sample",
    "host_snapshot",
    "launch",
    "metadata",
    "needle_check",
    "proof",
    "quarantine",
    "reference_value",
    "regression_finding",
    "request",
    "request_percentile",
    "reversal_finding",
    "seed",
    "server_metrics",
    "verdict",
    "view_text",
]
