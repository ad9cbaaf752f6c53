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
ours AS (
    SELECT s.source, c.campaign, c.run, c.night, c.workload, c.load_label, c.arm, c.baseline_arm, c.pairing, c.n,
        'ttft_ms' AS metric, c.ttft_p50_ms AS value, c.baseline_ttft_p50_ms AS baseline_value, c.ttft_p50_ratio AS ratio
    FROM arm_comparison AS c
    JOIN campaign_run AS r ON r.run = c.run
    JOIN campaign_source AS s ON s.run_id = r.run_id
    UNION ALL
    SELECT s.source, c.campaign, c.run, c.night, c.workload, c.load_label, c.arm, c.baseline_arm, c.pairing, c.n,
        'tpot_ms', c.tpot_p50_ms, c.baseline_tpot_p50_ms, c.tpot_p50_ratio
    FROM arm_comparison AS c
    JOIN campaign_run AS r ON r.run = c.run
    JOIN campaign_source AS s ON s.run_id = r.run_id
    UNION ALL
    SELECT s.source, c.campaign, c.run, c.night, c.workload, c.load_label, c.arm, c.baseline_arm, c.pairing, c.n,
        'decode_tok_s', c.decode_tok_s, c.baseline_decode_tok_s, c.decode_tok_s_ratio
    FROM arm_comparison AS c
    JOIN campaign_run AS r ON r.run = c.run
    JOIN campaign_source AS s ON s.run_id = r.run_id
    UNION ALL
    SELECT s.source, c.campaign, c.run, c.night, c.workload, c.load_label, c.arm, c.baseline_arm, c.pairing, c.n,
        'prefill_tok_s', c.prefill_tok_s, c.baseline_prefill_tok_s, c.prefill_tok_s_ratio
    FROM arm_comparison AS c
    JOIN campaign_run AS r ON r.run = c.run
    JOIN campaign_source AS s ON s.run_id = r.run_id
)
SELECT
    stated.source, stated.source_title, stated.workload, stated.users, stated.arm, stated.baseline_arm, stated.metric,
    stated.value AS reference_value, stated.baseline_value AS reference_baseline_value,
    stated.ratio AS reference_ratio,
    ours.campaign, ours.run, ours.night,
    ours.value AS our_value, ours.baseline_value AS our_baseline_value, ours.ratio AS our_ratio,
    ours.n AS our_n, ours.pairing AS our_pairing,
    stated.gpu AS reference_gpu, stated.engine AS reference_engine, stated.engine_version AS reference_engine_version,
    stated.note
FROM stated
LEFT JOIN ours
    ON ours.source = stated.source AND ours.arm = stated.arm AND ours.baseline_arm = stated.baseline_arm
    AND ours.workload = stated.workload AND ours.load_label = stated.load_label AND ours.metric = stated.metric;
