"""Gates on a measured cell: are these numbers true, complete and comparable?"""

from __future__ import annotations

from typing import Any

from benchgate.gates.rule import Row, Rule, at_most, is_true, no_problem, shown

TOKEN_COUNT_SOURCES = ("usage", "tokenizer", "mixed")  # mixed: some answers had usage, the rest were tokenized
_MAX_CUT_OFF_SHARE = 0.25


def _percent(value: Any) -> str:
    return "unknown" if value is None or value != value else f"{100 * value:.3g} %"


def _gaps(row: Row) -> str | None:
    if not row["totals_compared"]:
        return None
    return f"prompt {_percent(row['prompt_token_gap'])}, completion {_percent(row['completion_token_gap'])}"


def _described(row: Row) -> str:
    names = ("client_name", "client_version", "metric_definition")
    return ", ".join(f"{name} {shown(row[name]) or 'missing'}" for name in names)


IDENTITY = (
    Rule(
        name="planned",
        asks="the record describes the planned cell whose name it bears",
        expect=no_problem("identity_problem"),
        reason=lambda row: f"the record is not of this cell: {row['identity_problem']}",
        observed=lambda row: shown(row["identity_problem"]) or "as planned",
        limit=lambda _row: "as planned",
    ),
    Rule(
        name="measured_once",
        asks="a cell has one record in a run",
        expect=lambda gxe, tag: [gxe.ExpectColumnValuesToBeUnique(column="cell", **tag)],
        reason=lambda _row: "the run holds more than one record of this cell, and none of them can be told right",
    ),
    Rule(
        name="has_summary",
        asks="a measured cell has a summary",
        expect=is_true("has_summary"),
        reason=lambda _row: "the cell is called measured and has no summary",
    ),
    Rule(
        name="says_who_measured",
        asks="client, client version and metric definition are named",
        expect=lambda gxe, tag: [
            expectation
            for column in ("client_name", "client_version", "metric_definition")
            for expectation in (
                gxe.ExpectColumnValuesToNotBeNull(column=column, **tag),
                gxe.ExpectColumnValueLengthsToBeBetween(column=column, min_value=1, **tag),
            )
        ],
        reason=lambda row: f"a number without its client cannot be compared: {_described(row)}",
        observed=_described,
    ),
)

REQUESTS = (
    Rule(
        name="error_rate",
        asks="the share of errors is within the campaign's limit",
        expect=at_most("error_rate", "error_rate_max"),
        reason=lambda row: (
            (
                f"error rate {_percent(row['error_rate'])} is above {_percent(row['error_rate_max'])}"
                if shown(row["error_rate"]) is not None
                else "the error rate is unknown"
            )
            + (f"; most: {row['worst_error']}" if row["worst_error"] else "")
        ),
        observed=lambda row: shown(row["error_rate"]),
        limit=lambda row: shown(row["error_rate_max"]),
    ),
    Rule(
        name="min_completed",
        asks="enough requests succeeded",
        expect=at_most("completed_min", "completed"),
        reason=lambda row: (
            f"{shown(row['completed']) or 'unknown'} requests completed, {shown(row['completed_min'])} are needed"
        ),
        observed=lambda row: shown(row["completed"]),
        limit=lambda row: shown(row["completed_min"]),
    ),
    Rule(
        name="ran_to_its_end",
        asks="the load ended by itself, by its time cap or by its error limit; nobody interrupted it",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToNotBeNull(column="stopped_by", **tag),
            gxe.ExpectColumnValuesToBeInSet(
                column="stopped_by", value_set=["requests", "time_cap", "error_rate"], **tag
            ),
        ],
        reason=lambda row: f"the load was stopped by {shown(row['stopped_by']) or 'something unknown'}",
        observed=lambda row: shown(row["stopped_by"]),
    ),
    Rule(
        name="cut_off_share",
        asks="the time cap ended few requests",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToBeBetween(column="cut_off_share", max_value=_MAX_CUT_OFF_SHARE, **tag)
        ],
        reason=lambda row: (
            f"the time cap ended {_percent(row['cut_off_share'])} of the requests: "
            "throughput counts only what was finished, and reads low"
        ),
        observed=lambda row: shown(row["cut_off_share"]),
        limit=lambda _row: str(_MAX_CUT_OFF_SHARE),
        severity="warning",
    ),
)

TOKENS = (
    Rule(
        name="token_count_source",
        asks="tokens were counted by the server or with the model's tokenizer, never assumed",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToNotBeNull(column="token_count_source", **tag),
            gxe.ExpectColumnValuesToBeInSet(column="token_count_source", value_set=list(TOKEN_COUNT_SOURCES), **tag),
        ],
        reason=lambda row: f"tokens were counted by {shown(row['token_count_source']) or 'nobody knows what'}",
        observed=lambda row: shown(row["token_count_source"]),
        limit=lambda _row: " or ".join(TOKEN_COUNT_SOURCES),
    ),
    Rule(
        name="token_totals_agree",
        asks="the client's totals agree with the rise of the server's own counters",
        # a server without counters cannot contradict: see the next rule
        expect=lambda gxe, tag: [
            gxe.ExpectColumnPairValuesAToBeGreaterThanB(
                column_A="token_gap_max", column_B=gap, or_equal=True, ignore_row_if="either_value_is_missing", **tag
            )
            for gap in ("prompt_token_gap", "completion_token_gap")
        ],
        reason=lambda row: (
            f"client and server count differently: {_gaps(row)}, allowed {_percent(row['token_gap_max'])}"
        ),
        observed=_gaps,
        limit=lambda row: shown(row["token_gap_max"]),
    ),
    Rule(
        name="token_totals_compared",
        asks="the server's own counters were read before and after the cell",
        expect=is_true("totals_compared"),
        reason=lambda _row: "the server's token counters are unknown, so the client's totals stand alone",
        severity="warning",
    ),
)

NUMBERS = (
    Rule(
        name="latency_stated",
        asks="latencies are either valid or absent with a reason",
        expect=no_problem("latency_problem"),
        reason=lambda row: str(row["latency_problem"]),
        observed=lambda row: shown(row["latency_verdict"]),
    ),
    Rule(
        name="latency_valid",
        asks="the latencies are latencies; otherwise only throughput is published",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToNotBeNull(column="latency_verdict", **tag),
            gxe.ExpectColumnValuesToBeInSet(column="latency_verdict", value_set=["valid"], **tag),
        ],
        reason=lambda row: (
            f"latencies are NULL: {shown(row['latency_reason']) or shown(row['latency_verdict']) or 'no verdict'}; "
            "throughput stands"
        ),
        observed=lambda row: shown(row["latency_verdict"]),
        limit=lambda _row: "valid",
        severity="warning",
    ),
    Rule(
        name="in_range",
        asks="no number is negative, infinite, out of order, or at odds with the numbers that define it",
        expect=no_problem("range_problem"),
        reason=lambda row: str(row["range_problem"]),
        observed=lambda row: shown(row["range_problem"]) or "in range",
    ),
    Rule(
        name="warm",
        asks="nothing was compiled or tuned while the cell was measured",
        # None: nobody judged it, which refuses nothing
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToNotBeInSet(column="warm_verdict", value_set=["not_warm"], **tag)
        ],
        reason=lambda row: f"the server was not warm: {shown(row['warm_reason']) or 'no reason was kept'}",
        observed=lambda row: shown(row["warm_verdict"]),
        limit=lambda _row: "warm",
    ),
    Rule(
        name="ttft_grows_with_load",
        asks="a heavier load of the same launch and workload did not get its first tokens much sooner",
        expect=no_problem("overtaken"),
        reason=lambda row: (
            f"something else than the load held the first tokens up: {row['overtaken']}; TTFT and throughput are "
            "the server's, and no measure of its prefill"
        ),
        observed=lambda row: shown(row["overtaken"]),
        severity="warning",
    ),
)

CELL_RULES = (*IDENTITY, *REQUESTS, *TOKENS, *NUMBERS)
