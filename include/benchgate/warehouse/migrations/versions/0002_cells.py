"""The ledger, its facts and the requests behind them."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"

# column types as they were at this migration
Moment = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
Day = sa.Date().with_variant(sa.Text(), "sqlite")
Json = sa.JSON().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "cell",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("launch_id", sa.BigInteger(), nullable=False),
        sa.Column("cell", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("placement", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("load_label", sa.Text(), nullable=False),
        sa.Column("users", sa.Integer(), nullable=True),
        sa.Column("request_rate", sa.Double(), nullable=True),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("deselected", sa.Boolean(), nullable=False),
        sa.Column("end_state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("refused_by", sa.Text(), nullable=True),
        sa.Column("dataset", sa.Text(), nullable=True),
        sa.Column("prompt_tokens_requested", sa.Integer(), nullable=True),
        sa.Column("max_tokens", sa.Integer(), nullable=True),
        sa.Column("endpoint", sa.Text(), nullable=True),
        sa.Column("requests_planned", sa.Integer(), nullable=True),
        sa.Column("started_at", Moment, nullable=True),
        sa.Column("client_name", sa.Text(), nullable=True),
        sa.Column("client_version", sa.Text(), nullable=True),
        sa.Column("metric_definition", sa.Text(), nullable=True),
        sa.Column("token_count_source", sa.Text(), nullable=True),
        sa.Column("completed", sa.BigInteger(), nullable=True),
        sa.Column("errors", sa.BigInteger(), nullable=True),
        sa.Column("cut_off", sa.BigInteger(), nullable=True),
        sa.Column("error_rate", sa.Double(), nullable=True),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.Column("prefill_tok_s", sa.Double(), nullable=True),
        sa.Column("decode_tok_s", sa.Double(), nullable=True),
        sa.Column("request_s", sa.Double(), nullable=True),
        sa.Column("steady_duration_s", sa.Double(), nullable=True),
        sa.Column("steady_prefill_tok_s", sa.Double(), nullable=True),
        sa.Column("steady_decode_tok_s", sa.Double(), nullable=True),
        sa.Column("goodput", sa.Double(), nullable=True),
        sa.Column("ttft_p50_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p90_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p95_ms", sa.Double(), nullable=True),
        sa.Column("ttft_p99_ms", sa.Double(), nullable=True),
        sa.Column("ttft_mean_ms", sa.Double(), nullable=True),
        sa.Column("ttft_n", sa.BigInteger(), nullable=True),
        sa.Column("ttfv_p50_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_p90_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_p95_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_p99_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_mean_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_n", sa.BigInteger(), nullable=True),
        sa.Column("tpot_p50_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p90_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p95_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p99_ms", sa.Double(), nullable=True),
        sa.Column("tpot_mean_ms", sa.Double(), nullable=True),
        sa.Column("tpot_n", sa.BigInteger(), nullable=True),
        sa.Column("itl_p50_ms", sa.Double(), nullable=True),
        sa.Column("itl_p90_ms", sa.Double(), nullable=True),
        sa.Column("itl_p95_ms", sa.Double(), nullable=True),
        sa.Column("itl_p99_ms", sa.Double(), nullable=True),
        sa.Column("itl_mean_ms", sa.Double(), nullable=True),
        sa.Column("itl_n", sa.BigInteger(), nullable=True),
        sa.Column("e2e_p50_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p90_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p95_ms", sa.Double(), nullable=True),
        sa.Column("e2e_p99_ms", sa.Double(), nullable=True),
        sa.Column("e2e_mean_ms", sa.Double(), nullable=True),
        sa.Column("e2e_n", sa.BigInteger(), nullable=True),
        sa.Column("queue_p50_ms", sa.Double(), nullable=True),
        sa.Column("queue_p90_ms", sa.Double(), nullable=True),
        sa.Column("queue_p95_ms", sa.Double(), nullable=True),
        sa.Column("queue_p99_ms", sa.Double(), nullable=True),
        sa.Column("queue_mean_ms", sa.Double(), nullable=True),
        sa.Column("queue_n", sa.BigInteger(), nullable=True),
        sa.Column("latency_verdict", sa.Text(), nullable=True),
        sa.Column("latency_reason", sa.Text(), nullable=True),
        sa.Column("warm_verdict", sa.Text(), nullable=True),
        sa.Column("warm_reason", sa.Text(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=True),
        sa.Column("tokens_per_event", sa.Double(), nullable=True),
        sa.Column("stopped_by", sa.Text(), nullable=True),
        sa.Column("client_cpu_share", sa.Double(), nullable=True),
        sa.Column("client_loop_lag_p99_ms", sa.Double(), nullable=True),
        sa.Column("server_prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("server_completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("server_preemptions", sa.BigInteger(), nullable=True),
        sa.Column("prefix_cache_hit_share", sa.Double(), nullable=True),
        sa.Column("kv_use_max", sa.Double(), nullable=True),
        sa.Column("gpu_memory_used_max_mib", sa.Double(), nullable=True),
        sa.Column("gpu_power_mean_w", sa.Double(), nullable=True),
        sa.Column("gpu_sm_clock_mean_mhz", sa.Double(), nullable=True),
        sa.Column("gpu_throttled", sa.Boolean(), nullable=True),
        sa.Column("notes", Json, nullable=True),
        sa.PrimaryKeyConstraint("cell_id", name=op.f("pk_cell")),
        sa.ForeignKeyConstraint(["run_id"], ["campaign_run.run_id"], name=op.f("fk_cell_run_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["launch_id"], ["launch.launch_id"], name=op.f("fk_cell_launch_id"), ondelete="CASCADE"
        ),
        sa.CheckConstraint(
            "end_state IN ('published', 'unpublishable', 'failed', 'not_run')", name=op.f("ck_cell_end_state")
        ),
        sa.CheckConstraint(
            "latency_verdict IS NULL OR latency_verdict = 'valid' OR (ttft_p50_ms IS NULL AND "
            "ttfv_p50_ms IS NULL AND tpot_p50_ms IS NULL AND itl_p50_ms IS NULL AND "
            "e2e_p50_ms IS NULL AND latency_reason IS NOT NULL)",
            name=op.f("ck_cell_no_false_latency"),
        ),
        sa.CheckConstraint("(users IS NULL) <> (request_rate IS NULL)", name=op.f("ck_cell_one_load_shape")),
        sa.CheckConstraint(
            "end_state <> 'published' OR client_name IS NOT NULL", name=op.f("ck_cell_published_was_measured")
        ),
        sa.CheckConstraint("end_state = 'published' OR reason IS NOT NULL", name=op.f("ck_cell_reason")),
        sa.UniqueConstraint("run_id", "cell", name=op.f("uq_cell_run_id")),
    )
    op.create_index(op.f("ix_cell_launch_id"), "cell", ["launch_id"])
    op.create_index(op.f("ix_cell_run_id_arm_workload_load_label"), "cell", ["run_id", "arm", "workload", "load_label"])
    op.create_index(op.f("ix_cell_run_id_end_state"), "cell", ["run_id", "end_state"])
    op.create_table(
        "error_group",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("near_cap", sa.BigInteger(), nullable=True),
        sa.Column("sample", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("cell_id", "kind", name=op.f("pk_error_group")),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.cell_id"], name=op.f("fk_error_group_cell_id"), ondelete="CASCADE"),
    )
    op.create_table(
        "request",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("request", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("user_number", sa.Integer(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("near_cap", sa.Boolean(), nullable=True),
        sa.Column("prompt_tokens", sa.BigInteger(), nullable=True),
        sa.Column("completion_tokens", sa.BigInteger(), nullable=True),
        sa.Column("reasoning_tokens", sa.BigInteger(), nullable=True),
        sa.Column("token_count_source", sa.Text(), nullable=True),
        sa.Column("max_tokens", sa.BigInteger(), nullable=True),
        sa.Column("events", sa.BigInteger(), nullable=True),
        sa.Column("sent_at_ms", sa.Double(), nullable=True),
        sa.Column("first_token_at_ms", sa.Double(), nullable=True),
        sa.Column("last_token_at_ms", sa.Double(), nullable=True),
        sa.Column("ended_at_ms", sa.Double(), nullable=True),
        sa.Column("queue_ms", sa.Double(), nullable=True),
        sa.Column("ttft_ms", sa.Double(), nullable=True),
        sa.Column("ttfv_ms", sa.Double(), nullable=True),
        sa.Column("tpot_ms", sa.Double(), nullable=True),
        sa.Column("e2e_ms", sa.Double(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("cell_id", "request", name=op.f("pk_request")),
    )
    op.create_table(
        "cell_median",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("campaign", sa.Text(), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("night", Day, nullable=False),
        sa.Column("run_started_at", Moment, nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("baseline_arm", sa.Text(), nullable=True),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("placement", sa.Text(), nullable=False),
        sa.Column("workload", sa.Text(), nullable=False),
        sa.Column("load_label", sa.Text(), nullable=False),
        sa.Column("client_name", sa.Text(), nullable=False),
        sa.Column("metric_definition", sa.Text(), nullable=False),
        sa.Column("token_count_source", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("latency_n", sa.Integer(), nullable=False),
        sa.Column("ttft_p50_ms", sa.Double(), nullable=True),
        sa.Column("tpot_p50_ms", sa.Double(), nullable=True),
        sa.Column("decode_tok_s", sa.Double(), nullable=True),
        sa.Column("prefill_tok_s", sa.Double(), nullable=True),
        sa.Column("image_digest", sa.Text(), nullable=True),
        sa.Column("engine_version", sa.Text(), nullable=True),
        sa.Column("model_revision", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint(
            "run_id",
            "arm",
            "host",
            "placement",
            "workload",
            "load_label",
            "client_name",
            "metric_definition",
            "token_count_source",
            name=op.f("pk_cell_median"),
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["campaign_run.run_id"], name=op.f("fk_cell_median_run_id"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_cell_median_campaign_run"), "cell_median", ["campaign", "run"])
    op.create_index(
        op.f("ix_cell_median_series"),
        "cell_median",
        [
            "campaign",
            "arm",
            "workload",
            "load_label",
            "host",
            "placement",
            "client_name",
            "metric_definition",
            "token_count_source",
            "run_started_at",
            "run",
            "run_id",
        ],
    )
    op.create_table(
        "server_metrics",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("moment", sa.Text(), nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("running", sa.Double(), nullable=True),
        sa.Column("waiting", sa.Double(), nullable=True),
        sa.Column("kv_use", sa.Double(), nullable=True),
        sa.Column("prompt_tokens_total", sa.Double(), nullable=True),
        sa.Column("generation_tokens_total", sa.Double(), nullable=True),
        sa.Column("prefix_cache_queries_total", sa.Double(), nullable=True),
        sa.Column("prefix_cache_hits_total", sa.Double(), nullable=True),
        sa.Column("preemptions_total", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("cell_id", "sample", name=op.f("pk_server_metrics")),
        sa.ForeignKeyConstraint(
            ["cell_id"], ["cell.cell_id"], name=op.f("fk_server_metrics_cell_id"), ondelete="CASCADE"
        ),
    )
    op.create_table(
        "gpu_sample",
        sa.Column("cell_id", sa.BigInteger(), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("at", Moment, nullable=False),
        sa.Column("gpu", sa.Text(), nullable=False),
        sa.Column("memory_used_mib", sa.Double(), nullable=True),
        sa.Column("power_w", sa.Double(), nullable=True),
        sa.Column("sm_clock_mhz", sa.Double(), nullable=True),
        sa.Column("temperature_c", sa.Double(), nullable=True),
        sa.Column("utilization", sa.Double(), nullable=True),
        sa.Column("throttle_reasons", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("cell_id", "sample", name=op.f("pk_gpu_sample")),
        sa.ForeignKeyConstraint(["cell_id"], ["cell.cell_id"], name=op.f("fk_gpu_sample_cell_id"), ondelete="CASCADE"),
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("gpu_sample")
    op.drop_table("server_metrics")
    op.drop_table("cell_median")
    op.drop_table("request")
    op.drop_table("error_group")
    op.drop_table("cell")
