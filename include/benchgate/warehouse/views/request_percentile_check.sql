-- Percentiles of the request rows beside those that the client stored: linear interpolation between the two nearest
-- ranks, over successful measured requests. agrees is 1 when n and all four are the same within a millionth. Made of the
-- rows while they were loaded (table request_percentile), so it answers at once, also when the rows are gone.
CREATE VIEW request_percentile_check AS
WITH both_sides AS (
    SELECT
        q.run_id, q.cell_id, c.arm, c.workload, c.load_label, c.cell, 'ttft' AS metric,
        c.ttft_n AS stored_n, q.ttft_n AS recomputed_n,
        c.ttft_p50_ms AS stored_p50_ms, q.ttft_p50_ms AS recomputed_p50_ms,
        c.ttft_p90_ms AS stored_p90_ms, q.ttft_p90_ms AS recomputed_p90_ms,
        c.ttft_p95_ms AS stored_p95_ms, q.ttft_p95_ms AS recomputed_p95_ms,
        c.ttft_p99_ms AS stored_p99_ms, q.ttft_p99_ms AS recomputed_p99_ms
    FROM request_percentile AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    WHERE q.ttft_n > 0 OR c.ttft_n > 0
    UNION ALL
    SELECT
        q.run_id, q.cell_id, c.arm, c.workload, c.load_label, c.cell, 'tpot' AS metric,
        c.tpot_n AS stored_n, q.tpot_n AS recomputed_n,
        c.tpot_p50_ms AS stored_p50_ms, q.tpot_p50_ms AS recomputed_p50_ms,
        c.tpot_p90_ms AS stored_p90_ms, q.tpot_p90_ms AS recomputed_p90_ms,
        c.tpot_p95_ms AS stored_p95_ms, q.tpot_p95_ms AS recomputed_p95_ms,
        c.tpot_p99_ms AS stored_p99_ms, q.tpot_p99_ms AS recomputed_p99_ms
    FROM request_percentile AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    WHERE q.tpot_n > 0 OR c.tpot_n > 0
    UNION ALL
    SELECT
        q.run_id, q.cell_id, c.arm, c.workload, c.load_label, c.cell, 'e2e' AS metric,
        c.e2e_n AS stored_n, q.e2e_n AS recomputed_n,
        c.e2e_p50_ms AS stored_p50_ms, q.e2e_p50_ms AS recomputed_p50_ms,
        c.e2e_p90_ms AS stored_p90_ms, q.e2e_p90_ms AS recomputed_p90_ms,
        c.e2e_p95_ms AS stored_p95_ms, q.e2e_p95_ms AS recomputed_p95_ms,
        c.e2e_p99_ms AS stored_p99_ms, q.e2e_p99_ms AS recomputed_p99_ms
    FROM request_percentile AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    WHERE q.e2e_n > 0 OR c.e2e_n > 0
)
SELECT
    r.campaign, r.run, r.night, b.arm, b.workload, b.load_label, b.cell, b.metric,
    b.stored_n, b.recomputed_n, b.stored_p50_ms, b.recomputed_p50_ms, b.stored_p90_ms, b.recomputed_p90_ms,
    b.stored_p95_ms, b.recomputed_p95_ms, b.stored_p99_ms, b.recomputed_p99_ms,
    CASE WHEN b.stored_n = b.recomputed_n
        AND ABS(b.stored_p50_ms - b.recomputed_p50_ms) <= 1e-6 * ABS(b.recomputed_p50_ms)
        AND ABS(b.stored_p90_ms - b.recomputed_p90_ms) <= 1e-6 * ABS(b.recomputed_p90_ms)
        AND ABS(b.stored_p95_ms - b.recomputed_p95_ms) <= 1e-6 * ABS(b.recomputed_p95_ms)
        AND ABS(b.stored_p99_ms - b.recomputed_p99_ms) <= 1e-6 * ABS(b.recomputed_p99_ms) THEN 1 ELSE 0 END AS agrees,
    b.cell_id, b.run_id
FROM both_sides AS b
JOIN campaign_run AS r ON r.run_id = b.run_id;
