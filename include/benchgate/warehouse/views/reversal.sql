-- Pairs of arms whose order changes between workloads, loads or metrics, in words that can be pasted.
-- Written by the report's analysis, for our runs and for the values of sources (basis is the source; no run).
CREATE VIEW reversal AS
SELECT
    r.campaign, r.run, r.night, f.basis, f.kind, f.label, f.arm, f.baseline AS baseline_arm,
    f.metric, f.workload, f.load_label, f.point, f.other_metric, f.other_workload, f.other_load_label, f.other_point,
    f.words, f.run_id
FROM reversal_finding AS f
LEFT JOIN campaign_run AS r ON r.run_id = f.run_id;
