"""What each task does: find its run, call the step, turn its errors into what Airflow understands."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from benchgate.errors import ArtifactError, BenchgateError, DamagedArtifact, HostError, SeedError, WarehouseError
from benchgate.names import launch_group, run_key
from benchgate.steps.context import CampaignRun

if TYPE_CHECKING:
    from airflow.sdk import Context

    from benchgate.airflow.operators import StepTask
    from benchgate.records import SeedFact

log = logging.getLogger("benchgate")


def run(task: StepTask, context: Context) -> Any:
    """Run the task's step. A user's mistake or a failed launch fails the task at once, without a retry.

    Raises:
        AirflowFailException: what a retry cannot mend, with the message of the step.
        AirflowSkipException: the run was not asked for this launch, or has nothing new to measure.
    """
    from benchgate.airflow.docker_connections import install

    install()
    step = _STEPS[task.step]
    try:
        return step(task, context)
    except BenchgateError as error:
        if may_pass(task.step, error):
            raise  # retried
        raise AirflowFailException(str(error)) from None


def may_pass(step: str, error: BenchgateError) -> bool:
    """Whether a retry of ``step`` may find what this attempt missed.

    A registry or a hub may answer next time. What can be done twice without harm (planning, publishing, stopping a
    server) waits for a host, a database or a disk; a server is never started and a cell never measured a second time.
    """
    if step.startswith(("seed_", "pull_")):
        return True
    passing = isinstance(error, (HostError, ArtifactError, WarehouseError)) and not isinstance(error, DamagedArtifact)
    return step in ("plan", "validate", "load", "stop_server") and passing


def on_kill(task: StepTask) -> None:
    """End what the task itself runs beside the server."""
    if task.step != "measure" or task.launch is None or task.run_key is None:
        return
    from benchgate.steps.launching import handle_of

    campaign_run = CampaignRun(task.run_key)
    handle = handle_of(campaign_run, task.launch)
    if handle is not None:
        kill_client = getattr(campaign_run.host(handle.host), "kill_client", None)
        if kill_client is not None:  # a process host's client dies with its task by itself
            kill_client(handle)


def _say(text: str) -> None:
    log.info(text)


def _run_of(task: StepTask, context: Context) -> CampaignRun:
    """The planned run that the task belongs to; skips when there is nothing (new) to do for this task."""
    key = run_key(context["dag"].dag_id, context["run_id"])
    task.run_key = key
    campaign_run = CampaignRun(key)
    if campaign_run.record.state == "nothing_new" and task.step not in ("validate", "load", "verdict"):
        raise AirflowSkipException(campaign_run.record.nothing_new_reason or "nothing new to measure")
    if task.launch and all(launch.launch != task.launch for launch in campaign_run.ledger.launches):
        raise AirflowSkipException(f"{task.launch} was not asked for in this run")
    if task.cell and all(cell.cell != task.cell for cell in campaign_run.ledger.cells):
        raise AirflowSkipException(f"{task.cell} was not asked for in this run")
    if task.launch:
        _mask_secrets(campaign_run)
    return campaign_run


def _mask_secrets(campaign_run: CampaignRun) -> None:
    """Every task that copies words of a server must know what to mask: each is a process of its own.

    A secret that nobody defines any more fails the task that hands it to the server, and no other.
    """
    from benchgate.airflow.secrets import secret_values

    for name in campaign_run.campaign.secrets:
        try:
            secret_values([name])
        except SeedError:
            continue


def _plan(task: StepTask, context: Context) -> str:
    from benchgate.steps.planning import plan_run

    campaign_run = plan_run(Path(task.campaign_file), context["run_id"], dict(context["params"]))
    ledger = campaign_run.ledger
    _say(f"{campaign_run.run}: {len(ledger.launches)} launches, {len(ledger.cells)} cells")
    return campaign_run.run


@contextmanager
def _seeding(task: StepTask, context: Context) -> Iterator[tuple[CampaignRun, str]]:
    """The run and the host that a seed task works for. How it fails is kept for the launches on that host."""
    from benchgate.steps.seed_failures import failure_kept

    campaign_run, host = _run_of(task, context), str(task.host)
    with failure_kept(campaign_run, host, task.step):
        yield campaign_run, host


def _pull_image(task: StepTask, context: Context) -> Any:
    from benchgate.airflow.secrets import secret_values
    from benchgate.airflow.warehouse import warehouse_url
    from benchgate.steps.images import last_used_digest, published_digests, pull_images

    with _seeding(task, context) as (campaign_run, host):
        pull_images(
            campaign_run,
            host,
            secrets=secret_values(campaign_run.campaign.secrets),
            published=lambda campaign: published_digests(campaign, warehouse_url()),
            last_used=lambda campaign, image: last_used_digest(campaign, image, warehouse_url()),
            say=_say,
        )
    reason = campaign_run.record.nothing_new_reason
    if reason:
        raise AirflowSkipException(reason)
    return campaign_run.seeds(host).images


def _seed_vocab(task: StepTask, context: Context) -> list[str]:
    from benchgate.steps.seeding import seed_vocab

    with _seeding(task, context) as (campaign_run, host):
        return _named(seed_vocab(campaign_run, host, say=_say))


def _seed_model(task: StepTask, context: Context) -> list[str]:
    from benchgate.airflow.secrets import secret_values
    from benchgate.steps.seeding import seed_model

    with _seeding(task, context) as (campaign_run, host):
        token = secret_values(campaign_run.campaign.secrets).get("HF_TOKEN")
        return _named(seed_model(campaign_run, host, token=token, say=_say))


def _seed_dataset(task: StepTask, context: Context) -> list[str]:
    from benchgate.steps.seeding import seed_dataset

    with _seeding(task, context) as (campaign_run, host):
        return _named(seed_dataset(campaign_run, host, say=_say))


def _named(facts: Iterable[SeedFact]) -> list[str]:
    return [f"{fact.name} {fact.digest}" for fact in facts]


def _preflight(task: StepTask, context: Context) -> None:
    from benchgate.airflow.run_state import is_over, launch_is_over
    from benchgate.steps.launching import preflight

    campaign_run = _run_of(task, context)
    launch = campaign_run.launch(str(task.launch))
    preflight(
        campaign_run,
        str(task.launch),
        run_is_over=lambda key: is_over(context["ti"], key, this=campaign_run.run),
        launch_is_over=lambda arm: launch_is_over(context["ti"], launch_group(arm, launch.host, launch.placement)),
        say=_say,
    )


def _start_server(task: StepTask, context: Context) -> dict[str, str]:
    from dataclasses import asdict

    from benchgate.airflow.secrets import secret_values
    from benchgate.steps.launching import start_server

    campaign_run = _run_of(task, context)
    values = secret_values(campaign_run.campaign.secrets)
    return asdict(start_server(campaign_run, str(task.launch), secret_values=values, say=_say))


def _wait_ready(task: StepTask, context: Context) -> float | None:
    from benchgate.steps.readiness import wait_ready

    return wait_ready(_run_of(task, context), str(task.launch), say=_say).startup_s


def _prove_kernel(task: StepTask, context: Context) -> dict[str, Any]:
    from benchgate.steps.proving import prove

    record = prove(_run_of(task, context), str(task.launch), say=_say)
    return {proof.name: proof.value for proof in record.proofs}


def _needle_check(task: StepTask, context: Context) -> str:
    from benchgate.steps.needles import check_needles

    check = check_needles(_run_of(task, context), str(task.launch), say=_say)
    return "no needle gate" if check is None else f"{check.found}/{len(check.results)}"


def _measure(task: StepTask, context: Context) -> dict[str, Any]:
    from benchgate.steps.measuring import measure_cell, why_not_measured

    campaign_run = _run_of(task, context)
    reason = why_not_measured(campaign_run, str(task.launch))
    if reason:
        raise AirflowSkipException(reason)
    # on a Docker host the task itself runs the container
    summary = measure_cell(campaign_run, str(task.cell), client=getattr(task, "run_client", None), say=_say).summary
    assert summary is not None
    return {"completed": summary.completed, "errors": summary.errors, "decode_tok_s": summary.decode_tok_s}


def _stop_server(task: StepTask, context: Context) -> None:
    from benchgate.steps.launching import stop_server

    stop_server(_run_of(task, context), str(task.launch), say=_say)


def _validate(task: StepTask, context: Context) -> int:
    from benchgate.steps.publishing import validate

    return sum(not verdict.passed for verdict in validate(_run_of(task, context), say=_say).verdicts)


def _load(task: StepTask, context: Context) -> dict[str, int]:
    from benchgate.airflow.assets import WAREHOUSE
    from benchgate.airflow.metrics import count_run
    from benchgate.airflow.warehouse import warehouse_url
    from benchgate.steps.publishing import load

    campaign_run = _run_of(task, context)
    counts = load(campaign_run, url=warehouse_url(), say=_say)
    count_run(campaign_run)
    context["outlet_events"][WAREHOUSE].extra = {"run": campaign_run.run}
    return counts


def _verdict(task: StepTask, context: Context) -> None:
    from benchgate.steps.publishing import verdict

    verdict(_run_of(task, context), say=_say)


_STEPS = {
    "plan": _plan,
    "pull_image": _pull_image,
    "seed_vocab": _seed_vocab,
    "seed_model": _seed_model,
    "seed_dataset": _seed_dataset,
    "preflight": _preflight,
    "start_server": _start_server,
    "wait_ready": _wait_ready,
    "prove_kernel": _prove_kernel,
    "needle_check": _needle_check,
    "measure": _measure,
    "stop_server": _stop_server,
    "validate": _validate,
    "load": _load,
    "verdict": _verdict,
}
