-- Percentiles of the request rows beside those that the client stored: linear interpolation between the two nearest
-- ranks, over successful measured requests. agrees is 1 when n and all four are the same within a millionth. Made of the
-- rows while they were loaded (table request_percentile), so it answers at once, also when the rows are gone.
CREATE VIEW request_percentile_check AS
SELECT
    campaign, run, night, arm, workload, load_label, cell, metric, stored_n, recomputed_n,
    stored_p50_ms, recomputed_p50_ms, stored_p90_ms, recomputed_p90_ms,
    stored_p95_ms, recomputed_p95_ms, stored_p99_ms, recomputed_p99_ms,
    CASE WHEN stored_n <> recomputed_n THEN 0
        WHEN recomputed_n = 0 THEN 1
        WHEN ABS(stored_p50_ms - recomputed_p50_ms) <= 1e-6 * ABS(recomputed_p50_ms)
        AND ABS(stored_p90_ms - recomputed_p90_ms) <= 1e-6 * ABS(recomputed_p90_ms)
        AND ABS(stored_p95_ms - recomputed_p95_ms) <= 1e-6 * ABS(recomputed_p95_ms)
        AND ABS(stored_p99_ms - recomputed_p99_ms) <= 1e-6 * ABS(recomputed_p99_ms) THEN 1 ELSE 0 END AS agrees,
    cell_id, run_id
FROM (
    SELECT
        r.campaign, r.run, r.night, c.arm, c.workload, c.load_label, c.cell, 'ttft' AS metric,
        COALESCE(c.ttft_n, 0) AS stored_n, q.ttft_n AS recomputed_n,
        c.ttft_p50_ms AS stored_p50_ms, q.ttft_p50_ms AS recomputed_p50_ms,
        c.ttft_p90_ms AS stored_p90_ms, q.ttft_p90_ms AS recomputed_p90_ms,
        c.ttft_p95_ms AS stored_p95_ms, q.ttft_p95_ms AS recomputed_p95_ms,
        c.ttft_p99_ms AS stored_p99_ms, q.ttft_p99_ms AS recomputed_p99_ms,
        q.cell_id, q.run_id
    FROM campaign_run AS r
    JOIN request_percentile AS q ON q.run_id = r.run_id
    LEFT JOIN cell AS c ON c.cell_id = q.cell_id AND c.run_id = q.run_id
    UNION ALL
    SELECT
        r.campaign, r.run, r.night, c.arm, c.workload, c.load_label, c.cell, 'tpot' AS metric,
        COALESCE(c.tpot_n, 0) AS stored_n, q.tpot_n AS recomputed_n,
        c.tpot_p50_ms AS stored_p50_ms, q.tpot_p50_ms AS recomputed_p50_ms,
        c.tpot_p90_ms AS stored_p90_ms, q.tpot_p90_ms AS recomputed_p90_ms,
        c.tpot_p95_ms AS stored_p95_ms, q.tpot_p95_ms AS recomputed_p95_ms,
        c.tpot_p99_ms AS stored_p99_ms, q.tpot_p99_ms AS recomputed_p99_ms,
        q.cell_id, q.run_id
    FROM campaign_run AS r
    JOIN request_percentile AS q ON q.run_id = r.run_id
    LEFT JOIN cell AS c ON c.cell_id = q.cell_id AND c.run_id = q.run_id
    UNION ALL
    SELECT
        r.campaign, r.run, r.night, c.arm, c.workload, c.load_label, c.cell, 'e2e' AS metric,
        COALESCE(c.e2e_n, 0) AS stored_n, q.e2e_n AS recomputed_n,
        c.e2e_p50_ms AS stored_p50_ms, q.e2e_p50_ms AS recomputed_p50_ms,
        c.e2e_p90_ms AS stored_p90_ms, q.e2e_p90_ms AS recomputed_p90_ms,
        c.e2e_p95_ms AS stored_p95_ms, q.e2e_p95_ms AS recomputed_p95_ms,
        c.e2e_p99_ms AS stored_p99_ms, q.e2e_p99_ms AS recomputed_p99_ms,
        q.cell_id, q.run_id
    FROM campaign_run AS r
    JOIN request_percentile AS q ON q.run_id = r.run_id
    LEFT JOIN cell AS c ON c.cell_id = q.cell_id AND c.run_id = q.run_id
) AS beside;
