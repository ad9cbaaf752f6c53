-- Cells whose server was ready and whose measurement itself broke: a client that died, a server that went away.
CREATE VIEW failed_cell AS
SELECT
    r.campaign, r.run, r.night,
    c.cell, c.arm, c.host, c.placement, c.workload, c.load_label, c.users, c.request_rate, c.repeat,
    c.reason, l.failure_kind, l.failure_line_number, l.failure_line, l.exit_code, l.exit_signal, l.oom_killed,
    c.cell_id, c.launch_id, c.run_id
FROM cell AS c
JOIN launch AS l ON l.launch_id = c.launch_id
JOIN campaign_run AS r ON r.run_id = c.run_id
WHERE c.end_state = 'failed';
