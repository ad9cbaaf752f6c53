"""What Benchgate counts, sent by the very client that Airflow emits its own metrics with: StatsD or OpenTelemetry.

Which one, and where to, is Airflow's ``[metrics]`` section; with neither on, nothing is sent. The metrics, and what to
do about each, are in docs/operator.md; a test keeps the two equal. Sending never fails a task: a night's numbers are
worth more than their counters.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchgate.artifacts import RunStore
from benchgate.records import EndState, GateResult, LaunchRecord, RunRecord
from benchgate.steps.context import CampaignRun
from benchgate.steps.ending import Finished
from benchgate.steps.leftovers import AWAY, is_removal

if TYPE_CHECKING:
    from benchgate.analysis.findings import RegressionFinding

log = logging.getLogger("benchgate")
PREFIX = "benchgate."

# name -> (kind, meaning). The last part in <> takes one of a closed set of values.
METRICS = {
    "run.<state>": ("counter", "campaign runs that ended as success, failed or nothing_new"),
    "cell.<end_state>": ("counter", "cells that ended as published, unpublishable, failed or not_run"),
    "launch_failed.<kind>": ("counter", "launches that never became ready, or whose run was killed, by failure kind"),
    "server_died.<kind>": ("counter", "servers that ended while their run went on, by failure kind"),
    "lease_held": ("counter", "launches refused because another one holds their placement"),
    "gate_refused.<rule>": ("counter", "answers of a critical gate that refused a launch or a cell"),
    "run.published_share": ("gauge", "share of the cells of a campaign's newest run that were published, 0 to 1"),
    "regression.new": ("counter", "series that regressed in this night and not in the one before"),
    "regression.open": ("gauge", "series of a campaign that stand as regressed"),
    "housekeeping.removed": ("counter", "things that runs which are over had left on hosts, and are gone now"),
    "housekeeping.hosts_away": ("gauge", "hosts that housekeeping could not look at"),
}


@dataclass(frozen=True)
class Sample:
    """One thing to send. ``name`` is without the prefix; tags reach OpenTelemetry, and StatsD in InfluxDB's form."""

    name: str
    value: float
    kind: str = "counter"
    campaign: str | None = None


def samples_of_run(record: RunRecord, gates: GateResult, launches: Iterable[LaunchRecord]) -> list[Sample]:
    """What one campaign run adds to the counters."""
    campaign = record.campaign
    counts: Counter[str] = Counter({f"run.{record.state}": 1})
    counts.update(f"cell.{outcome.state.value}" for outcome in gates.outcomes)
    for launch in launches:
        if launch.failure is not None:
            what = "server_died" if launch.end_state == "ready" else "launch_failed"
            counts[f"{what}.{launch.failure.kind.value}"] += 1
            counts["lease_held"] += launch.failure.kind.value == "lease_held"
    for verdict in gates.verdicts:
        counts[f"gate_refused.{verdict.rule}"] += not verdict.passed and verdict.severity == "critical"
    samples = [Sample(name, count, campaign=campaign) for name, count in sorted(counts.items()) if count]
    if gates.outcomes:
        published = sum(outcome.state is EndState.PUBLISHED for outcome in gates.outcomes)
        share = published / len(gates.outcomes)
        samples.append(Sample("run.published_share", share, "gauge", campaign))
    return samples


def samples_of_regressions(campaign: str, findings: Iterable[RegressionFinding]) -> list[Sample]:
    """What one night's judgement of a campaign's series adds."""
    from benchgate.analysis.findings import REGRESSED

    regressed = [finding for finding in findings if finding.answer == REGRESSED]
    new = sum(finding.new_tonight for finding in regressed)
    return [
        *([Sample("regression.new", new, campaign=campaign)] if new else []),
        Sample("regression.open", len(regressed), "gauge", campaign),
    ]


def samples_of_housekeeping(said: Iterable[str]) -> list[Sample]:
    """What a look at the hosts adds; ``said`` are the lines of ``steps.leftovers.remove_leftovers``."""
    lines = list(said)
    away = sum(AWAY in line for line in lines)
    removed = sum(map(is_removal, lines))
    return [
        *([Sample("housekeeping.removed", removed)] if removed else []),
        Sample("housekeeping.hosts_away", away, "gauge"),
    ]


def count_run(run: CampaignRun) -> bool:
    """Send what a run adds, once; False when it was counted already or was not judged."""
    gates = run.store.read(run.store.path("gates.json"), GateResult)
    if gates is None:
        return False
    launches = [run.launch_record(planned.launch) for planned in run.ledger.launches]
    return _once(
        run.store,
        "run",
        lambda: samples_of_run(run.record, gates, [launch for launch in launches if launch is not None]),
    )


def count_finished(finished: Iterable[Finished]) -> None:
    """Send what the runs add that housekeeping has finished and loaded."""
    for one in finished:
        if one.loaded:
            count_run(CampaignRun(one.run))


def count_regressions(run: str, url: str | None = None) -> bool:
    """Send what was judged about the series of a reported run, once."""
    from benchgate.analysis.read import read_regressions, read_run
    from benchgate.warehouse.connect import open_warehouse, reading

    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            facts = read_run(connection, run)
            findings = read_regressions(connection, facts)
    finally:
        engine.dispose()
    return _once(RunStore(run), "regressions", lambda: samples_of_regressions(facts.campaign, findings))


def _once(store: RunStore, what: str, samples: Callable[[], list[Sample]]) -> bool:
    """A run that is loaded or reported again is not counted again."""
    marker = store.path("counted", f"{what}.json")
    if store.exists(marker):
        return False
    made = samples()
    store.write_json(marker, {sample.name: sample.value for sample in made})
    send(made)
    return True


def send(samples: Iterable[Sample]) -> None:
    """Hand samples to Airflow's client. What goes wrong is a warning in the task's log."""
    from airflow.sdk.observability import stats

    try:
        for sample in samples:
            tags = {"campaign": sample.campaign} if sample.campaign else None
            if sample.kind == "gauge":
                stats.gauge(PREFIX + sample.name, sample.value, tags=tags)
            else:
                stats.incr(PREFIX + sample.name, int(sample.value), tags=tags)
        _flush()
    except Exception as error:  # noqa: BLE001 - a collector that is away must not fail a campaign
        log.warning("metrics could not be sent: %s", error)


def _flush() -> None:
    """OpenTelemetry exports once in a while, and a task's process may be gone by then."""
    from airflow.sdk.configuration import conf

    if not conf.getboolean("metrics", "otel_on", fallback=False):
        return
    from opentelemetry import metrics

    force_flush = getattr(metrics.get_meter_provider(), "force_flush", None)
    if force_flush is not None:
        force_flush(timeout_millis=5_000)
