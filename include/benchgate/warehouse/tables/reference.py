"""Numbers from elsewhere, shown beside ours with their source and never mixed in."""

from __future__ import annotations

import sqlalchemy as sa

from benchgate.warehouse.tables.base import column, id_column, metadata, parent

reference_value = sa.Table(
    "reference_value",
    metadata,
    id_column("reference_value", "source, arm, workload, users and metric"),
    column("source", sa.Text(), "id in sources.yaml", required=True),
    column("source_title", sa.Text(), "title of the source"),
    column("source_url", sa.Text(), "where it can be read"),
    column("arm", sa.Text(), "arm, in the source's words", required=True),
    column("baseline_arm", sa.Text(), "the source's arm that ratios divide by; NULL when it compares none"),
    column("workload", sa.Text(), "workload, in the source's words", required=True),
    column("users", sa.Integer(), "concurrent users; NULL when the source does not say"),
    column("metric", sa.Text(), "ttft_ms, tpot_ms, decode_tok_s, prefill_tok_s, ..", required=True),
    column("value", sa.Double(), "the value, in the metric's unit", required=True),
    column("gpu", sa.Text(), "GPU of the source"),
    column("gpu_count", sa.Integer(), "GPUs it used"),
    column("engine", sa.Text(), "engine of the source"),
    column("engine_version", sa.Text(), "its version"),
    column("note", sa.Text(), "what a reader must know before comparing"),
    sa.Index(None, "source"),
    comment="Values that a source states (sources.yaml).",
)

campaign_source = sa.Table(
    "campaign_source",
    metadata,
    parent("run_id", "campaign_run.run_id", "the run", key=True),
    column("source", sa.Text(), "source id that the campaign names", key=True),
    comment="Which sources a campaign run wants to be seen beside.",
)
