"""Campaign files into DAGs, laid out statically: the grid reads like the campaign, a cell has a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, BaseOperator, TaskGroup, TriggerRule, get_parsing_context

from benchgate import settings
from benchgate.airflow.assets import WAREHOUSE
from benchgate.airflow.broken import BrokenCampaigns
from benchgate.airflow.docs import TASK_NOTES, campaign_doc
from benchgate.airflow.operators import StepOperator
from benchgate.airflow.params import campaign_params
from benchgate.errors import SpecError, SpecProblem
from benchgate.names import launch_group, load_label, measure_task, slug
from benchgate.plan import build_ledger, launch_order, measuring_order
from benchgate.records import Ledger, PlannedLaunch
from benchgate.spec.campaign import CampaignSpec
from benchgate.spec.hosts import HostSpec, Inventory
from benchgate.spec.load import load_campaign, load_inventory

_START = datetime(2026, 1, 1, tzinfo=timezone.utc)
# Steps that change nothing when they are done again outlive what comes back by itself: a database or a host that
# restarts, a full disk that is cleared, a worker that is killed.
_OUTLIVES = {"retries": 4, "retry_delay": timedelta(seconds=30)}
_MARGIN_S = 600.0  # what a step may take beyond the limits that the campaign gives it


def campaign_dags(folder: Path | None = None) -> dict[str, DAG]:
    """A DAG for every campaign file in ``folder``, and one stand-in that reports the broken ones.

    A task that is about to run needs its own DAG only, and says which: where the file of that name holds it, the others
    are not read.
    """
    try:
        inventory = load_inventory(settings.hosts_file())
    except SpecError as error:
        return {"benchgate_broken_campaigns": BrokenCampaigns(error.problems)}
    paths = sorted((folder or settings.campaigns_dir()).glob("*.yaml"))
    asked = get_parsing_context().dag_id
    if asked:
        dags = _dags_of([path for path in paths if path.stem == asked], inventory)
        if asked in dags:
            return {asked: dags[asked]}
    return _dags_of(paths, inventory)


def _dags_of(paths: Sequence[Path], inventory: Inventory) -> dict[str, DAG]:
    dags: dict[str, DAG] = {}
    problems: list[SpecProblem] = []
    for path in paths:
        try:
            campaign = load_campaign(path, inventory)
            if campaign.campaign in dags:
                raise SpecError(
                    [SpecProblem(str(path), None, "campaign", f"{campaign.campaign} is the name of another file too")]
                )
            dags[campaign.campaign] = build_dag(campaign, inventory, path)
        except SpecError as error:
            problems += error.problems
        except Exception as error:  # noqa: BLE001  one campaign must never hide the others
            problems.append(SpecProblem(str(path), None, "", f"{type(error).__name__}: {error}"))
    if problems:
        dags["benchgate_broken_campaigns"] = BrokenCampaigns(problems)
    return dags


def build_dag(campaign: CampaignSpec, inventory: Inventory, path: Path) -> DAG:
    """The DAG of one campaign: plan, seed each host, each launch in its lane, publish.

    Its run ends as its ``verdict`` does: whatever failed on the way there was expected by the campaign, or was not.
    """
    dag = DAG(
        dag_id=campaign.campaign,
        schedule=campaign.schedule,
        start_date=_START,
        catchup=False,
        max_active_runs=1,  # two runs of one campaign would only wait for each other's leases
        params=campaign_params(campaign),
        tags=sorted({"benchgate", "campaign", campaign.engine, *campaign.tags}),
        description=campaign.description.strip().split("\n")[0] or None,
        doc_md=campaign_doc(campaign),
        default_args={"owner": "benchgate", "retries": 0},
        render_template_as_native_obj=False,
    )
    ledger = build_ledger(campaign, "planned", _START.isoformat())
    with dag:
        make = _maker(path)
        plan = make("plan", "plan", **_OUTLIVES)
        seeded = _seed_groups(campaign, inventory, ledger, make, plan)
        ends = _lanes(campaign, inventory, ledger, make, seeded)
        with TaskGroup("publish", prefix_group_id=False, tooltip="What holds goes into the warehouse"):
            validate = make("validate", "validate", trigger_rule=TriggerRule.ALL_DONE, **_OUTLIVES)
            load = make("load", "load", outlets=[WAREHOUSE], **_OUTLIVES)
            verdict = make("verdict", "verdict")
            # a teardown that counts: whoever marks the run as failed or success in Airflow skips every task but those,
            # and a run of skipped tasks would end as a success
            verdict.as_teardown(on_failure_fail_dagrun=True)
        plan >> validate
        ends >> validate >> load >> verdict
    return dag


Make = Callable[..., BaseOperator]


def _maker(path: Path) -> Make:
    """How tasks of a campaign file are made.

    With ``container_on``, a placement and its Docker host, the task measures in a container: it is one of the Docker
    provider, whose import only campaigns on such hosts pay for.
    """

    def make(
        task_id: str, step: str, *, container_on: tuple[str, HostSpec] | None = None, **kwargs: Any
    ) -> BaseOperator:
        common = {"task_id": task_id, "campaign_file": str(path), "doc_md": TASK_NOTES[step], **kwargs}
        if container_on is None:
            return StepOperator(step=step, **common)
        from benchgate.airflow.measure_in_container import MeasureInContainer

        placement, spec = container_on
        return MeasureInContainer(placement=placement, spec=spec, **common)

    return make


def _seed_groups(
    campaign: CampaignSpec, inventory: Inventory, ledger: Ledger, make: Make, plan: BaseOperator
) -> dict[str, BaseOperator]:
    """Per host: image, vocabularies, model, datasets, one after another. Gives the last task of each host."""
    last = {}
    for host in dict.fromkeys(launch.host for launch in ledger.launches):
        spec = inventory.hosts[host]
        common = {"host": host, "queue": spec.queue} if spec.queue else {"host": host}
        steps = ["seed_model", "seed_dataset"]
        if any(campaign.model_of(launch.arm).vocab for launch in ledger.launches if launch.host == host):
            steps.insert(0, "seed_vocab")
        if spec.kind == "docker":
            steps.insert(0, "pull_image")
        with TaskGroup(f"seed_{slug(host)}", tooltip=f"What servers on {host} need, verified by digest"):
            tasks: list[BaseOperator] = [
                make(step, step, retries=2, retry_delay=timedelta(seconds=30), **common) for step in steps
            ]
            if campaign.approvals.changed_image and spec.kind == "docker":
                from benchgate.airflow.approvals import ChangedImageApproval  # only campaigns that ask pay its import

                tasks.insert(1, ChangedImageApproval(task_id="approve_changed_image", host=host))
        previous: BaseOperator = plan
        for task in tasks:
            previous >> task
            previous = task
        last[host] = tasks[-1]
    return last


def _lanes(
    campaign: CampaignSpec, inventory: Inventory, ledger: Ledger, make: Make, seeded: dict[str, BaseOperator]
) -> list[BaseOperator]:
    """Launches of one placement follow each other; lanes run at the same time. Gives what publishing waits for."""
    launches = {launch.launch: launch for launch in ledger.launches}
    ends = []
    for lane in launch_order(ledger, inventory):
        before: BaseOperator | None = None
        for key in lane.launches:
            first, last, stop = _launch_group(campaign, inventory, ledger, launches[key], make)
            seeded[launches[key].host] >> first
            if before is not None:
                before >> first
            before = stop
            # Airflow does not count teardowns when it looks for the tasks that decide how a run ends: the task before
            # one would be such, and that of a launch that is refused before its start is always upstream_failed
            ends += [last, stop]
    return ends


def _launch_group(
    campaign: CampaignSpec, inventory: Inventory, ledger: Ledger, launch: PlannedLaunch, make: Make
) -> tuple[BaseOperator, BaseOperator, BaseOperator]:
    """The tasks of one launch. Gives its first task, its last one before the teardown, and the teardown."""
    limits = campaign.limits
    spec = inventory.hosts[launch.host]
    common: dict[str, object] = {"launch": launch.launch, **({"queue": spec.queue} if spec.queue else {})}
    group_id = launch_group(launch.arm, launch.host, launch.placement)
    note = campaign.arms[launch.arm].note
    with TaskGroup(
        group_id, tooltip=f"{launch.arm} @ {launch.host}/{launch.placement}" + (f": {note}" if note else "")
    ):
        # ALL_DONE: a seed or an earlier launch that failed is this launch's reason, told in its own record
        preflight = make("preflight", "preflight", trigger_rule=TriggerRule.ALL_DONE, **common)
        start = make("start_server", "start_server", **common)
        ready = make("wait_ready", "wait_ready", execution_timeout=_seconds(limits.start_seconds), **common)
        prove = make("prove_kernel", "prove_kernel", **common)
        needle = make("needle_check", "needle_check", **common)
        preflight >> start >> ready >> prove >> needle
        previous = needle
        for cell in measuring_order(cell for cell in ledger.cells if cell.launch == launch.launch):
            workload = campaign.workloads[cell.workload]
            task = make(
                measure_task(cell.workload, load_label(cell.users, cell.request_rate), cell.repeat),
                "measure",
                cell=cell.cell,
                container_on=(f"{launch.host}/{launch.placement}", spec) if spec.kind == "docker" else None,
                # a cell that failed does not stop the next one; a launch that may not be measured skips them all
                trigger_rule=TriggerRule.ALL_DONE,
                # warm-up and window, and all of it twice: a cell that was not warm is measured once more
                execution_timeout=_seconds(2 * (2 * workload.max_seconds + workload.ramp_seconds)),
                **common,
            )
            previous >> task
            previous = task
        stop = make("stop_server", "stop_server", **_OUTLIVES, **common)
        previous >> stop.as_teardown(setups=start)
    return preflight, previous, stop


def _seconds(limit: float) -> timedelta:
    return timedelta(seconds=limit + _MARGIN_S)
