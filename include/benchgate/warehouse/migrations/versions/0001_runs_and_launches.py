"""Runs, launches and what was proven about them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

# column types as they were at this migration
Moment = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
Day = sa.Date().with_variant(sa.Text(), "sqlite")
Json = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "campaign_run",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("airflow_run_id", sa.Text(), nullable=False),
        sa.Column("night", Day, nullable=False),
        sa.Column("started_at", Moment, nullable=False),
        sa.Column("ended_at", Moment, nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("nothing_new_reason", sa.Text(), nullable=True),
        sa.Column("expectation_met", sa.Boolean(), nullable=True),
        sa.Column("expectation_reason", sa.Text(), nullable=True),
        sa.Column("trigger_parameters", Json, nullable=False),
        sa.Column("campaign_yaml", sa.Text(), nullable=False),
        sa.Column("benchgate_version", sa.Text(), nullable=False),
        sa.Column("content_sha256", sa.Text(), nullable=True),
        sa.Column("loaded_at", Moment, nullable=False),
        sa.Column("requests_removed_at", Moment, nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_campaign_run")),
        sa.CheckConstraint(
            "state IN ('running', 'success', 'failed', 'nothing_new')", name=op.f("ck_campaign_run_state")
        ),
        sa.UniqueConstraint("run", name=op.f("uq_campaign_run_run")),
    )
    op.create_index(op.f("ix_campaign_run_campaign_night"), "campaign_run", ["campaign", "night"])
    op.create_table(
        "seed",
        sa.Column("seed_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("seed_id", name=op.f("pk_seed")),
        sa.ForeignKeyConstraint(["run_id"], ["campaign_run.run_id"], name=op.f("fk_seed_run_id"), ondelete="CASCADE"),
    )
    op.create_index(op.f("ix_seed_run_id"), "seed", ["run_id"])
    op.create_table(
        "approval",
        sa.Column("approval_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("point", sa.Text(), nullable=False),
        sa.Column("approved", sa.Boolean(), nullable=False),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("answered_at", Moment, nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("approval_id", name=op.f("pk_approval")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_approval_run_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_approval_run_id"), "approval", ["run_id"])
    op.create_table(
        "campaign_source",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "source", name=op.f("pk_campaign_source")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_campaign_source_run_id"), ondelete="CASCADE"
        ),
    )
    op.create_table(
        "view_text",
        sa.Column("view", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("view", name=op.f("pk_view_text")),
    )
    op.create_table(
        "launch",
        sa.Column("launch_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("launch", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("placement", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("expected", sa.Text(), nullable=True),
        sa.Column("baseline_arm", sa.Text(), nullable=True),
        sa.Column("engine", sa.Text(), nullable=True),
        sa.Column("engine_version", sa.Text(), nullable=True),
        sa.Column("image", sa.Text(), nullable=True),
        sa.Column("image_digest", sa.Text(), nullable=True),
        sa.Column("image_previous_digest", sa.Text(), nullable=True),
        sa.Column("model_id", sa.Text(), nullable=True),
        sa.Column("model_revision", sa.Text(), nullable=True),
        sa.Column("vocab_sha256", sa.Text(), nullable=True),
        sa.Column("arguments", Json, nullable=True),
        sa.Column("environment", Json, nullable=True),
        sa.Column("environment_names", Json, nullable=True),
        sa.Column("command", Json, nullable=True),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("fingerprint_parts", Json, nullable=True),
        sa.Column("started_at", Moment, nullable=True),
        sa.Column("ready_at", Moment, nullable=True),
        sa.Column("stopped_at", Moment, nullable=True),
        sa.Column("startup_s", sa.Double(), nullable=True),
        sa.Column("end_state", sa.Text(), nullable=False),
        sa.Column("failure_kind", sa.Text(), nullable=True),
        sa.Column("failure_reason", sa.Text(), nullable=True),
        sa.Column("failure_line_number", sa.Integer(), nullable=True),
        sa.Column("failure_line", sa.Text(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("exit_signal", sa.Text(), nullable=True),
        sa.Column("oom_killed", sa.Boolean(), nullable=True),
        sa.Column("moe_kernel", sa.Text(), nullable=True),
        sa.Column("attention_backend", sa.Text(), nullable=True),
        sa.Column("kv_tokens", sa.BigInteger(), nullable=True),
        sa.Column("kv_meaning", sa.Text(), nullable=True),
        sa.Column("weights_gib", sa.Double(), nullable=True),
        sa.Column("memory_reserved_gib", sa.Double(), nullable=True),
        sa.Column("needles_asked", sa.Integer(), nullable=True),
        sa.Column("needles_found", sa.Integer(), nullable=True),
        sa.Column("needle_context_tokens", sa.Integer(), nullable=True),
        sa.Column("needle_passed", sa.Boolean(), nullable=True),
        sa.Column("gpu_memory_returned", sa.Boolean(), nullable=True),
        sa.Column("warnings", Json, nullable=True),
        sa.PrimaryKeyConstraint("launch_id", name=op.f("pk_launch")),
        sa.ForeignKeyConstraint(["run_id"], ["campaign_run.run_id"], name=op.f("fk_launch_run_id"), ondelete="CASCADE"),
        sa.CheckConstraint("end_state IN ('starting', 'ready', 'failed', 'not_run')", name=op.f("ck_launch_end_state")),
        sa.UniqueConstraint("run_id", "launch", name=op.f("uq_launch_run_id")),
    )
    op.create_index(op.f("ix_launch_fingerprint"), "launch", ["fingerprint"])
    op.create_table(
        "proof",
        sa.Column("proof_id", sa.BigInteger(), nullable=False),
        sa.Column("launch_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value_text", sa.Text(), nullable=False),
        sa.Column("value_number", sa.Double(), nullable=True),
        sa.Column("evidence_line_number", sa.Integer(), nullable=True),
        sa.Column("evidence_line", sa.Text(), nullable=False),
        sa.Column("evidence_source", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("proof_id", name=op.f("pk_proof")),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_proof_launch_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_proof_launch_id"), "proof", ["launch_id"])
    op.create_table(
        "needle_check",
        sa.Column("needle_check_id", sa.BigInteger(), nullable=False),
        sa.Column("launch_id", sa.BigInteger(), nullable=False),
        sa.Column("needle", sa.Integer(), nullable=False),
        sa.Column("requested_context_tokens", sa.Integer(), nullable=False),
        sa.Column("context_tokens", sa.Integer(), nullable=True),
        sa.Column("depth", sa.Double(), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("expected", sa.Text(), nullable=False),
        sa.Column("answered", sa.Text(), nullable=False),
        sa.Column("found", sa.Boolean(), nullable=False),
        sa.Column("error_kind", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("needle_check_id", name=op.f("pk_needle_check")),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_needle_check_launch_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_needle_check_launch_id"), "needle_check", ["launch_id"])
    op.create_table(
        "host_snapshot",
        sa.Column("launch_id", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("engine_version", sa.Text(), nullable=True),
        sa.Column("os", sa.Text(), nullable=True),
        sa.Column("kernel", sa.Text(), nullable=True),
        sa.Column("cpu_model", sa.Text(), nullable=True),
        sa.Column("cpu_count", sa.Integer(), nullable=True),
        sa.Column("memory_gib", sa.Double(), nullable=True),
        sa.Column("free_memory_gib", sa.Double(), nullable=True),
        sa.Column("gpu_model", sa.Text(), nullable=True),
        sa.Column("gpu_count", sa.Integer(), nullable=True),
        sa.Column("gpu_memory_gib", sa.Double(), nullable=True),
        sa.Column("driver", sa.Text(), nullable=True),
        sa.Column("cuda", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("launch_id", name=op.f("pk_host_snapshot")),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_host_snapshot_launch_id"), ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("host_snapshot")
    op.drop_table("needle_check")
    op.drop_table("proof")
    op.drop_table("launch")
    op.drop_table("view_text")
    op.drop_table("campaign_source")
    op.drop_table("approval")
    op.drop_table("seed")
    op.drop_table("campaign_run")
