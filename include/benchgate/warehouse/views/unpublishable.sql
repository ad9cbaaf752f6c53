-- Cells whose server was up and that a gate refused, with the gates and the reason in words.
-- What was measured all the same stands beside it; these numbers may be looked at and not quoted.
CREATE VIEW unpublishable AS
SELECT
    r.campaign, r.run, r.night,
    c.cell, c.arm, c.host, c.placement, c.workload, c.load_label, c.users, c.request_rate, c.repeat,
    c.refused_by, c.reason, l.expected, l.simulated, l.needles_found, l.needles_asked, l.fingerprint,
    c.completed, c.errors, c.cut_off, c.error_rate, c.prefill_tok_s, c.decode_tok_s, c.ttft_p50_ms,
    c.tpot_p50_ms, c.latency_verdict, c.latency_reason, c.warm_verdict,
    c.cell_id, c.launch_id, c.run_id
FROM cell AS c
JOIN launch AS l ON l.launch_id = c.launch_id
JOIN campaign_run AS r ON r.run_id = c.run_id
WHERE c.end_state = 'unpublishable';
