-- One row a night for each series (arm, placement, workload, load): the medians, and the night before beside them.
-- A new client or metric definition starts a new series. decode_tok_s_change is 0.10 for ten percent more than before.
CREATE VIEW nightly_trend AS
WITH tonight AS (
    -- only keys, all of them in index ix_cell_median_series and in its order: nothing is sorted, no row is fetched;
    -- the values of both nights are looked up for the rows that are asked for
    SELECT
        campaign, arm, workload, load_label, host, placement, client_name, metric_definition, token_count_source,
        run_started_at, run, run_id,
        LAG(run_id) OVER series AS previous_run_id
    FROM cell_median
    WINDOW series AS (
        PARTITION BY campaign, arm, workload, load_label, host, placement, client_name, metric_definition,
            token_count_source
        ORDER BY run_started_at, run
    )
)
SELECT
    t.campaign, t.arm, t.host, t.placement, t.workload, t.load_label, m.night, t.run, m.n, m.latency_n,
    m.ttft_p50_ms, m.tpot_p50_ms, m.decode_tok_s, m.prefill_tok_s,
    m.ttft_p50_ms / NULLIF(p.ttft_p50_ms, 0) - 1 AS ttft_p50_change,
    m.tpot_p50_ms / NULLIF(p.tpot_p50_ms, 0) - 1 AS tpot_p50_change,
    m.decode_tok_s / NULLIF(p.decode_tok_s, 0) - 1 AS decode_tok_s_change,
    m.prefill_tok_s / NULLIF(p.prefill_tok_s, 0) - 1 AS prefill_tok_s_change,
    m.image_digest, m.engine_version, m.model_revision, m.fingerprint, p.run AS previous_run,
    -- NULL on the first night, or where a fingerprint is unknown
    CASE WHEN m.fingerprint = p.fingerprint THEN 0 WHEN m.fingerprint <> p.fingerprint THEN 1 END
        AS fingerprint_changed,
    CASE WHEN m.image_digest = p.image_digest THEN 0 WHEN m.image_digest <> p.image_digest THEN 1 END
        AS image_changed,
    t.client_name, t.metric_definition, t.token_count_source, t.run_started_at, t.run_id
FROM tonight AS t
JOIN cell_median AS m
    ON m.run_id = t.run_id AND m.arm = t.arm AND m.host = t.host AND m.placement = t.placement
    AND m.workload = t.workload AND m.load_label = t.load_label AND m.client_name = t.client_name
    AND m.metric_definition = t.metric_definition AND m.token_count_source = t.token_count_source
LEFT JOIN cell_median AS p
    ON p.run_id = t.previous_run_id AND p.arm = t.arm AND p.host = t.host AND p.placement = t.placement
    AND p.workload = t.workload AND p.load_label = t.load_label AND p.client_name = t.client_name
    AND p.metric_definition = t.metric_definition AND p.token_count_source = t.token_count_source;
