"""What the gates answered, and the rows they refused."""

from __future__ import annotations

import sqlalchemy as sa

from benchgate.warehouse.tables.base import Json, column, id_column, metadata, parent

verdict = sa.Table(
    "verdict",
    metadata,
    id_column("verdict", "run, subject kind, subject and rule"),
    parent("run_id", "campaign_run.run_id", "the run"),
    parent(
        "launch_id", "launch.launch_id", "the launch it speaks about (for a cell: the cell's launch)", required=False
    ),
    parent("cell_id", "cell.cell_id", "the cell it speaks about; NULL for launches", required=False),
    column("subject_kind", sa.Text(), "launch, needle_check or cell", required=True),
    column("subject", sa.Text(), "launch or cell key", required=True),
    column("rule", sa.Text(), "name of the gate", required=True),
    column("severity", sa.Text(), "critical refuses; warning is recorded", required=True),
    column("passed", sa.Boolean(), "the gate let it through", required=True),
    column("observed", sa.Text(), "what was seen; NULL when nothing was"),
    column("limit_value", sa.Text(), "what was allowed"),
    column("reason", sa.Text(), "the answer in words", required=True),
    sa.Index(None, "run_id"),
    sa.Index(None, "launch_id"),
    sa.Index(None, "cell_id"),
    sa.CheckConstraint("subject_kind IN ('launch', 'needle_check', 'cell')", name="subject_kind"),
    sa.CheckConstraint("severity IN ('critical', 'warning')", name="severity"),
    comment="Each gate's answer about each launch and measured cell.",
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    id_column("quarantine", "run, subject kind and subject"),
    parent("run_id", "campaign_run.run_id", "the run"),
    parent("launch_id", "launch.launch_id", "the launch; NULL for a record that nobody planned", required=False),
    parent("cell_id", "cell.cell_id", "the cell; NULL for launches and unplanned records", required=False),
    column("subject_kind", sa.Text(), "launch, needle_check or cell", required=True),
    column("subject", sa.Text(), "launch or cell key", required=True),
    column("rules", sa.Text(), "rules that refused it, comma separated", required=True),
    column("reason", sa.Text(), "all their reasons", required=True),
    column("row_values", Json, "the row as the gates saw it", required=True),
    sa.Index(None, "run_id"),
    sa.Index(None, "launch_id"),
    sa.Index(None, "cell_id"),
    comment="Rows that a critical gate refused, kept whole.",
)
