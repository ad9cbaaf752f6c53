-- One row a night for each series (arm, placement, workload, load): the medians, and the night before beside them.
-- A new client or metric definition starts a new series. decode_tok_s_change is 0.10 for ten percent more than before.
CREATE VIEW nightly_trend AS
WITH tonight AS (
    SELECT
        m.*,
        -- one step down the index ix_cell_median_series, for the rows that are asked for and only when it is
        (
            SELECT b.run_id
            FROM cell_median AS b
            WHERE b.campaign = m.campaign AND b.arm = m.arm AND b.workload = m.workload AND b.load_label = m.load_label
                AND b.host = m.host AND b.placement = m.placement AND b.client_name = m.client_name
                AND b.metric_definition = m.metric_definition AND b.token_count_source = m.token_count_source
                AND (b.run_started_at, b.run) < (m.run_started_at, m.run)
            ORDER BY b.run_started_at DESC, b.run DESC
            LIMIT 1
        ) AS previous_run_id
    FROM cell_median AS m
)
SELECT
    m.campaign, m.arm, m.host, m.placement, m.workload, m.load_label, m.night, m.run, m.n, m.latency_n,
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
    m.client_name, m.metric_definition, m.token_count_source, m.run_started_at, m.run_id
FROM tonight AS m
LEFT JOIN cell_median AS p
    ON p.run_id = m.previous_run_id AND p.arm = m.arm AND p.host = m.host AND p.placement = m.placement
    AND p.workload = m.workload AND p.load_label = m.load_label AND p.client_name = m.client_name
    AND p.metric_definition = m.metric_definition AND p.token_count_source = m.token_count_source;
