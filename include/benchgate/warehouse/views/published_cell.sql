-- Every cell that was measured on a proven server and let through by every gate: the numbers that may be quoted.
-- One row a cell (arm x placement x workload x load x repeat) and run.
CREATE VIEW published_cell AS
SELECT
    r.campaign, r.run, r.night, r.started_at AS run_started_at, l.baseline_arm,
    c.cell, c.arm, c.host, c.placement, c.workload, c.load_label, c.users, c.request_rate, c.repeat,
    l.engine, l.engine_version, l.image_digest, l.model_id, l.model_revision, l.fingerprint, l.moe_kernel,
    l.attention_backend, l.kv_tokens, l.kv_meaning, l.weights_gib, l.memory_reserved_gib, l.startup_s,
    l.needles_found, l.needles_asked, l.needle_context_tokens,
    c.dataset, c.prompt_tokens_requested, c.max_tokens, c.endpoint, c.requests_planned, c.started_at,
    c.client_name, c.client_version, c.metric_definition, c.token_count_source, c.completed, c.errors,
    c.cut_off, c.error_rate, c.prompt_tokens, c.completion_tokens, c.duration_s, c.prefill_tok_s,
    c.decode_tok_s, c.request_s, c.steady_duration_s, c.steady_prefill_tok_s, c.steady_decode_tok_s, c.goodput,
    c.ttft_p50_ms, c.ttft_p90_ms, c.ttft_p95_ms, c.ttft_p99_ms, c.ttft_mean_ms, c.ttft_n, c.ttfv_p50_ms,
    c.ttfv_p90_ms, c.ttfv_p95_ms, c.ttfv_p99_ms, c.ttfv_mean_ms, c.ttfv_n, c.tpot_p50_ms, c.tpot_p90_ms,
    c.tpot_p95_ms, c.tpot_p99_ms, c.tpot_mean_ms, c.tpot_n, c.itl_p50_ms, c.itl_p90_ms, c.itl_p95_ms,
    c.itl_p99_ms, c.itl_mean_ms, c.itl_n, c.e2e_p50_ms, c.e2e_p90_ms, c.e2e_p95_ms, c.e2e_p99_ms,
    c.e2e_mean_ms, c.e2e_n, c.queue_p50_ms, c.queue_p90_ms, c.queue_p95_ms, c.queue_p99_ms, c.queue_mean_ms,
    c.queue_n, c.latency_verdict, c.latency_reason, c.warm_verdict, c.warm_reason, c.events,
    c.tokens_per_event, c.stopped_by, c.client_cpu_share, c.client_loop_lag_p99_ms, c.server_prompt_tokens,
    c.server_completion_tokens, c.server_preemptions, c.prefix_cache_hit_share, c.kv_use_max,
    c.gpu_memory_used_max_mib, c.gpu_power_mean_w, c.gpu_sm_clock_mean_mhz, c.gpu_throttled, c.notes,
    c.cell_id, c.launch_id, c.run_id
FROM cell AS c
JOIN launch AS l ON l.launch_id = c.launch_id
JOIN campaign_run AS r ON r.run_id = c.run_id
WHERE c.end_state = 'published' AND NOT l.simulated;
