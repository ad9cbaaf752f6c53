-- Arm B against the campaign's baseline arm A: per run, workload and load, each metric as its own ratio B / A.
-- Above 1 is better for tok/s, below 1 is better for ttft and tpot. Never folded into one speed-up.
-- Paired by placement: the mean over placements of the ratio on the same placement. When the arms never shared a
-- placement the row says so: the difference may be the placement's.
CREATE VIEW arm_comparison AS
WITH pair AS (
    SELECT
        b.*,
        a.host AS baseline_host, a.placement AS baseline_placement, a.n AS baseline_n, a.latency_n AS baseline_latency_n,
        a.ttft_p50_ms AS baseline_ttft_p50_ms, a.tpot_p50_ms AS baseline_tpot_p50_ms,
        a.decode_tok_s AS baseline_decode_tok_s, a.prefill_tok_s AS baseline_prefill_tok_s,
        CASE WHEN a.host = b.host AND a.placement = b.placement THEN 1 ELSE 0 END AS same_placement
    FROM cell_median AS b
    JOIN cell_median AS a
        -- campaign and run are named too, so that a filter on them reaches both sides
        ON a.campaign = b.campaign AND a.run = b.run AND a.arm = b.baseline_arm AND a.workload = b.workload
        AND a.load_label = b.load_label AND a.client_name = b.client_name
        -- numbers of two clients, two definitions or two ways to count tokens are not one kind of number
        AND a.metric_definition = b.metric_definition AND a.token_count_source = b.token_count_source
    WHERE b.arm <> b.baseline_arm
),
judged AS (
    SELECT
        pair.*,
        MAX(same_placement) OVER (
            PARTITION BY campaign, run, arm, workload, load_label, client_name, metric_definition, token_count_source
        ) AS has_shared_placement
    FROM pair
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
    CAST(SUM(n) / CASE WHEN has_shared_placement = 1 THEN 1
        ELSE COUNT(DISTINCT baseline_host || '/' || baseline_placement) END AS INTEGER) AS n,
    CAST(SUM(baseline_n) / CASE WHEN has_shared_placement = 1 THEN 1
        ELSE COUNT(DISTINCT host || '/' || placement) END AS INTEGER) AS baseline_n,
    COUNT(DISTINCT host || '/' || placement) AS placements,
    CASE WHEN has_shared_placement = 1 THEN 'paired by placement' ELSE 'confounded by placement' END AS pairing,
    client_name, metric_definition, token_count_source
FROM judged
WHERE same_placement = has_shared_placement
GROUP BY campaign, run, night, workload, load_label, arm, baseline_arm, has_shared_placement,
    client_name, metric_definition, token_count_source;
