"""What a gate is: a name, a severity, what it asks of a row, and its answer in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Row = Mapping[str, Any]  # one row of a table of gates.tables
Severity = Literal["critical", "warning"]


def _nothing(_row: Row) -> None:
    return None


@dataclass(frozen=True)
class Rule:
    """One gate. Great Expectations decides whether a row passes; the functions here only put it into words.

    ``expect`` gets the module ``great_expectations.expectations`` (its import takes seconds, so nothing here imports
    it) and the arguments that mark an expectation as this rule's. A row is refused when any expectation refuses it.
    """

    name: str
    asks: str  # what must hold, as a sentence
    expect: Callable[[Any, dict[str, Any]], list[Any]]
    reason: Callable[[Row], str]  # for a refused row: what is wrong
    observed: Callable[[Row], str | None] = _nothing
    limit: Callable[[Row], str | None] = _nothing
    severity: Severity = "critical"  # critical refuses; warning is recorded beside the numbers


def no_problem(column: str) -> Callable[[Any, dict[str, Any]], list[Any]]:
    """The expectation of a derived column that names what is wrong: it must be empty."""
    return lambda gxe, tag: [gxe.ExpectColumnValuesToBeNull(column=column, **tag)]


def is_true(column: str) -> Callable[[Any, dict[str, Any]], list[Any]]:
    """The expectation of a flag: known, and true."""
    return lambda gxe, tag: [
        gxe.ExpectColumnValuesToNotBeNull(column=column, **tag),
        gxe.ExpectColumnValuesToBeInSet(column=column, value_set=[True], **tag),
    ]


def at_most(column: str, limit_column: str) -> Callable[[Any, dict[str, Any]], list[Any]]:
    """The expectation that a number and the limit beside it in the row are known, and the number is not above."""
    return lambda gxe, tag: [
        gxe.ExpectColumnValuesToNotBeNull(column=column, **tag),
        gxe.ExpectColumnPairValuesAToBeGreaterThanB(
            column_A=limit_column, column_B=column, or_equal=True, ignore_row_if="either_value_is_missing", **tag
        ),
        gxe.ExpectColumnValuesToNotBeNull(column=limit_column, **tag),
    ]


def shown(value: Any) -> str | None:
    """A value as a verdict shows it; None stays unknown."""
    if value is None or value != value:  # NaN is how a data frame says unknown
        return None
    return f"{value:.6g}" if isinstance(value, float) else str(value)
