-- Arm B against the campaign's baseline arm A: per run, workload and load, each metric as its own ratio B / A.
-- Above 1 is better for tok/s, below 1 is better for ttft and tpot. Never folded into one speed-up.
-- Paired by placement: the mean over placements of the ratio on the same placement. When the arms never shared a
-- placement the row says so: the difference may be the placement's.
CREATE VIEW arm_comparison AS
WITH pair AS (
    SELECT
        b.*,
        a.host AS baseline_host, a.placement AS baseline_placement, a.n AS baseline_n,
        a.ttft_p50_ms AS baseline_ttft_p50_ms, a.tpot_p50_ms AS baseline_tpot_p50_ms,
        a.decode_tok_s AS baseline_decode_tok_s, a.prefill_tok_s AS baseline_prefill_tok_s,
        CASE WHEN a.host = b.host AND a.placement = b.placement
            THEN 'paired by placement' ELSE 'confounded by placement' END AS pairing
    FROM cell_median AS b
    JOIN cell_median AS a
        ON a.run_id = b.run_id AND a.arm = b.baseline_arm AND a.workload = b.workload AND a.load_label = b.load_label
        -- numbers of two clients, two definitions or two ways to count tokens are not one kind of number
        AND a.client_name = b.client_name AND a.metric_definition = b.metric_definition
        AND a.token_count_source = b.token_count_source
    WHERE b.arm <> b.baseline_arm
        AND (
            (a.host = b.host AND a.placement = b.placement)
            -- different placements are set against each other only where the arms shared none
            OR NOT EXISTS (
                SELECT 1
                FROM cell_median AS b2
                JOIN cell_median AS a2
                    ON a2.run_id = b2.run_id AND a2.arm = b.baseline_arm AND a2.host = b2.host
                    AND a2.placement = b2.placement AND a2.workload = b2.workload AND a2.load_label = b2.load_label
                    AND a2.client_name = b2.client_name AND a2.metric_definition = b2.metric_definition
                    AND a2.token_count_source = b2.token_count_source
                WHERE b2.run_id = b.run_id AND b2.arm = b.arm AND b2.workload = b.workload
                    AND b2.load_label = b.load_label AND b2.client_name = b.client_name
                    AND b2.metric_definition = b.metric_definition AND b2.token_count_source = b.token_count_source
            )
        )
)
SELECT
    campaign, run, night, workload, load_label, arm, baseline_arm,
    AVG(ttft_p50_ms / NULLIF(baseline_ttft_p50_ms, 0)) AS ttft_p50_ratio,
    AVG(tpot_p50_ms / NULLIF(baseline_tpot_p50_ms, 0)) AS tpot_p50_ratio,
    AVG(decode_tok_s / NULLIF(baseline_decode_tok_s, 0)) AS decode_tok_s_ratio,
    AVG(prefill_tok_s / NULLIF(baseline_prefill_tok_s, 0)) AS prefill_tok_s_ratio,
    AVG(ttft_p50_ms) AS ttft_p50_ms, AVG(baseline_ttft_p50_ms) AS baseline_ttft_p50_ms,
    AVG(tpot_p50_ms) AS tpot_p50_ms, AVG(baseline_tpot_p50_ms) AS baseline_tpot_p50_ms,
    AVG(decode_tok_s) AS decode_tok_s, AVG(baseline_decode_tok_s) AS baseline_decode_tok_s,
    AVG(prefill_tok_s) AS prefill_tok_s, AVG(baseline_prefill_tok_s) AS baseline_prefill_tok_s,
    -- unshared placements pair every B with every A, so each B is met once for every placement of A
    CAST(SUM(n) / CASE WHEN pairing = 'paired by placement' THEN 1
        ELSE COUNT(DISTINCT baseline_host || '/' || baseline_placement) END AS INTEGER) AS n,
    CAST(SUM(baseline_n) / CASE WHEN pairing = 'paired by placement' THEN 1
        ELSE COUNT(DISTINCT host || '/' || placement) END AS INTEGER) AS baseline_n,
    COUNT(DISTINCT host || '/' || placement) AS placements,
    pairing, client_name, metric_definition, token_count_source
FROM pair
GROUP BY campaign, run, night, workload, load_label, arm, baseline_arm, pairing,
    client_name, metric_definition, token_count_source;
