"""The ledger and its facts, the requests behind them, and what server and GPU said meanwhile."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from benchgate.warehouse.tables.base import Day, Json, Moment, column, id_column, metadata, parent

# latency -> what it is; each has p50, p90, p95, p99, mean (ms) and n
LATENCIES = {
    "ttft": "time to first token",
    "ttfv": "time to first visible (final-channel) token",
    "tpot": "time per output token after the first",
    "itl": "gap between token-bearing events",
    "e2e": "time to last token",
    "queue": "time a request waited in the client for a connection",
}
STATISTICS = ("p50", "p90", "p95", "p99", "mean")
# what a latency verdict speaks about; time in the client's own queue is not the server's latency
JUDGED_LATENCIES = ("ttft", "ttfv", "tpot", "itl", "e2e")


def _latency_columns() -> list[sa.Column[Any]]:
    columns = []
    for name, meaning in LATENCIES.items():
        for statistic in STATISTICS:
            text = f"{statistic} of {meaning}, ms; NULL with latency_reason when it is not a latency"
            columns.append(column(f"{name}_{statistic}_ms", sa.Double(), text))
        columns.append(column(f"{name}_n", sa.BigInteger(), f"samples behind {name}_*_ms"))
    return columns


_NO_FALSE_LATENCY = (
    "latency_verdict IS NULL OR latency_verdict = 'valid' OR ("
    + " AND ".join(f"{name}_p50_ms IS NULL" for name in JUDGED_LATENCIES)
    + " AND latency_reason IS NOT NULL)"
)

cell = sa.Table(
    "cell",
    metadata,
    id_column("cell", "run and cell key"),
    parent("run_id", "campaign_run.run_id", "the run"),
    parent("launch_id", "launch.launch_id", "the launch that was (to be) measured"),
    column("cell", sa.Text(), "cell key: launch, workload, load, repeat; the same every night", required=True),
    column("arm", sa.Text(), "arm", required=True),
    column("host", sa.Text(), "host", required=True),
    column("placement", sa.Text(), "placement on the host", required=True),
    column("workload", sa.Text(), "workload", required=True),
    column("load_label", sa.Text(), "u64: 64 users, closed loop; q2.5: 2.5 requests/s, open loop", required=True),
    column("users", sa.Integer(), "concurrent streams of a closed loop; NULL in an open loop"),
    column("request_rate", sa.Double(), "requests per second of an open loop; NULL in a closed loop"),
    column("repeat", sa.Integer(), "repeat, from 1", required=True),
    column("deselected", sa.Boolean(), "nobody asked for this cell in this run", required=True),
    column("end_state", sa.Text(), "published, unpublishable, failed or not_run", required=True),
    column("reason", sa.Text(), "why it is not published; NULL for published"),
    column("refused_by", sa.Text(), "gates that refused the cell or its launch, comma separated; NULL when none did"),
    column("dataset", sa.Text(), "dataset of the workload"),
    column("prompt_tokens_requested", sa.Integer(), "prompt length that was asked for, tokens"),
    column("max_tokens", sa.Integer(), "output cap, tokens"),
    column("endpoint", sa.Text(), "chat or completions"),
    column("requests_planned", sa.Integer(), "requests the workload asks for; NULL: as many as its time cap allows"),
    column("started_at", Moment, "first measured request sent, UTC"),
    column("client_name", sa.Text(), "load generator that measured it"),
    column("client_version", sa.Text(), "its version"),
    column("metric_definition", sa.Text(), "version of docs/metrics.md that the numbers follow"),
    column("token_count_source", sa.Text(), "who counted the tokens: usage (the server), tokenizer, mixed or unknown"),
    column("completed", sa.BigInteger(), "successful requests"),
    column("errors", sa.BigInteger(), "requests that ended in an error"),
    column("cut_off", sa.BigInteger(), "requests ended by the time cap; in neither of the above"),
    column("error_rate", sa.Double(), "errors / (completed + errors), 0..1"),
    column("prompt_tokens", sa.BigInteger(), "prompt tokens of successful requests"),
    column("completion_tokens", sa.BigInteger(), "completion tokens of successful requests"),
    column("duration_s", sa.Double(), "first measured request sent to last event of the last one, s"),
    column("prefill_tok_s", sa.Double(), "prompt_tokens / duration_s"),
    column("decode_tok_s", sa.Double(), "completion_tokens / duration_s"),
    column("request_s", sa.Double(), "successful requests per second"),
    column("steady_duration_s", sa.Double(), "part in which all users were busy, s"),
    column("steady_prefill_tok_s", sa.Double(), "prefill throughput in that part, tokens/s"),
    column("steady_decode_tok_s", sa.Double(), "decode throughput in that part, tokens/s"),
    column("goodput", sa.Double(), "share of requests that met the workload's latency limits, 0..1"),
    *_latency_columns(),
    column("latency_verdict", sa.Text(), "valid, burst, client_bound, too_few_samples or no_stream"),
    column("latency_reason", sa.Text(), "why latencies are NULL"),
    column("warm_verdict", sa.Text(), "warm or not_warm; NULL when not judged"),
    column("warm_reason", sa.Text(), "what showed it"),
    column("events", sa.BigInteger(), "token-bearing stream events"),
    column("tokens_per_event", sa.Double(), "completion tokens / events"),
    column("stopped_by", sa.Text(), "requests, time_cap, error_rate or interrupt"),
    column("client_cpu_share", sa.Double(), "CPU used by the client, share of one core"),
    column("client_loop_lag_p99_ms", sa.Double(), "p99 delay of the client's event loop, ms"),
    column("server_prompt_tokens", sa.BigInteger(), "rise of the server's own prompt token counter"),
    column("server_completion_tokens", sa.BigInteger(), "rise of the server's own generation token counter"),
    column("server_preemptions", sa.BigInteger(), "rise of the server's preemption counter"),
    column("prefix_cache_hit_share", sa.Double(), "prefix cache hits / queries during the cell, 0..1"),
    column("kv_use_max", sa.Double(), "highest share of the KV pool in use, 0..1"),
    column("gpu_memory_used_max_mib", sa.Double(), "highest memory in use on any one GPU, MiB"),
    column("gpu_power_mean_w", sa.Double(), "mean power per GPU, W"),
    column("gpu_sm_clock_mean_mhz", sa.Double(), "mean SM clock, MHz"),
    column("gpu_throttled", sa.Boolean(), "any sample named a throttle reason; NULL without a GPU"),
    column("notes", Json, "what the client wants a reader to know"),
    sa.UniqueConstraint("run_id", "cell"),
    sa.Index(None, "launch_id", "end_state"),
    sa.Index(None, "run_id", "end_state", "launch_id"),  # counting what was published touches no row
    sa.Index(None, "run_id", "arm", "workload", "load_label"),  # one series over many nights
    sa.CheckConstraint("end_state IN ('published', 'unpublishable', 'failed', 'not_run')", name="end_state"),
    sa.CheckConstraint("end_state = 'published' OR reason IS NOT NULL", name="reason"),
    sa.CheckConstraint("end_state <> 'published' OR client_name IS NOT NULL", name="published_was_measured"),
    sa.CheckConstraint("(users IS NULL) <> (request_rate IS NULL)", name="one_load_shape"),
    sa.CheckConstraint(_NO_FALSE_LATENCY, name="no_false_latency"),
    comment="The ledger: one row for every planned cell, with its end state, and its facts when it was measured.",
)

error_group = sa.Table(
    "error_group",
    metadata,
    parent("cell_id", "cell.cell_id", "the cell", key=True),
    column("kind", sa.Text(), "error kind (docs/metrics.md)", key=True),
    column("requests", sa.BigInteger(), "requests that ended so", required=True),
    column("near_cap", sa.BigInteger(), "of these, within 2 % of max_tokens; NULL when unknown"),
    column("sample", sa.Text(), "first message, cut, secrets masked"),
    comment="Errors of a cell by kind.",
)

# No foreign key to cell: PostgreSQL would check a million rows one by one, ten seconds of a fifteen second load.
# The loader, which alone writes here, removes a run's rows together with its cells.
request = sa.Table(
    "request",
    metadata,
    column("cell_id", sa.BigInteger(), "the cell", key=True),
    column("request", sa.BigInteger(), "number of the request in its cell", key=True),
    column("phase", sa.Text(), "measured, warmup or probe: only measured ones count", required=True),
    column("user_number", sa.Integer(), "which user of a closed loop sent it"),
    column("status", sa.Text(), "ok, cut_off or an error kind", required=True),
    column("http_status", sa.Integer(), "HTTP status code"),
    column("finish_reason", sa.Text(), "finish reason of the stream"),
    column("near_cap", sa.Boolean(), "completion within 2 % of max_tokens"),
    column("prompt_tokens", sa.BigInteger(), "prompt tokens"),
    column("completion_tokens", sa.BigInteger(), "completion tokens"),
    column("reasoning_tokens", sa.BigInteger(), "of these, reasoning"),
    column("token_count_source", sa.Text(), "usage, tokenizer or NULL when unknown"),
    column("max_tokens", sa.BigInteger(), "output cap of the request, tokens"),
    column("events", sa.BigInteger(), "token-bearing stream events"),
    column("sent_at_ms", sa.Double(), "sent, ms after the first measured request of the cell was"),
    column("first_token_at_ms", sa.Double(), "first token, ms, same clock"),
    column("last_token_at_ms", sa.Double(), "last token, ms, same clock"),
    column("ended_at_ms", sa.Double(), "end of the request, ms, same clock"),
    column("queue_ms", sa.Double(), "time waited in the client before it was sent, ms"),
    column("ttft_ms", sa.Double(), "time to first token, ms; NULL when the cell's latencies are not valid"),
    column("ttfv_ms", sa.Double(), "time to first visible token, ms; NULL as above or when none came"),
    column("tpot_ms", sa.Double(), "time per output token, ms; NULL as above or below 2 tokens"),
    column("e2e_ms", sa.Double(), "time to last token, ms; NULL as above"),
    column("error_message", sa.Text(), "message of the error, cut, secrets masked"),
    comment="One row a request, kept for keep_requests_nights; percentiles stay in cell.",
)

cell_median = sa.Table(
    "cell_median",
    metadata,
    parent("run_id", "campaign_run.run_id", "the run", key=True),
    column("campaign", sa.Text(), "campaign", required=True),
    column("run", sa.Text(), "run key", required=True),
    column("night", Day, "UTC day on which the run started", required=True),
    column("run_started_at", Moment, "when the run started, UTC", required=True),
    column("arm", sa.Text(), "arm", key=True),
    column("baseline_arm", sa.Text(), "arm of its group that comparisons divide by"),
    column("host", sa.Text(), "host", key=True),
    column("placement", sa.Text(), "placement on the host", key=True),
    column("workload", sa.Text(), "workload", key=True),
    column("load_label", sa.Text(), "load: u64 or q2.5", key=True),
    column("client_name", sa.Text(), "load generator", key=True),
    column("metric_definition", sa.Text(), "version of docs/metrics.md", key=True),
    column("token_count_source", sa.Text(), "who counted the tokens", key=True),
    column("n", sa.Integer(), "published repeats", required=True),
    column("latency_n", sa.Integer(), "of these, with valid latencies", required=True),
    column("ttft_p50_ms", sa.Double(), "median over repeats of ttft_p50_ms, ms"),
    column("tpot_p50_ms", sa.Double(), "median over repeats of tpot_p50_ms, ms"),
    column("decode_tok_s", sa.Double(), "median over repeats of decode_tok_s, tokens/s"),
    column("prefill_tok_s", sa.Double(), "median over repeats of prefill_tok_s, tokens/s"),
    column("image_digest", sa.Text(), "image that ran"),
    column("engine_version", sa.Text(), "engine version, from its own words"),
    column("model_revision", sa.Text(), "model revision that was served"),
    column("fingerprint", sa.Text(), "hash of all that makes the arm that arm"),
    column(
        "pairing",
        sa.Text(),
        "paired by placement, or confounded by placement: the arm shared none with its baseline; NULL: no baseline",
    ),
    sa.Index(None, "campaign", "run"),
    # the order of a series over the nights: nightly_trend reads it without sorting
    sa.Index(
        "ix_cell_median_series",
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
    ),
    comment="Published repeats folded into their median when a run is loaded; what comparisons and trends read.",
)

server_metrics = sa.Table(
    "server_metrics",
    metadata,
    parent("cell_id", "cell.cell_id", "the cell", key=True),
    column("sample", sa.Integer(), "order in time, from 0", key=True),
    column("moment", sa.Text(), "before, during or after the cell", required=True),
    column("at", Moment, "when, UTC", required=True),
    column("running", sa.Double(), "requests running"),
    column("waiting", sa.Double(), "requests waiting"),
    column("kv_use", sa.Double(), "share of the KV pool in use, 0..1"),
    column("prompt_tokens_total", sa.Double(), "prompt token counter"),
    column("generation_tokens_total", sa.Double(), "generation token counter"),
    column("prefix_cache_queries_total", sa.Double(), "prefix cache query counter"),
    column("prefix_cache_hits_total", sa.Double(), "prefix cache hit counter"),
    column("preemptions_total", sa.Double(), "preemption counter"),
    comment="The server's own /metrics before, during and after a cell. NULL where the engine has no such metric.",
)

gpu_sample = sa.Table(
    "gpu_sample",
    metadata,
    parent("cell_id", "cell.cell_id", "the cell", key=True),
    column("sample", sa.Integer(), "order in time, from 0", key=True),
    column("at", Moment, "when, UTC", required=True),
    column("gpu", sa.Text(), "GPU index or UUID", required=True),
    column("memory_used_mib", sa.Double(), "memory in use, MiB"),
    column("power_w", sa.Double(), "power, W"),
    column("sm_clock_mhz", sa.Double(), "SM clock, MHz"),
    column("temperature_c", sa.Double(), "temperature, degrees Celsius"),
    column("utilization", sa.Double(), "share of time a kernel ran, 0..1"),
    column("throttle_reasons", sa.Text(), "active throttle reasons"),
    comment="GPU telemetry of a cell.",
)
