"""Result rows as the statistics see them: typed, None for unknown, and with what must agree before two are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchgate.analysis.measures import MEASURES, Measure
from benchgate.names import load_label

if TYPE_CHECKING:
    import pandas as pd

# Facts that make two numbers the same kind of number. Rows that differ in one of them are never compared.
IDENTITY = ("metric_definition", "client_name", "token_count_source", "simulated")
# What a workload of one name sent; a changed shape is another workload, whatever it is called.
SHAPE = ("dataset", "prompt_tokens_requested", "max_tokens", "endpoint", "requests")
# Where facts of a launch stand: start, KV pool. They are the same for all its cells and count once.
OF_THE_LAUNCH = "(launch)"
# Facts that explain a value or its absence.
OTHER_FACTS = ("kv_meaning", "client_version", "latency_verdict", "latency_reason", "warm_verdict")


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """One measured cell: arm x placement x workload x load x repeat of one run."""

    run: str
    arm: str
    placement: str  # host/placement
    workload: str
    users: int | None
    request_rate: float | None
    repeat: int
    values: Mapping[str, float | None]  # by measure name
    campaign: str = ""
    night: str = ""  # when the run started, UTC, ISO 8601
    end_state: str = "published"
    reason: str | None = None  # why it is not published
    facts: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)  # IDENTITY, SHAPE, kv_meaning
    fingerprint: Mapping[str, str | None] = field(default_factory=dict)  # what makes the arm that arm, by part
    completed: int | None = None
    errors: int | None = None

    @property
    def load(self) -> str:
        """``u64`` or ``q2.5``; ``all`` for facts of a launch."""
        return load_key(self.users, self.request_rate)

    def value(self, measure: Measure) -> float | None:
        """The value of ``measure``; None when unknown, or when its scale has no meaning (a ratio needs > 0)."""
        value = self.values.get(measure.name)
        if value is None or not math.isfinite(value) or (measure.effect == "ratio" and value <= 0):
            return None
        return value


def load_key(users: int | None, request_rate: float | None) -> str:
    """The load as a key: ``u64``, ``q2.5``, or ``all`` for facts of a launch."""
    return "all" if users is None and request_rate is None else load_label(users, request_rate)


def with_launches(cells: Iterable[MeasuredCell]) -> list[MeasuredCell]:
    """The cells, and one more for each launch of a run that carries what the launch itself is measured by."""
    rows = list(cells)
    launches: dict[tuple[str, str, str], MeasuredCell] = {}
    for cell in rows:
        key = (cell.run, cell.arm, cell.placement)
        if key not in launches or (cell.end_state == "published" and launches[key].end_state != "published"):
            launches[key] = replace(
                cell,
                workload=OF_THE_LAUNCH,
                users=None,
                request_rate=None,
                repeat=1,
                facts={name: value for name, value in cell.facts.items() if name not in SHAPE},
            )
    return [*rows, *launches.values()]


def measures_of(cell: MeasuredCell) -> tuple[Measure, ...]:
    """What a cell is measured by: its own metrics, or those of its launch."""
    kind = "launch" if cell.workload == OF_THE_LAUNCH else "cell"
    return tuple(measure for measure in MEASURES if measure.of == kind)


def known(value: Any) -> Any:
    """``value`` as plain Python; None for the many ways in which a data frame says unknown."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    return value.item() if hasattr(value, "item") else value


def _integer(value: Any) -> int | None:
    return None if value is None else int(value)


def from_frame(frame: pd.DataFrame) -> list[MeasuredCell]:
    """Rows of a result frame as cells.

    Columns: ``run arm host placement workload users request_rate repeat`` and the measures' columns; also used when
    there: ``campaign night end_state reason completed errors kv_meaning``, :data:`IDENTITY`, :data:`SHAPE`, and
    ``fp_*`` for the parts of the fingerprint. A column that is missing is unknown.
    """
    return [from_row({key: known(value) for key, value in row.items()}) for row in frame.to_dict("records")]


FACTS = (*IDENTITY, *SHAPE, *OTHER_FACTS)


def from_row(
    row: Mapping[Any, Any],
    fingerprint: Mapping[str, str | None] | None = None,
    seen: dict[tuple[Any, ...], dict[str, Any]] | None = None,
) -> MeasuredCell:
    """One row; see :func:`from_frame`.

    ``fingerprint`` stands in for the ``fp_*`` columns. ``seen`` lets rows with equal facts share them: a year of
    nights has a hundred thousand rows and a handful of different facts.
    """
    facts = tuple(row.get(name) for name in FACTS)
    if seen is None:
        shared = dict(zip(FACTS, facts, strict=True))
    elif (found := seen.get(facts)) is not None:
        shared = found
    else:
        shared = seen[facts] = dict(zip(FACTS, facts, strict=True))
    if fingerprint is None:
        fingerprint = {str(k)[3:]: row[k] for k in row if str(k).startswith("fp_")}
    host = row.get("host")
    placement = str(row["placement"])
    end_state = row.get("end_state")
    return MeasuredCell(
        run=str(row.get("run") or ""),
        campaign=str(row.get("campaign") or ""),
        night=str(row.get("night") or ""),
        arm=str(row["arm"]),
        placement=f"{host}/{placement}" if host else placement,
        workload=str(row["workload"]),
        users=_integer(row.get("users")),
        request_rate=row.get("request_rate"),
        repeat=int(row.get("repeat") or 1),
        values={measure.name: v for measure in MEASURES if (v := row.get(measure.name)) is not None},
        end_state=str(getattr(end_state, "value", end_state) or "published"),
        reason=row.get("reason"),
        facts=shared,
        fingerprint=fingerprint,
        completed=_integer(row.get("completed")),
        errors=_integer(row.get("errors")),
    )


def why_refused(cells: Iterable[MeasuredCell]) -> str:
    """Why gates refused these cells, in a few words: ``not warm (2 of 6 cells); needle_check (6 of 6 cells)``."""
    rows = list(cells)
    counts: dict[str, int] = {}
    for cell in rows:
        words = {part.split(":")[0].strip() for part in (cell.reason or "refused").split(";")}
        if cell.facts.get("warm_verdict") == "not_warm":
            words.add("not warm")
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    return "; ".join(f"{word} ({count} of {len(rows)} cells)" for word, count in sorted(counts.items()))


def refusals(cells: Iterable[MeasuredCell], measure: Measure) -> list[str]:
    """Why these cells cannot be compared, by name: each fact that differs, with its values. Empty when they can.

    An unknown value beside a known one is not a difference; it cannot be told.
    """
    names = [*IDENTITY, *SHAPE] if measure.of == "cell" else ["simulated"]  # no client measures a launch
    if measure.name == "kv_tokens":  # the only measure whose meaning hangs on how the engine counts its KV pool
        names.append("kv_meaning")
    rows = list(cells)
    problems = []
    for name in names:
        values = sorted({str(cell.facts.get(name)) for cell in rows if cell.facts.get(name) is not None})
        if len(values) > 1:
            problems.append(f"{name} differs: {' / '.join(values)}")
    return problems
