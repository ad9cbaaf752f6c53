-- Percentiles computed again from the request rows, beside the stored ones: linear interpolation between the two
-- nearest ranks, over successful measured requests. agrees is 1 when all four are within a millionth of each other.
-- It sorts every request it is asked about: filter by run and by arm, workload or cell.
CREATE VIEW request_percentile_check AS
WITH sample AS (
    SELECT r.campaign, r.run, c.arm, c.workload, c.load_label, c.cell, q.cell_id, 'ttft' AS metric, q.ttft_ms AS value
    FROM request AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    JOIN campaign_run AS r ON r.run_id = c.run_id
    WHERE q.phase = 'measured' AND q.status = 'ok' AND q.ttft_ms IS NOT NULL
    UNION ALL
    SELECT r.campaign, r.run, c.arm, c.workload, c.load_label, c.cell, q.cell_id, 'tpot', q.tpot_ms
    FROM request AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    JOIN campaign_run AS r ON r.run_id = c.run_id
    WHERE q.phase = 'measured' AND q.status = 'ok' AND q.tpot_ms IS NOT NULL
    UNION ALL
    SELECT r.campaign, r.run, c.arm, c.workload, c.load_label, c.cell, q.cell_id, 'e2e', q.e2e_ms
    FROM request AS q
    JOIN cell AS c ON c.cell_id = q.cell_id
    JOIN campaign_run AS r ON r.run_id = c.run_id
    WHERE q.phase = 'measured' AND q.status = 'ok' AND q.e2e_ms IS NOT NULL
),
ranked AS (
    SELECT
        campaign, run, arm, workload, load_label, cell, cell_id, metric, value,
        ROW_NUMBER() OVER (of_cell ORDER BY value) - 1 AS place,
        LEAD(value) OVER (of_cell ORDER BY value) AS next_value,
        COUNT(*) OVER of_cell AS n
    FROM sample
    -- all that a reader may filter by is named, so that the filter reaches the request rows; SQLite passes it down
    -- through windows and not through GROUP BY
    WINDOW of_cell AS (PARTITION BY cell_id, metric, campaign, run, arm, workload, load_label, cell)
),
again AS (
    -- percentile p lies at place (n - 1) * p / 100; integer division gives its lower neighbour on both databases
    SELECT
        campaign, run, arm, workload, load_label, cell, cell_id, metric, n, place,
        MAX(CASE WHEN place = (n - 1) * 50 / 100
            THEN value + (COALESCE(next_value, value) - value) * ((n - 1) * 50 % 100) / 100.0 END) OVER of_cell AS p50,
        MAX(CASE WHEN place = (n - 1) * 90 / 100
            THEN value + (COALESCE(next_value, value) - value) * ((n - 1) * 90 % 100) / 100.0 END) OVER of_cell AS p90,
        MAX(CASE WHEN place = (n - 1) * 95 / 100
            THEN value + (COALESCE(next_value, value) - value) * ((n - 1) * 95 % 100) / 100.0 END) OVER of_cell AS p95,
        MAX(CASE WHEN place = (n - 1) * 99 / 100
            THEN value + (COALESCE(next_value, value) - value) * ((n - 1) * 99 % 100) / 100.0 END) OVER of_cell AS p99
    FROM ranked
    WINDOW of_cell AS (PARTITION BY cell_id, metric, campaign, run, arm, workload, load_label, cell)
)
SELECT
    again.campaign, again.run, r.night, again.arm, again.workload, again.load_label, again.cell, again.metric,
    CASE again.metric WHEN 'ttft' THEN c.ttft_n WHEN 'tpot' THEN c.tpot_n ELSE c.e2e_n END AS stored_n,
    again.n AS recomputed_n,
    CASE again.metric WHEN 'ttft' THEN c.ttft_p50_ms WHEN 'tpot' THEN c.tpot_p50_ms ELSE c.e2e_p50_ms END
        AS stored_p50_ms,
    again.p50 AS recomputed_p50_ms,
    CASE again.metric WHEN 'ttft' THEN c.ttft_p90_ms WHEN 'tpot' THEN c.tpot_p90_ms ELSE c.e2e_p90_ms END
        AS stored_p90_ms,
    again.p90 AS recomputed_p90_ms,
    CASE again.metric WHEN 'ttft' THEN c.ttft_p95_ms WHEN 'tpot' THEN c.tpot_p95_ms ELSE c.e2e_p95_ms END
        AS stored_p95_ms,
    again.p95 AS recomputed_p95_ms,
    CASE again.metric WHEN 'ttft' THEN c.ttft_p99_ms WHEN 'tpot' THEN c.tpot_p99_ms ELSE c.e2e_p99_ms END
        AS stored_p99_ms,
    again.p99 AS recomputed_p99_ms,
    CASE again.metric
        WHEN 'ttft' THEN CASE WHEN c.ttft_n = again.n
            AND ABS(c.ttft_p50_ms - again.p50) <= 1e-6 * ABS(again.p50)
            AND ABS(c.ttft_p90_ms - again.p90) <= 1e-6 * ABS(again.p90)
            AND ABS(c.ttft_p95_ms - again.p95) <= 1e-6 * ABS(again.p95)
            AND ABS(c.ttft_p99_ms - again.p99) <= 1e-6 * ABS(again.p99) THEN 1 ELSE 0 END
        WHEN 'tpot' THEN CASE WHEN c.tpot_n = again.n
            AND ABS(c.tpot_p50_ms - again.p50) <= 1e-6 * ABS(again.p50)
            AND ABS(c.tpot_p90_ms - again.p90) <= 1e-6 * ABS(again.p90)
            AND ABS(c.tpot_p95_ms - again.p95) <= 1e-6 * ABS(again.p95)
            AND ABS(c.tpot_p99_ms - again.p99) <= 1e-6 * ABS(again.p99) THEN 1 ELSE 0 END
        ELSE CASE WHEN c.e2e_n = again.n
            AND ABS(c.e2e_p50_ms - again.p50) <= 1e-6 * ABS(again.p50)
            AND ABS(c.e2e_p90_ms - again.p90) <= 1e-6 * ABS(again.p90)
            AND ABS(c.e2e_p95_ms - again.p95) <= 1e-6 * ABS(again.p95)
            AND ABS(c.e2e_p99_ms - again.p99) <= 1e-6 * ABS(again.p99) THEN 1 ELSE 0 END
    END AS agrees,
    c.cell_id, c.run_id
FROM again
JOIN cell AS c ON c.cell_id = again.cell_id
JOIN campaign_run AS r ON r.run_id = c.run_id
WHERE again.place = 0;
