"""One campaign run: what was asked for, which seeds were in place, who approved."""

from __future__ import annotations

import sqlalchemy as sa

from benchgate.warehouse.tables.base import Day, Json, Moment, column, id_column, metadata, parent

campaign_run = sa.Table(
    "campaign_run",
    metadata,
    id_column("run", "the run key"),
    column("run", sa.Text(), "run key: campaign and Airflow run, unique over all campaigns", required=True),
    column("campaign", sa.Text(), "campaign name, as in its YAML file", required=True),
    column("airflow_run_id", sa.Text(), "Airflow's id of the DAG run", required=True),
    column("night", Day, "UTC day on which the run started", required=True),
    column("started_at", Moment, "when the run started, UTC", required=True),
    column("ended_at", Moment, "when the run ended, UTC; NULL while unknown"),
    column("state", sa.Text(), "running, success, failed or nothing_new", required=True),
    column("nothing_new_reason", sa.Text(), "why nothing was measured, for state nothing_new"),
    column("expectation_met", sa.Boolean(), "whether every arm ended as its `expect` says; NULL when not judged"),
    column("expectation_reason", sa.Text(), "which arms surprised, and how; NULL when none did"),
    column("trigger_parameters", Json, "parameters of the trigger, as given", required=True),
    column("campaign_yaml", sa.Text(), "the campaign file as it was for this run", required=True),
    column("benchgate_version", sa.Text(), "version of Benchgate that ran it", required=True),
    column("content_sha256", sa.Text(), "hash of all that was loaded: an equal one makes a second load a no-op"),
    column("loaded_at", Moment, "when these rows were written, UTC", required=True),
    column("requests_removed_at", Moment, "when retention removed the request rows; NULL while they are here"),
    sa.UniqueConstraint("run"),
    sa.Index(None, "campaign", "night"),
    sa.CheckConstraint("state IN ('running', 'success', 'failed', 'nothing_new')", name="state"),
    comment="One row a campaign run.",
)

seed = sa.Table(
    "seed",
    metadata,
    id_column("seed", "run, host, kind and name"),
    parent("run_id", "campaign_run.run_id", "the run"),
    column("host", sa.Text(), "host on which it was put in place", required=True),
    column("kind", sa.Text(), "image, vocab, model or dataset", required=True),
    column("name", sa.Text(), "reference or name as written in the campaign", required=True),
    column("digest", sa.Text(), "sha256:.. or commit hash that was verified; NULL when unknown"),
    column("source", sa.Text(), "where it came from", required=True),
    column("path", sa.Text(), "where the host has it"),
    column("note", sa.Text(), "what was special, e.g. that a pull failed and the last digest was used"),
    sa.Index(None, "run_id"),
    comment="What was fetched and verified before the servers started.",
)

approval = sa.Table(
    "approval",
    metadata,
    id_column("approval", "run, point and moment"),
    parent("run_id", "campaign_run.run_id", "the run"),
    column("point", sa.Text(), "changed_image or regression", required=True),
    column("approved", sa.Boolean(), "whether the person said yes", required=True),
    column("approved_by", sa.Text(), "Airflow user who answered"),
    column("answered_at", Moment, "when, UTC", required=True),
    column("note", sa.Text(), "what the person wrote"),
    sa.Index(None, "run_id"),
    comment="Points at which a person was asked. No approval publishes what a gate refused.",
)

view_text = sa.Table(
    "view_text",
    metadata,
    column("view", sa.Text(), "name of a view", key=True),
    column("sha256", sa.Text(), "hash of the SQL text that made it", required=True),
    comment="Which text each view was made from; the migration step recreates views whose text changed.",
)
