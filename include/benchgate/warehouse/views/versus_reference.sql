-- What a source states beside what we measured for the same arms, workload and users. Ours is NULL until a campaign
-- that names the source has published both arms. The two are shown side by side and never mixed.
CREATE VIEW versus_reference AS
WITH stated AS (
    SELECT
        b.*, a.value AS baseline_value, b.value / NULLIF(a.value, 0) AS ratio,
        'u' || b.users AS load_label
    FROM reference_value AS b
    LEFT JOIN reference_value AS a
        ON a.source = b.source AND a.arm = b.baseline_arm AND a.workload = b.workload AND a.metric = b.metric
        AND COALESCE(a.users, -1) = COALESCE(b.users, -1)
    WHERE b.baseline_arm IS NULL OR b.arm <> b.baseline_arm
),
place AS (  -- where a source states anything: all that is looked up among ours
    SELECT DISTINCT source, arm, baseline_arm, workload, load_label FROM stated
),
ours AS (  -- as in arm_comparison
    SELECT
        place.source, p.campaign, p.run, p.night, p.workload, p.load_label, p.arm, p.baseline_arm, p.pairing,
        AVG(p.ttft_p50_ms) AS ttft_ms, AVG(p.baseline_ttft_p50_ms) AS baseline_ttft_ms,
        AVG(p.ttft_p50_ms / NULLIF(p.baseline_ttft_p50_ms, 0)) AS ttft_ratio,
        AVG(p.tpot_p50_ms) AS tpot_ms, AVG(p.baseline_tpot_p50_ms) AS baseline_tpot_ms,
        AVG(p.tpot_p50_ms / NULLIF(p.baseline_tpot_p50_ms, 0)) AS tpot_ratio,
        AVG(p.decode_tok_s) AS decode_tok_s, AVG(p.baseline_decode_tok_s) AS baseline_decode_tok_s,
        AVG(p.decode_tok_s / NULLIF(p.baseline_decode_tok_s, 0)) AS decode_ratio,
        AVG(p.prefill_tok_s) AS prefill_tok_s, AVG(p.baseline_prefill_tok_s) AS baseline_prefill_tok_s,
        AVG(p.prefill_tok_s / NULLIF(p.baseline_prefill_tok_s, 0)) AS prefill_ratio,
        CAST(SUM(p.n) / CASE WHEN p.pairing = 'paired by placement' THEN 1
            ELSE COUNT(DISTINCT p.baseline_host || '/' || p.baseline_placement) END AS INTEGER) AS n
    FROM campaign_source AS s
    JOIN place ON place.source = s.source
    JOIN arm_pair AS p
        ON p.run_id = s.run_id AND p.arm = place.arm AND p.baseline_arm = place.baseline_arm
        AND p.workload = place.workload AND p.load_label = place.load_label
    GROUP BY place.source, p.campaign, p.run, p.night, p.workload, p.load_label, p.arm, p.baseline_arm, p.pairing,
        p.client_name, p.metric_definition, p.token_count_source
)
SELECT
    stated.source, stated.source_title, stated.workload, stated.users, stated.arm, stated.baseline_arm, stated.metric,
    stated.value AS reference_value, stated.baseline_value AS reference_baseline_value,
    stated.ratio AS reference_ratio,
    ours.campaign, ours.run, ours.night,
    CASE stated.metric WHEN 'ttft_ms' THEN ours.ttft_ms WHEN 'tpot_ms' THEN ours.tpot_ms
        WHEN 'decode_tok_s' THEN ours.decode_tok_s ELSE ours.prefill_tok_s END AS our_value,
    CASE stated.metric WHEN 'ttft_ms' THEN ours.baseline_ttft_ms WHEN 'tpot_ms' THEN ours.baseline_tpot_ms
        WHEN 'decode_tok_s' THEN ours.baseline_decode_tok_s ELSE ours.baseline_prefill_tok_s END AS our_baseline_value,
    CASE stated.metric WHEN 'ttft_ms' THEN ours.ttft_ratio WHEN 'tpot_ms' THEN ours.tpot_ratio
        WHEN 'decode_tok_s' THEN ours.decode_ratio ELSE ours.prefill_ratio END AS our_ratio,
    ours.n AS our_n, ours.pairing AS our_pairing,
    stated.gpu AS reference_gpu, stated.engine AS reference_engine, stated.engine_version AS reference_engine_version,
    stated.note
FROM stated
LEFT JOIN ours
    ON ours.source = stated.source AND ours.arm = stated.arm AND ours.baseline_arm = stated.baseline_arm
    AND ours.workload = stated.workload AND ours.load_label = stated.load_label
    AND stated.metric IN ('ttft_ms', 'tpot_ms', 'decode_tok_s', 'prefill_tok_s');
