"""What the analysis found: comparisons with intervals, reversals, regressions. Written after the load, per run."""

from __future__ import annotations

import sqlalchemy as sa

from benchgate.warehouse.tables.base import Day, Json, column, id_column, metadata, parent

comparison = sa.Table(
    "comparison",
    metadata,
    id_column("comparison", "run, basis, arms, workload, load and metric"),
    parent("run_id", "campaign_run.run_id", "the run; NULL when it is about a source's values", required=False),
    column(
        "basis", sa.Text(), "published, unpublishable, or the id of the source whose values it is about", required=True
    ),
    column("workload", sa.Text(), "workload", required=True),
    column("load_label", sa.Text(), "load: u64 or q2.5", required=True),
    column("users", sa.Integer(), "concurrent users of a closed loop"),
    column("request_rate", sa.Double(), "requests per second of an open loop"),
    column("metric", sa.Text(), "ttft_p50, tpot_p50, decode_tok_s, prefill_tok_s, ..", required=True),
    column("arm", sa.Text(), "arm B", required=True),
    column("baseline", sa.Text(), "arm A, against which B is set", required=True),
    column("design", sa.Text(), "paired by placement, same placement or confounded by placement", required=True),
    column("effect", sa.Text(), "ratio: point is B / A. difference: point is B - A", required=True),
    column("verdict", sa.Text(), "faster, slower, inconclusive, one run, refused, ..", required=True),
    column("reason", sa.Text(), "the verdict in words", required=True),
    column("direction", sa.Integer(), "1 arm B was found better, -1 worse, 0 neither", required=True),
    column("point", sa.Double(), "the effect; NULL when it was refused"),
    column("low", sa.Double(), "lower end of its 95 % interval; NULL for a single run"),
    column("high", sa.Double(), "upper end; NULL for a single run"),
    column("method", sa.Text(), "how the interval was made"),
    column("p_value", sa.Double(), "p value of the test"),
    column("adjusted_p", sa.Double(), "the same, adjusted for all comparisons of the run"),
    column("family_size", sa.Integer(), "comparisons that the adjustment counts"),
    column("smallest_visible", sa.Double(), "smallest relative effect that would have been found in 80 % of cases"),
    column("arm_median", sa.Double(), "median of arm B, in the metric's unit"),
    column("baseline_median", sa.Double(), "median of arm A, in the metric's unit"),
    column("arm_repeats", sa.Integer(), "cells of arm B"),
    column("baseline_repeats", sa.Integer(), "cells of arm A"),
    column("placements", Json, "placements that took part"),
    column("placement_effects", Json, "ratio between placements, arms held equal, with intervals"),
    column("interaction_p", sa.Double(), "p value that the arms differ differently on the placements"),
    column("unswapped", Json, "what a comparison without the swap would have claimed"),
    sa.Index(None, "run_id"),
    comment="Arm B against arm A, one metric a row: never folded into one speed-up.",
)

reversal_finding = sa.Table(
    "reversal_finding",
    metadata,
    id_column("reversal_finding", "run or source, kind, arms, metrics and words"),
    parent("run_id", "campaign_run.run_id", "the run; NULL when it is about a source's values", required=False),
    column(
        "basis", sa.Text(), "published, unpublishable, or the id of the source whose values it is about", required=True
    ),
    column("kind", sa.Text(), "between workloads, between loads or between metrics", required=True),
    column("arm", sa.Text(), "arm B", required=True),
    column("baseline", sa.Text(), "arm A", required=True),
    column("metric", sa.Text(), "metric whose order changes", required=True),
    column("other_metric", sa.Text(), "the other metric, for a reversal between metrics"),
    column("label", sa.Text(), "significant or one run", required=True),
    column("workload", sa.Text(), "where arm B is better", required=True),
    column("load_label", sa.Text(), "load there", required=True),
    column("point", sa.Double(), "the effect there, as in comparison"),
    column("other_workload", sa.Text(), "where arm A is better", required=True),
    column("other_load_label", sa.Text(), "load there", required=True),
    column("other_point", sa.Double(), "the effect there"),
    column("words", sa.Text(), "the finding in a sentence that can be pasted", required=True),
    sa.Index(None, "run_id"),
    comment="Pairs of arms whose order changes between workloads, loads or metrics.",
)

regression_finding = sa.Table(
    "regression_finding",
    metadata,
    id_column("regression_finding", "run, cell series and metric"),
    parent("run_id", "campaign_run.run_id", "the run that was judged"),
    column("arm", sa.Text(), "arm", required=True),
    column("host", sa.Text(), "host", required=True),
    column("placement", sa.Text(), "placement", required=True),
    column("workload", sa.Text(), "workload", required=True),
    column("load_label", sa.Text(), "load: u64 or q2.5", required=True),
    column("metric", sa.Text(), "column of cell (kv_tokens: of launch) that was judged", required=True),
    column("answer", sa.Text(), "PASS, REGRESSED, IMPROVED, INCONCLUSIVE or REFUSED", required=True),
    column("value", sa.Double(), "level since the change (PASS: the newest nights), in the metric's unit"),
    column("previous_value", sa.Double(), "level of the nights before, in the metric's unit"),
    column("change", sa.Double(), "value / previous_value - 1 (error_rate: value - previous_value)"),
    column("change_low", sa.Double(), "lower end of its 95 % interval"),
    column("change_high", sa.Double(), "upper end"),
    column(
        "smallest_visible_change", sa.Double(), "change that would have been found within two nights in 80 % of cases"
    ),
    column("p_value", sa.Double(), "p of no change, corrected for the start nights that were tried"),
    column("adjusted_p", sa.Double(), "the same, corrected for the number of series judged tonight"),
    column("nights", sa.Integer(), "comparable nights in the series", required=True),
    column("since_night", Day, "first night at the new level; NULL when nothing changed"),
    column("changed_since_run", sa.Text(), "run key of that night"),
    column("new_tonight", sa.Boolean(), "first said tonight: what the nightly message announces", required=True),
    column("method", sa.Text(), "rule or library that decided", required=True),
    column("what_changed", Json, "fingerprint difference at that night: name -> [before, after]"),
    column("reason", sa.Text(), "the answer in words", required=True),
    sa.Index(None, "run_id", "arm", "workload", "load_label"),  # one series over many nights
    sa.CheckConstraint("answer IN ('PASS', 'REGRESSED', 'IMPROVED', 'INCONCLUSIVE', 'REFUSED')", name="answer"),
    comment="Tonight against the nights before, one series and metric a row.",
)
