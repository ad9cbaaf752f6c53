"""Step ``report``: findings back into the warehouse, the report and its companions into the run's artifacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchgate.artifacts import RunStore
from benchgate.errors import SpecError
from benchgate.spec.load import campaign_of
from benchgate.steps.client_args import bench_args

if TYPE_CHECKING:
    from benchgate.analysis.findings_of_run import RunFindings
    from benchgate.report.model import LedgerRow, RunReport
    from benchgate.spec.campaign import CampaignSpec


def report_run(run: str, url: str | None = None, *, store: RunStore | None = None) -> str:
    """Analyse a loaded run, write the findings, ``report.html``, ``report.md`` and ``reproduce.md``; says what it did.

    What the sources state is brought up to date first. Doing it again replaces all of it.

    Raises:
        SpecError: ``sources.yaml`` has mistakes.
        WarehouseError: the run is not in the warehouse, or there is no usable warehouse.
    """
    from benchgate.report.html import render
    from benchgate.report.load import report_of
    from benchgate.report.markdown import to_markdown
    from benchgate.report.reproduce import to_reproduce

    findings = write_findings(run, url)
    made = report_of(findings, url)
    store = store or RunStore(run)
    store.write_text(store.path("report.html"), render(made))
    store.write_text(store.path("report.md"), to_markdown(made))
    store.write_text(store.path("reproduce.md"), to_reproduce(made, client_commands(made)))
    return (
        f"{len(findings.comparisons)} comparisons, {len(findings.reversals)} reversals, "
        f"{len(findings.regressions)} series judged; {store.path('report.html')}"
    )


def write_findings(run: str, url: str | None = None) -> RunFindings:
    """Bring the sources' values up to date, analyse a run, and write what was found into the warehouse.

    Raises:
        SpecError: ``sources.yaml`` has mistakes.
        WarehouseError: the run is not in the warehouse, or there is no usable warehouse.
    """
    from benchgate.analysis.findings_of_run import find_and_write

    load_sources_into_warehouse(url)
    return find_and_write(run, url)


def nightly_message(runs: Sequence[str], url: str | None = None) -> str | None:
    """The one message about these runs, from the findings that :func:`report_run` wrote; None when nothing moved.

    Raises:
        WarehouseError: a run is not in the warehouse, or there is no usable warehouse.
    """
    from benchgate.analysis.alert import nightly_alert
    from benchgate.analysis.read import read_regressions, read_run
    from benchgate.warehouse.connect import open_warehouse, reading

    bodies = []
    engine = open_warehouse(url)
    try:
        with reading(engine) as connection:
            for run in runs:
                facts = read_run(connection, run)
                alert = nightly_alert(facts.campaign, facts.started_at, read_regressions(connection, facts))
                if alert is not None:
                    bodies.append(alert.body)
    finally:
        engine.dispose()
    return "\n\n".join(bodies) or None


def load_sources_into_warehouse(url: str | None = None) -> int:
    """Put what ``sources.yaml`` states into the warehouse; gives the number of values (0 without such a file).

    Raises:
        SpecError: the file has mistakes.
    """
    from benchgate import settings
    from benchgate.analysis.write import write_sources
    from benchgate.spec.load import load_sources

    path = settings.include_dir() / "sources.yaml"
    return write_sources(load_sources(path), url) if path.exists() else 0


def client_commands(made: RunReport) -> Mapping[str, Sequence[str]]:
    """Cell key -> arguments of the load generator that measured it; empty without a readable campaign file."""
    try:
        spec = campaign_of(made.header.campaign_yaml)
    except SpecError:
        return {}
    files = {seed.name: seed.path for seed in made.seeds if seed.kind == "dataset" and seed.path}
    return {row.cell: _arguments(spec, row, files) for row in made.ledger if row.workload in spec.workloads}


def _arguments(spec: CampaignSpec, row: LedgerRow, files: Mapping[str, str]) -> list[str]:
    from benchgate.names import launch_key
    from benchgate.records import PlannedCell

    workload = spec.workloads[row.workload]
    known = row.arm in spec.arms
    model, gates = (spec.model_of(row.arm), spec.gates_of(row.arm)) if known else (spec.model, spec.gates)
    cell = PlannedCell(
        cell=row.cell,
        launch=launch_key(row.arm, row.host, row.placement),
        arm=row.arm,
        host=row.host,
        placement=row.placement,
        workload=row.workload,
        users=row.users,
        request_rate=row.request_rate,
        repeat=row.repeat,
    )
    args = bench_args(
        workload,
        cell,
        base_url="http://SERVER",
        model=model.id,
        dataset=files.get(workload.dataset, workload.dataset),
        tokenizer=model.tokenizer,
    )
    args = args[: args.index("--progress")]
    args += ["--max-tokens-per-event", f"{gates.max_tokens_per_event:g}"]
    return [*args, "--min-latency-samples", str(gates.min_latency_samples)]
