-- One row a night for each series (arm, placement, workload, load): the medians, and the night before beside them.
-- A new client or metric definition starts a new series. decode_tok_s_change is 0.10 for ten percent more than before.
CREATE VIEW nightly_trend AS
WITH night AS (
    SELECT
        cell_median.*,
        LAG(run) OVER series AS previous_run,
        LAG(image_digest) OVER series AS previous_image_digest,
        LAG(fingerprint) OVER series AS previous_fingerprint,
        LAG(ttft_p50_ms) OVER series AS previous_ttft_p50_ms,
        LAG(tpot_p50_ms) OVER series AS previous_tpot_p50_ms,
        LAG(decode_tok_s) OVER series AS previous_decode_tok_s,
        LAG(prefill_tok_s) OVER series AS previous_prefill_tok_s
    FROM cell_median
    -- the columns of index ix_cell_median_series in its order, so that nothing is sorted
    WINDOW series AS (
        PARTITION BY campaign, arm, workload, load_label, host, placement, client_name, metric_definition,
            token_count_source
        ORDER BY run_started_at, run
    )
)
SELECT
    campaign, arm, host, placement, workload, load_label, night, run, n, latency_n,
    ttft_p50_ms, tpot_p50_ms, decode_tok_s, prefill_tok_s,
    ttft_p50_ms / NULLIF(previous_ttft_p50_ms, 0) - 1 AS ttft_p50_change,
    tpot_p50_ms / NULLIF(previous_tpot_p50_ms, 0) - 1 AS tpot_p50_change,
    decode_tok_s / NULLIF(previous_decode_tok_s, 0) - 1 AS decode_tok_s_change,
    prefill_tok_s / NULLIF(previous_prefill_tok_s, 0) - 1 AS prefill_tok_s_change,
    image_digest, engine_version, model_revision, fingerprint, previous_run,
    -- NULL on the first night, or where a fingerprint is unknown
    CASE WHEN fingerprint = previous_fingerprint THEN 0 WHEN fingerprint <> previous_fingerprint THEN 1 END
        AS fingerprint_changed,
    CASE WHEN image_digest = previous_image_digest THEN 0 WHEN image_digest <> previous_image_digest THEN 1 END
        AS image_changed,
    client_name, metric_definition, token_count_source, run_started_at, run_id
FROM night;
