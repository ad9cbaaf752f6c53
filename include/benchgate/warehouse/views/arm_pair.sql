-- Each published median of arm B beside the one of its baseline arm A: one row for each pair of placements that may be
-- set against each other. arm_comparison is the mean of these rows; versus_reference picks from them.
-- Arms that shared a placement are paired on it; where they shared none, every B stands beside every A.
CREATE VIEW arm_pair AS
SELECT
    b.campaign, b.run, b.night, b.workload, b.load_label, b.arm, b.baseline_arm, b.pairing,
    b.host, b.placement, a.host AS baseline_host, a.placement AS baseline_placement,
    b.ttft_p50_ms, b.tpot_p50_ms, b.decode_tok_s, b.prefill_tok_s, b.n,
    a.ttft_p50_ms AS baseline_ttft_p50_ms, a.tpot_p50_ms AS baseline_tpot_p50_ms,
    a.decode_tok_s AS baseline_decode_tok_s, a.prefill_tok_s AS baseline_prefill_tok_s, a.n AS baseline_n,
    b.client_name, b.metric_definition, b.token_count_source, b.run_id
FROM cell_median AS b
JOIN cell_median AS a
    ON a.run_id = b.run_id AND a.arm = b.baseline_arm AND a.workload = b.workload AND a.load_label = b.load_label
    -- numbers of two clients, two definitions or two ways to count tokens are not one kind of number
    AND a.client_name = b.client_name AND a.metric_definition = b.metric_definition
    AND a.token_count_source = b.token_count_source
    AND (b.pairing <> 'paired by placement' OR (a.host = b.host AND a.placement = b.placement))
WHERE b.pairing IS NOT NULL;
