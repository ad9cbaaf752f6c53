"""What is counted, and that nothing is counted twice."""

from __future__ import annotations

import re
from pathlib import Path

import airflow
import pytest
import yaml

from benchgate.airflow import metrics
from benchgate.airflow.metrics import Sample, count_finished, count_run, samples_of_housekeeping, samples_of_run
from benchgate.analysis.findings import RegressionFinding
from benchgate.records import CellOutcome, EndState, Failure, FailureKind, GateResult, Verdict
from benchgate.steps.context import CampaignRun
from benchgate.steps.ending import Finished
from benchgate.steps.leftovers import LEFT_ALONE
from tests.support.runs import all_published, campaign, failed_launch, launch_record, ledger_of, run_record

ROOT = Path(__file__).resolve().parents[3]


def refused(rule: str, severity: str = "critical", passed: bool = False) -> Verdict:
    return Verdict(
        subject="cell",
        subject_kind="cell",
        rule=rule,
        passed=passed,
        observed="1",
        limit="0",
        reason="why",
        severity=severity,
    )


def test_a_run_counts_its_state_its_cells_its_failed_launches_and_its_refusals() -> None:
    spec = campaign()
    ledger = ledger_of(spec)
    states = [EndState.PUBLISHED] * 6 + [EndState.UNPUBLISHABLE] * 2 + [EndState.NOT_RUN] * 4
    gates = GateResult(
        verdicts=[
            refused("error_rate"),
            refused("error_rate"),
            refused("noise", "warning"),
            refused("needle", passed=True),
        ],
        quarantine=[],
        outcomes=[CellOutcome(cell=c.cell, state=s, reason=None) for c, s in zip(ledger.cells, states, strict=True)],
    )
    held = failed_launch(ledger.launches[1]).model_copy(
        update={"failure": Failure(kind=FailureKind.LEASE_HELD, reason="held")}
    )

    died = launch_record(ledger.launches[0]).model_copy(
        update={"failure": Failure(kind=FailureKind.HOST_OOM, reason="the host ran out of memory")}
    )

    samples = samples_of_run(run_record(spec, state="failed"), gates, [died, held])

    assert {sample.name: sample.value for sample in samples} == {
        "run.failed": 1,
        "cell.published": 6,
        "cell.unpublishable": 2,
        "cell.not_run": 4,
        "launch_failed.lease_held": 1,
        "server_died.host_oom": 1,
        "lease_held": 1,
        "gate_refused.error_rate": 2,
        "run.published_share": 0.5,
    }
    assert {sample.campaign for sample in samples} == {"kernels"}


def test_regressions_are_counted_new_once_and_open_as_long_as_they_stand() -> None:
    def finding(answer: str, new: bool) -> RegressionFinding:
        fields = dict.fromkeys(RegressionFinding.__dataclass_fields__)
        return RegressionFinding(**{**fields, "answer": answer, "new_tonight": new})  # type: ignore[arg-type]

    findings = [
        finding("REGRESSED", True),
        finding("REGRESSED", False),
        finding("IMPROVED", True),
        finding("PASS", False),
    ]

    samples = {sample.name: sample.value for sample in metrics.samples_of_regressions("kernels", findings)}

    assert samples == {"regression.new": 1, "regression.open": 2}
    assert metrics.samples_of_regressions("kernels", []) == [Sample("regression.open", 0, "gauge", "kernels")]


def test_a_host_that_is_away_is_not_a_thing_that_was_removed() -> None:
    left = f"a{LEFT_ALONE}server z"
    said = ["a: container x", "b: could not look: host b does not answer", "a: volume y", left]

    assert samples_of_housekeeping(said) == [
        Sample("housekeeping.removed", 2),
        Sample("housekeeping.hosts_away", 1, "gauge"),
    ]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Sample]:
    """What was handed to Airflow's client."""
    taken: list[Sample] = []
    monkeypatch.setattr(metrics, "send", taken.extend)
    return taken


def planned(key: str = "kernels.night-1") -> CampaignRun:
    spec = campaign()
    run = CampaignRun(key)
    ledger = ledger_of(spec, key)
    run.store.write(run.store.path("run.json"), run_record(spec, key))
    run.store.write(run.store.path("ledger.json"), ledger)
    run.store.write(run.store.path("gates.json"), all_published(ledger))
    return run


def test_a_run_that_is_loaded_again_is_not_counted_again(benchgate_home: Path, sent: list[Sample]) -> None:
    planned()

    assert count_run(CampaignRun("kernels.night-1"))
    assert not count_run(CampaignRun("kernels.night-1"))

    assert [sample.value for sample in sent if sample.name == "cell.published"] == [12]


def test_runs_that_housekeeping_finished_are_counted(benchgate_home: Path, sent: list[Sample]) -> None:
    planned("kernels.night-2")

    count_finished(
        [
            Finished("kernels.night-2", "run kernels.night-2 finished and loaded: it was killed", loaded=True),
            Finished("x", "run x cannot be finished: why", failed=True),
        ]
    )

    assert [sample.name for sample in sent if sample.name.startswith("run.")] == ["run.success", "run.published_share"]


def test_every_metric_stands_in_the_operators_page_with_its_meaning() -> None:
    page = (ROOT / "docs" / "operator.md").read_text()
    rows = re.findall(r"^\| `benchgate\.([^`]+)` \| (counter|gauge) \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE)

    assert {name: (kind, meaning.strip()) for name, kind, meaning in rows} == metrics.METRICS


def test_airflows_own_metrics_in_that_page_are_those_of_this_airflow() -> None:
    template = Path(airflow.__file__).parent / "_shared" / "observability" / "metrics" / "metrics_template.yaml"
    known = {metric["name"] for metric in yaml.safe_load(template.read_text())["metrics"]}
    page = (ROOT / "docs" / "operator.md").read_text()
    named = re.findall(r"`airflow\.([a-z_.]+)`", page)

    assert len(named) >= 9
    assert set(named) <= known
