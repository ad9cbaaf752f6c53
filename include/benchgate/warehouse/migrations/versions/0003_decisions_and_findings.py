"""Verdicts, quarantine, references and findings."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"

# column types as they were at this migration
Day = sa.Date().with_variant(sa.Text(), "sqlite")
Json = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "verdict",
        sa.Column("verdict_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("launch_id", sa.BigInteger(), nullable=True),
        sa.Column("cell_id", sa.BigInteger(), nullable=True),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("severity", sa.Text(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("observed", sa.Text(), nullable=True),
        sa.Column("limit_value", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("verdict_id", name=op.f("pk_verdict")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_verdict_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_verdict_launch_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.cell_id"], name=op.f("fk_verdict_cell_id"), ondelete="CASCADE"),
        sa.CheckConstraint("severity IN ('critical', 'warning')", name=op.f("ck_verdict_severity")),
        sa.CheckConstraint("subject_kind IN ('launch', 'needle_check', 'cell')", name=op.f("ck_verdict_subject_kind")),
    )
    op.create_index(op.f("ix_verdict_cell_id"), "verdict", ["cell_id"])
    op.create_index(op.f("ix_verdict_launch_id"), "verdict", ["launch_id"])
    op.create_index(op.f("ix_verdict_run_id"), "verdict", ["run_id"])
    op.create_table(
        "quarantine",
        sa.Column("quarantine_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("launch_id", sa.BigInteger(), nullable=True),
        sa.Column("cell_id", sa.BigInteger(), nullable=True),
        sa.Column("subject_kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("row_values", Json, nullable=False),
        sa.PrimaryKeyConstraint("quarantine_id", name=op.f("pk_quarantine")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_quarantine_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_quarantine_launch_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.cell_id"], name=op.f("fk_quarantine_cell_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_quarantine_cell_id"), "quarantine", ["cell_id"])
    op.create_index(op.f("ix_quarantine_launch_id"), "quarantine", ["launch_id"])
    op.create_index(op.f("ix_quarantine_run_id"), "quarantine", ["run_id"])
    op.create_table(
        "reference_value",
        sa.Column("reference_value_id", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_title", sa.Text(), nullable=True),
        sa.Column("source_url", sa.Text(), nullable=True),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("baseline_arm", sa.Text(), nullable=True),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("users", sa.Integer(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("gpu", sa.Text(), nullable=True),
        sa.Column("gpu_count", sa.Integer(), nullable=True),
        sa.Column("engine", sa.Text(), nullable=True),
        sa.Column("engine_version", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("reference_value_id", name=op.f("pk_reference_value")),
    )
    op.create_index(op.f("ix_reference_value_source"), "reference_value", ["source"])
    op.create_table(
        "comparison",
        sa.Column("comparison_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("load_label", sa.Text(), nullable=False),
        sa.Column("users", sa.Integer(), nullable=True),
        sa.Column("request_rate", sa.Double(), nullable=True),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("design", sa.Text(), nullable=False),
        sa.Column("effect", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("direction", sa.Integer(), nullable=False),
        sa.Column("point", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("p_value", sa.Double(), nullable=True),
        sa.Column("adjusted_p", sa.Double(), nullable=True),
        sa.Column("family_size", sa.Integer(), nullable=True),
        sa.Column("smallest_visible", sa.Double(), nullable=True),
        sa.Column("arm_median", sa.Double(), nullable=True),
        sa.Column("baseline_median", sa.Double(), nullable=True),
        sa.Column("arm_repeats", sa.Integer(), nullable=True),
        sa.Column("baseline_repeats", sa.Integer(), nullable=True),
        sa.Column("placements", Json, nullable=True),
        sa.Column("placement_effects", Json, nullable=True),
        sa.Column("interaction_p", sa.Double(), nullable=True),
        sa.Column("unswapped", Json, nullable=True),
        sa.PrimaryKeyConstraint("comparison_id", name=op.f("pk_comparison")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_comparison_run_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_comparison_run_id"), "comparison", ["run_id"])
    op.create_table(
        "reversal_finding",
        sa.Column("reversal_finding_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("other_metric", sa.Text(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("load_label", sa.Text(), nullable=False),
        sa.Column("point", sa.Double(), nullable=True),
        sa.Column("other_workload", sa.Text(), nullable=False),
        sa.Column("other_load_label", sa.Text(), nullable=False),
        sa.Column("other_point", sa.Double(), nullable=True),
        sa.Column("words", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("reversal_finding_id", name=op.f("pk_reversal_finding")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_reversal_finding_run_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_reversal_finding_run_id"), "reversal_finding", ["run_id"])
    op.create_table(
        "regression_finding",
        sa.Column("regression_finding_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("placement", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("load_label", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("previous_value", sa.Double(), nullable=True),
        sa.Column("change", sa.Double(), nullable=True),
        sa.Column("change_low", sa.Double(), nullable=True),
        sa.Column("change_high", sa.Double(), nullable=True),
        sa.Column("smallest_visible_change", sa.Double(), nullable=True),
        sa.Column("p_value", sa.Double(), nullable=True),
        sa.Column("adjusted_p", sa.Double(), nullable=True),
        sa.Column("nights", sa.Integer(), nullable=False),
        sa.Column("since_night", Day, nullable=True),
        sa.Column("changed_since_run", sa.Text(), nullable=True),
        sa.Column("new_tonight", sa.Boolean(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("what_changed", Json, nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("regression_finding_id", name=op.f("pk_regression_finding")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_regression_finding_run_id"), ondelete="CASCADE"
        ),
        sa.CheckConstraint(
            "answer IN ('PASS', 'REGRESSED', 'IMPROVED', 'INCONCLUSIVE', 'REFUSED')",
            name=op.f("ck_regression_finding_answer"),
        ),
    )
    op.create_index(op.f("ix_regression_finding_run_id"), "regression_finding", ["run_id"])


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("regression_finding")
    op.drop_table("reversal_finding")
    op.drop_table("comparison")
    op.drop_table("reference_value")
    op.drop_table("quarantine")
    op.drop_table("verdict")
