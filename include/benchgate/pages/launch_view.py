"""A launch as a person reads it: what ran, what its own log proved, which needles it found, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchgate.pages import task_ids
from benchgate.pages.reading import Row
from benchgate.pages.run_rows import RunRows
from benchgate.pages.words import iso


@dataclass(frozen=True)
class LogLine:
    """Words of the server, and where they stand in its log (from 1; None: an API said it)."""

    line: int | None
    text: str
    source: str = "log"


@dataclass(frozen=True)
class ProofLine:
    """A fact and the line that proves it."""

    name: str
    value: str
    evidence: LogLine


@dataclass(frozen=True)
class Needle:
    """One planted fact, asked back."""

    number: int
    depth: float
    context_tokens: int | None  # as the server counted them
    requested_context_tokens: int
    asked: str
    expected: str
    answered: str
    found: bool
    error: str | None
    duration_s: float | None


@dataclass(frozen=True)
class Refusal:
    """A gate's answer that did not let something through, or a warning."""

    subject: str
    subject_kind: str
    rule: str
    severity: str
    observed: str | None
    limit: str | None
    reason: str


@dataclass(frozen=True)
class Launch:
    """One launch of a run."""

    launch: str
    arm: str
    host: str
    placement: str
    state: str  # planned, starting, ready, failed or not_run
    expected: str | None
    facts: dict[str, Any]  # engine, image, model, kernel, memory ..: columns of the warehouse's launch table
    started_at: str | None
    ready_at: str | None
    stopped_at: str | None
    failure_kind: str | None
    failure_reason: str | None
    failure_line: LogLine | None
    needles_found: int | None
    needles_asked: int | None
    command: tuple[str, ...]
    proofs: tuple[ProofLine, ...]
    needles: tuple[Needle, ...]
    warnings: tuple[LogLine, ...]
    refusals: tuple[Refusal, ...]
    machine: dict[str, Any]  # what the host said about itself; unknown facts left out
    task: str  # the task whose log says most


FACTS = [
    "engine",
    "engine_version",
    "image",
    "image_digest",
    "image_previous_digest",
    "model_id",
    "model_revision",
    "vocab_sha256",
    "moe_kernel",
    "attention_backend",
    "kv_tokens",
    "kv_meaning",
    "weights_gib",
    "memory_reserved_gib",
    "startup_s",
    "exit_code",
    "exit_signal",
    "oom_killed",
    "gpu_memory_returned",
    "simulated",
    "fingerprint",
    "fingerprint_parts",
    "arguments",
    "environment",
    "environment_names",
    "attempt",
    "needle_context_tokens",
]


def launch_views(found: RunRows, *, alive: bool = False) -> list[Launch]:
    """Every launch of a run. ``alive``: the run goes on, so a launch that has no record yet is still to come."""
    machines = {row["launch_id"]: row for row in found.hosts}
    return [_view(found, row, machines.get(row["launch_id"]), alive) for row in found.launches]


def _view(found: RunRows, row: Row, machine: Row | None, alive: bool) -> Launch:
    mine = row["launch_id"]
    line = row["failure_line"]
    state = row["end_state"]
    if not found.loaded and alive and state == "not_run" and row["failure_kind"] is None:
        state = "planned"
    return Launch(
        launch=row["launch"],
        arm=row["arm"],
        host=row["host"],
        placement=row["placement"],
        state=state,
        expected=row["expected"],
        facts={name: row[name] for name in FACTS if row[name] is not None},
        started_at=iso(row["started_at"]),
        ready_at=iso(row["ready_at"]),
        stopped_at=iso(row["stopped_at"]),
        failure_kind=row["failure_kind"],
        failure_reason=row["failure_reason"],
        failure_line=None if line is None else LogLine(row["failure_line_number"], line),
        needles_found=row["needles_found"],
        needles_asked=row["needles_asked"],
        command=tuple(row["command"] or ()),
        proofs=tuple(_proof(proof) for proof in found.proofs if proof["launch_id"] == mine),
        needles=tuple(_needle(needle) for needle in found.needles if needle["launch_id"] == mine),
        warnings=tuple(_warning(warning) for warning in row["warnings"] or ()),
        refusals=refusals(v for v in found.verdicts if v["launch_id"] == mine and v["cell_id"] is None),
        machine={
            name: value for name, value in (machine or {}).items() if value is not None and name not in _NOT_SHOWN
        },
        task=task_ids.telling_task(row),
    )


_NOT_SHOWN = ("launch_id",)


def refusals(verdicts: Any) -> tuple[Refusal, ...]:
    """Rows of ``verdict`` that did not pass, critical ones first."""
    found = [
        Refusal(
            subject=row["subject"],
            subject_kind=row["subject_kind"],
            rule=row["rule"],
            severity=row["severity"],
            observed=row["observed"],
            limit=row["limit_value"],
            reason=row["reason"],
        )
        for row in verdicts
    ]
    return tuple(sorted(found, key=lambda refusal: (refusal.severity != "critical", refusal.subject, refusal.rule)))


def _proof(row: Row) -> ProofLine:
    evidence = LogLine(row["evidence_line_number"], row["evidence_line"], row["evidence_source"])
    return ProofLine(row["name"], row["value_text"], evidence)


def _needle(row: Row) -> Needle:
    error = None
    if row["error_kind"] or row["error_message"]:
        error = ": ".join(str(part) for part in (row["error_kind"], row["error_message"]) if part)
    return Needle(
        number=row["needle"],
        depth=row["depth"],
        context_tokens=row["context_tokens"],
        requested_context_tokens=row["requested_context_tokens"],
        asked=row["asked"],
        expected=row["expected"],
        answered=row["answered"],
        found=row["found"],
        error=error,
        duration_s=row["duration_s"],
    )


def _warning(value: Any) -> LogLine:
    if not isinstance(value, dict):
        return LogLine(None, str(value))
    return LogLine(value.get("line"), str(value.get("text", "")), str(value.get("source", "log")))
