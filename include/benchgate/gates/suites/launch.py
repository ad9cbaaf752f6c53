"""Gates on a launch: was the server that answered the one that the arm describes?"""

from __future__ import annotations

from benchgate.gates.rule import Rule, no_problem, shown

LAUNCH_RULES = (
    Rule(
        name="proven",
        asks="every value that the arm must prove is stated by the server's own log or API",
        expect=no_problem("unproven"),
        reason=lambda row: f"not proven: {row['unproven']}; the server's log does not say",
        observed=lambda row: "no line" if row["unproven"] else "all stated",
        limit=lambda _row: "every proof that the arm asks for",
    ),
    Rule(
        name="proven_as_asked",
        asks="what the server proves is what the arm asked for",
        expect=no_problem("disproven"),
        reason=lambda row: f"the server ran something else: {row['disproven']}",
        observed=lambda row: shown(row["disproven"]) or "as asked",
        limit=lambda _row: "as the arm asks",
    ),
    Rule(
        name="fingerprint_complete",
        asks="all that makes the arm that arm is known",
        expect=lambda gxe, tag: [gxe.ExpectColumnValuesToNotBeNull(column="fingerprint", **tag)],
        reason=lambda row: (
            f"the fingerprint is incomplete: {row['fingerprint_missing']} unknown"
            if row["fingerprint_missing"]
            else "no fingerprint was made of this launch"
        ),
        observed=lambda row: shown(row["fingerprint"]),
        limit=lambda _row: "complete",
    ),
    Rule(
        name="not_simulated",
        asks="the engine itself served, no stand-in",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToNotBeNull(column="simulated", **tag),
            gxe.ExpectColumnValuesToBeInSet(column="simulated", value_set=[False], **tag),
        ],
        reason=lambda _row: "a stand-in served instead of the engine; its numbers are never published",
        observed=lambda row: "simulated" if row["simulated"] else "real",
        limit=lambda _row: "real",
    ),
    Rule(
        name="stayed_up",
        asks="the server lived until it was stopped",
        expect=no_problem("died"),
        reason=lambda row: f"the server died after it had been ready: {row['died']}",
        observed=lambda row: shown(row["died"]) or "lived",
        severity="warning",  # cells that were complete before stay true; those it broke fail by themselves
    ),
)
