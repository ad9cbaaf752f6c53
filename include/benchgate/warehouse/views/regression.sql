-- Tonight against the nights before, one series and metric a row: PASS, REGRESSED, IMPROVED, INCONCLUSIVE or REFUSED,
-- with the size, its interval and what changed. Written by the report's analysis.
CREATE VIEW regression AS
SELECT
    r.campaign, r.run, r.night, f.arm, f.host, f.placement, f.workload, f.load_label, f.metric, f.answer,
    f.value, f.previous_value, f.change, f.change_low, f.change_high, f.smallest_visible_change, f.p_value, f.adjusted_p,
    f.nights, f.since_night, f.changed_since_run, f.new_tonight, f.what_changed, f.method, f.reason, f.run_id
FROM regression_finding AS f
JOIN campaign_run AS r ON r.run_id = f.run_id;
