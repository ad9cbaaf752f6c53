"""All gates of a run: tables, Great Expectations, verdicts, quarantine and the end state of every planned cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchgate.gates.expectations import SuiteAnswer, Validator, refuse_all
from benchgate.gates.outcome import decide_outcomes
from benchgate.gates.rule import Row
from benchgate.gates.suites import CELL, LAUNCH, NEEDLE_CHECK, Suite
from benchgate.gates.tables import cell_rows, launch_rows, needle_rows, was_up
from benchgate.records import CellRecord, GateResult, LaunchRecord, Ledger, QuarantineRow, Verdict
from benchgate.spec.campaign import CampaignSpec

VALIDATION_FILE = "validation.json"
DOCS_FOLDER = "docs"  # its index.html is where to begin reading


def run_gates(
    campaign: CampaignSpec,
    ledger: Ledger,
    launches: Iterable[LaunchRecord],
    cells: Iterable[CellRecord],
    *,
    report_dir: Path | None = None,
    not_started: str | None = None,
) -> GateResult:
    """Judge a whole run. Takes seconds for the import of Great Expectations, so once a run, never at DAG parse time.

    Args:
        campaign: gates, proofs and expectations of every arm.
        ledger: what was planned.
        launches: what became of the launches; absent ones were never tried.
        cells: what was measured; absent ones left nothing.
        report_dir: where the whole validation result (``validation.json``) and the readable Data Docs
            (``docs/index.html``) are written; None writes none.
        not_started: why launches were never tried, when the whole run knows (nothing new to measure).

    Returns:
        A verdict of every rule about every ready launch and measured cell, the refused rows whole, and exactly one
        end state for every cell of the ledger. What could not be evaluated is refused, with the reason.
    """
    records, results = list(launches), list(cells)
    ready = [launch for launch in records if was_up(launch)]
    work: list[tuple[Suite, list[dict[str, Any]]]] = [
        (LAUNCH, launch_rows(campaign, ready)),
        (NEEDLE_CHECK, needle_rows(campaign, ready)),
        (CELL, cell_rows(campaign, ledger, [cell for cell in results if cell.state == "measured"])),
    ]
    answers, version = _ask(work, report_dir)
    verdicts = [verdict for answer in answers for verdict in _verdicts(answer)]
    return GateResult(
        verdicts=verdicts,
        quarantine=[row for answer in answers for row in _quarantine(answer)],
        outcomes=decide_outcomes(
            ledger,
            {launch.launch: launch for launch in records},
            {cell.cell: cell for cell in results},
            verdicts,
            not_started=not_started,
        ),
        gx_version=version,
    )


def _ask(
    work: Sequence[tuple[Suite, list[dict[str, Any]]]], report_dir: Path | None
) -> tuple[list[SuiteAnswer], str | None]:
    if not any(rows for _, rows in work) and report_dir is None:
        return [SuiteAnswer(suite, rows, {}) for suite, rows in work], None  # nothing to judge, nothing to keep
    try:
        validator = Validator(report_dir / DOCS_FOLDER if report_dir else None)
    except Exception as error:  # noqa: BLE001  a gate that cannot start refuses everything
        why = f"Great Expectations could not start: {type(error).__name__}: {error}"
        version: str | None = None
        answers = [refuse_all(suite, rows, why) for suite, rows in work]
    else:
        version = validator.version
        answers = [validator.validate(suite, rows) for suite, rows in work]
        validator.build_docs()
    if report_dir is not None:
        report_dir.mkdir(parents=True, exist_ok=True)
        report: dict[str, Any] = {
            "great_expectations": version,
            **{answer.suite.name: answer.validation for answer in answers},
        }
        (report_dir / VALIDATION_FILE).write_text(json.dumps(report, indent=1))
    return answers, version


def _verdicts(answer: SuiteAnswer) -> Iterable[Verdict]:
    """One verdict a rule and subject. Two rows of one subject (a cell measured twice) share the worse one."""
    suite = answer.suite
    for rule in suite.rules:
        by_subject: dict[str, tuple[Row, bool]] = {}
        for position, row in enumerate(answer.rows):
            passed = position not in answer.refused[rule.name]
            subject = str(row[suite.key])
            if subject not in by_subject or by_subject[subject][1]:
                by_subject[subject] = (row, passed)
        for subject, (row, passed) in by_subject.items():
            broken = answer.broken.get(rule.name)
            yield Verdict(
                subject=subject,
                subject_kind=suite.name,
                rule=rule.name,
                passed=passed,
                observed=None if broken else rule.observed(row),
                limit=rule.limit(row),
                reason=rule.asks if passed else broken or rule.reason(row),
                severity=rule.severity,
            )


def _quarantine(answer: SuiteAnswer) -> Iterable[QuarantineRow]:
    for position, row in enumerate(answer.rows):
        refusing = [
            rule for rule in answer.suite.rules if rule.severity == "critical" and position in answer.refused[rule.name]
        ]
        if refusing:
            yield QuarantineRow(
                subject=str(row[answer.suite.key]),
                subject_kind=answer.suite.name,
                rules=[rule.name for rule in refusing],
                reason="; ".join(dict.fromkeys(answer.broken.get(rule.name) or rule.reason(row) for rule in refusing)),
                row=dict(row),
            )
