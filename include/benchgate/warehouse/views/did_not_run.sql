-- Planned cells that had no server to measure, or that nobody asked for in this run: why, and the log line that says so.
CREATE VIEW did_not_run AS
SELECT
    r.campaign, r.run, r.night,
    c.cell, c.arm, c.host, c.placement, c.workload, c.load_label, c.users, c.request_rate, c.repeat,
    CASE WHEN c.deselected THEN 'deselected' ELSE l.failure_kind END AS failure_kind,
    c.reason, l.failure_line_number, l.failure_line, l.expected, l.exit_code, l.exit_signal, l.oom_killed,
    c.cell_id, c.launch_id, c.run_id
FROM cell AS c
JOIN launch AS l ON l.launch_id = c.launch_id
JOIN campaign_run AS r ON r.run_id = c.run_id
WHERE c.end_state = 'not_run';
