"""Gates on the needle check: did this very launch find everything that was planted, at the context it is sold for?"""

from __future__ import annotations

from benchgate.gates.rule import Row, Rule, is_true, shown

# The document is built to the token, so a shorter one than this was not the document that the gate asks for.
_MAX_CONTEXT_SHORTFALL = 0.05


_NOT_RUN = "no needle check was run on this launch"


def _count(row: Row, column: str) -> int:
    value = row[column]
    return 0 if value is None or value != value else int(value)


def _lost(row: Row) -> str:
    found, asked = _count(row, "needles_found"), _count(row, "needles_asked")
    if not asked:
        return _NOT_RUN
    return f"needle check {found}/{asked}: nothing came back from depth {row['depths_lost']}"


NEEDLE_RULES = (
    Rule(
        name="needle_gate_set",
        asks="the campaign says which needles a launch of this arm must find",
        expect=is_true("gate_set"),
        reason=lambda _row: "the campaign sets no needle gate for this arm, and nothing is published without one",
        observed=lambda row: "set" if row["gate_set"] else "none",
        limit=lambda _row: "gates.needle",
    ),
    Rule(
        name="needle_check_run",
        asks="the needles were asked of this very launch; nothing is inherited from another",
        expect=lambda gxe, tag: [gxe.ExpectColumnValuesToNotBeNull(column="needles_asked", **tag)],
        reason=lambda _row: _NOT_RUN,
        observed=lambda row: shown(row["needles_asked"]),
        limit=lambda _row: "one check a launch",
    ),
    Rule(
        name="needle_all_found",
        asks="every needle that was asked came back",
        expect=lambda gxe, tag: [
            gxe.ExpectColumnPairValuesToBeEqual(
                column_A="needles_found", column_B="needles_asked", ignore_row_if="both_values_are_missing", **tag
            ),
            gxe.ExpectColumnValuesToNotBeNull(column="needles_asked", **tag),
            gxe.ExpectColumnValuesToBeBetween(column="needles_asked", min_value=1, **tag),
        ],
        reason=_lost,
        observed=lambda row: (
            f"{_count(row, 'needles_found')} of {_count(row, 'needles_asked')}" if shown(row["needles_asked"]) else None
        ),
        limit=lambda _row: "all of n",
    ),
    Rule(
        name="needle_all_depths",
        asks="a needle was asked at every depth that the gate names",
        expect=lambda gxe, tag: [gxe.ExpectColumnValuesToBeNull(column="depths_missing", **tag)],
        reason=lambda row: f"no needle was asked at depth {row['depths_missing']}",
        observed=lambda row: shown(row["depths_asked"]),
        limit=lambda row: f"{_count(row, 'needles_required')} depths",
    ),
    Rule(
        name="needle_context",
        asks="the documents were as long as the gate asks, as the server counted them",
        # an unknown length stays unknown; a known one must be right
        expect=lambda gxe, tag: [
            gxe.ExpectColumnValuesToBeBetween(column="context_short_by", max_value=_MAX_CONTEXT_SHORTFALL, **tag)
        ],
        reason=lambda row: (
            f"the shortest document had {_count(row, 'context_tokens_min')} tokens, "
            f"the gate asks for {_count(row, 'context_tokens_required')} beside the answer"
        ),
        observed=lambda row: shown(row["context_tokens_min"]),
        limit=lambda row: shown(row["context_tokens_required"]),
    ),
)
