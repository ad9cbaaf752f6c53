-- Arm B against the campaign's baseline arm A: per run, workload and load, each metric as its own ratio B / A.
-- Above 1 is better for tok/s, below 1 is better for ttft and tpot. Never folded into one speed-up.
-- Paired by placement: the mean over placements of the ratio on the same placement. When the arms never shared a
-- placement the row says so: the difference may be the placement's.
CREATE VIEW arm_comparison AS
SELECT
    campaign, run, night, workload, load_label, arm, MIN(baseline_arm) AS baseline_arm,
    AVG(ttft_p50_ms / NULLIF(baseline_ttft_p50_ms, 0)) AS ttft_p50_ratio,
    AVG(tpot_p50_ms / NULLIF(baseline_tpot_p50_ms, 0)) AS tpot_p50_ratio,
    AVG(decode_tok_s / NULLIF(baseline_decode_tok_s, 0)) AS decode_tok_s_ratio,
    AVG(prefill_tok_s / NULLIF(baseline_prefill_tok_s, 0)) AS prefill_tok_s_ratio,
    AVG(ttft_p50_ms) AS ttft_p50_ms, AVG(baseline_ttft_p50_ms) AS baseline_ttft_p50_ms,
    AVG(tpot_p50_ms) AS tpot_p50_ms, AVG(baseline_tpot_p50_ms) AS baseline_tpot_p50_ms,
    AVG(decode_tok_s) AS decode_tok_s, AVG(baseline_decode_tok_s) AS baseline_decode_tok_s,
    AVG(prefill_tok_s) AS prefill_tok_s, AVG(baseline_prefill_tok_s) AS baseline_prefill_tok_s,
    -- unshared placements pair every B with every A, so each B is met once for every placement of A
    CAST(SUM(n) / CASE WHEN MIN(pairing) = 'paired by placement' THEN 1
        ELSE COUNT(DISTINCT baseline_host || '/' || baseline_placement) END AS INTEGER) AS n,
    CAST(SUM(baseline_n) / CASE WHEN MIN(pairing) = 'paired by placement' THEN 1
        ELSE COUNT(DISTINCT host || '/' || placement) END AS INTEGER) AS baseline_n,
    COUNT(DISTINCT host || '/' || placement) AS placements,
    MIN(pairing) AS pairing, client_name, metric_definition, token_count_source
FROM arm_pair
-- an arm has one baseline and one pairing in such a group: to group by them as well would only cost time
GROUP BY campaign, run, night, workload, load_label, arm, client_name, metric_definition, token_count_source;
