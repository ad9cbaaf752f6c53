-- Published repeats folded into their median: one row a run, arm, placement, workload and load.
-- Each metric keeps its own column. n counts published repeats, latency_n those whose latencies are valid.
-- A load stores its run's rows in the table cell_median, which the comparisons read: a year of nights at once.
CREATE VIEW repeat_median AS
WITH value AS (
    -- one row a cell and metric, so that one window ranks them all
    SELECT run_id, cell_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source,
        'ttft_p50_ms' AS metric, ttft_p50_ms AS value
    FROM published_cell
    UNION ALL
    SELECT run_id, cell_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source,
        'tpot_p50_ms', tpot_p50_ms
    FROM published_cell
    UNION ALL
    SELECT run_id, cell_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source,
        'decode_tok_s', decode_tok_s
    FROM published_cell
    UNION ALL
    SELECT run_id, cell_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source,
        'prefill_tok_s', prefill_tok_s
    FROM published_cell
),
ranked AS (
    SELECT
        value.*,
        -- NULLs rank last on both databases, so places 1..known are the known values
        ROW_NUMBER() OVER (repeats ORDER BY CASE WHEN value IS NULL THEN 1 ELSE 0 END, value) AS place,
        COUNT(value) OVER repeats AS known
    FROM value
    WINDOW repeats AS (
        PARTITION BY run_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source, metric
    )
),
middle AS (
    -- the middle one of an odd number, both middle ones of an even number
    SELECT ranked.*,
        CASE WHEN value IS NOT NULL AND place IN ((known + 1) / 2, (known + 2) / 2) THEN value END AS middle_value
    FROM ranked
),
folded AS (
    SELECT
        run_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source,
        COUNT(DISTINCT cell_id) AS n,
        SUM(CASE WHEN metric = 'ttft_p50_ms' AND value IS NOT NULL THEN 1 ELSE 0 END) AS latency_n,
        AVG(CASE WHEN metric = 'ttft_p50_ms' THEN middle_value END) AS ttft_p50_ms,
        AVG(CASE WHEN metric = 'tpot_p50_ms' THEN middle_value END) AS tpot_p50_ms,
        AVG(CASE WHEN metric = 'decode_tok_s' THEN middle_value END) AS decode_tok_s,
        AVG(CASE WHEN metric = 'prefill_tok_s' THEN middle_value END) AS prefill_tok_s
    FROM middle
    GROUP BY run_id, launch_id, workload, load_label, client_name, metric_definition, token_count_source
)
SELECT
    r.campaign, r.run, r.night, r.started_at AS run_started_at, l.baseline_arm, l.arm, l.host, l.placement,
    folded.workload, folded.load_label, folded.client_name, folded.metric_definition, folded.token_count_source,
    folded.n, folded.latency_n, folded.ttft_p50_ms, folded.tpot_p50_ms, folded.decode_tok_s, folded.prefill_tok_s,
    l.image_digest, l.engine_version, l.model_revision, l.fingerprint, folded.run_id
FROM folded
JOIN launch AS l ON l.launch_id = folded.launch_id
JOIN campaign_run AS r ON r.run_id = folded.run_id;
