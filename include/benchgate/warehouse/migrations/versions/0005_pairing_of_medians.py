"""Whether an arm shared a placement with its baseline, decided once for each median; indexes for a year's views."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

# a median of the baseline that may be set beside one of the arm
_BASELINE = sa.text(
    """
    UPDATE cell_median SET pairing = CASE WHEN EXISTS (
        SELECT 1 FROM cell_median AS a
        WHERE a.run_id = cell_median.run_id AND a.arm = cell_median.baseline_arm
            AND a.workload = cell_median.workload AND a.load_label = cell_median.load_label
            AND a.client_name = cell_median.client_name AND a.metric_definition = cell_median.metric_definition
            AND a.token_count_source = cell_median.token_count_source
    ) THEN 'confounded by placement' END
    WHERE arm <> baseline_arm
    """
)
# where any placement ran both, all medians of that arm, workload and load are paired
_SHARED = sa.text(
    """
    UPDATE cell_median SET pairing = 'paired by placement'
    WHERE pairing IS NOT NULL AND EXISTS (
        SELECT 1 FROM cell_median AS b
        JOIN cell_median AS a
            ON a.run_id = b.run_id AND a.arm = b.baseline_arm AND a.host = b.host AND a.placement = b.placement
            AND a.workload = b.workload AND a.load_label = b.load_label AND a.client_name = b.client_name
            AND a.metric_definition = b.metric_definition AND a.token_count_source = b.token_count_source
        WHERE b.run_id = cell_median.run_id AND b.arm = cell_median.arm
            AND b.workload = cell_median.workload AND b.load_label = cell_median.load_label
            AND b.client_name = cell_median.client_name AND b.metric_definition = cell_median.metric_definition
            AND b.token_count_source = cell_median.token_count_source
    )
    """
)


def upgrade() -> None:
    """Add the column and fill it for the medians that are there."""
    op.add_column("cell_median", sa.Column("pairing", sa.Text(), nullable=True))
    op.execute(_BASELINE)
    op.execute(_SHARED)
    op.create_index(op.f("ix_cell_run_id_end_state_launch_id"), "cell", ["run_id", "end_state", "launch_id"])
    op.drop_index(op.f("ix_cell_run_id_end_state"), "cell")
    # one series over many nights
    op.create_index(
        op.f("ix_regression_finding_run_id_arm_workload_load_label"),
        "regression_finding",
        ["run_id", "arm", "workload", "load_label"],
    )
    op.drop_index(op.f("ix_regression_finding_run_id"), "regression_finding")


def downgrade() -> None:
    """Drop the column and bring the old indexes back."""
    op.create_index(op.f("ix_cell_run_id_end_state"), "cell", ["run_id", "end_state"])
    op.drop_index(op.f("ix_cell_run_id_end_state_launch_id"), "cell")
    op.create_index(op.f("ix_regression_finding_run_id"), "regression_finding", ["run_id"])
    op.drop_index(op.f("ix_regression_finding_run_id_arm_workload_load_label"), "regression_finding")
    with op.batch_alter_table("cell_median") as batch:
        batch.drop_column("pairing")
