"""A whole campaign run without Airflow: the same steps in the same order, lanes at the same time.

For machines that have no Airflow (a lent GPU), for one-off runs and for tests.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchgate.errors import BenchgateError
from benchgate.names import run_key
from benchgate.plan import launch_order, measuring_order
from benchgate.spec.load import load_campaign
from benchgate.steps import ending, launching, measuring, needles, planning, proving, publishing, readiness, seeding
from benchgate.steps.context import CampaignRun
from benchgate.steps.launching import Say
from benchgate.steps.leftovers import recorded_as_over
from benchgate.steps.seed_failures import failure_kept

_INTERRUPT_GRACE_S = 10.0  # who interrupts has little time left


@dataclass(frozen=True)
class DriverOptions:
    """What a run without Airflow may be asked for."""

    launches: tuple[str, ...] | None = None  # arms or launch keys; None: all that are planned
    publish: bool = True  # gates, warehouse, verdict; False: leave the artifacts for a later `--publish-only`
    publish_only: bool = False
    after_cells: str | None = None  # shell command run beside each proven server, after its cells
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    warehouse_url: str | None = None


def drive(
    campaign_file: Path,
    run_id: str,
    *,
    trigger: dict[str, object] | None = None,
    options: DriverOptions | None = None,
    say: Say = print,
) -> CampaignRun:
    """Run a campaign. Failures of a launch or a cell stay with it; the verdict comes at the end.

    Raises:
        SpecError: the campaign or the inventory cannot be used.
        BenchgateError: the run ended otherwise than the campaign expects (after everything was loaded).
    """
    options = options or DriverOptions()
    if options.publish_only:  # as it was planned and measured: planning again would forget how it ended
        run = CampaignRun(run_key(load_campaign(campaign_file).campaign, run_id))
    else:
        run = planning.plan_run(campaign_file, run_id, trigger, only=options.launches)
        run.update_record(publish_later=not options.publish)
    say(f"{run.run}: {len(run.ledger.launches)} launches, {len(run.ledger.cells)} cells")
    if not options.publish_only:
        try:
            _seed(run, options, say)
            _measure(run, options, say)
        except BaseException as error:
            _broken_off(run, error, options, say)
            raise
    if options.publish or options.publish_only:
        _publish(run, options, say)
        publishing.verdict(run, say=say)
    return run


def _measure(run: CampaignRun, options: DriverOptions, say: Say) -> None:
    """Every launch, lanes at the same time. An interruption takes the servers away and waits for the lanes to end."""
    lanes = [] if run.record.state == "nothing_new" else launch_order(run.ledger, run.inventory)
    failures: list[BaseException] = []
    begin, over = threading.Event(), threading.Event()

    def lane_of(launches: tuple[str, ...]) -> None:
        begin.wait()  # until every lane has its thread: an interruption before that must find none at work
        _lane(run, launches, options, say, len(lanes) > 1, over)

    with ThreadPoolExecutor(max_workers=max(len(lanes), 1)) as pool:
        futures: list[Future[None]] = []
        try:
            futures.extend(pool.submit(lane_of, lane.launches) for lane in lanes)
            begin.set()
            for future in futures:
                error = future.exception()
                if error is not None:
                    failures.append(error)
        except BaseException:  # Ctrl-C reaches this thread alone, and the pool would wait for all that is planned
            over.set()
            begin.set()
            _end_servers(run, say)
            for future in futures:  # the interruption goes on its way, and would take what went wrong along
                if (error := future.exception()) is not None:
                    say(f"{type(error).__name__}: {error}")
            raise
    if failures:
        raise failures[0]


def _publish(run: CampaignRun, options: DriverOptions, say: Say) -> None:
    publishing.validate(run, say=say)
    publishing.load(run, url=options.warehouse_url, say=say)


def _broken_off(run: CampaignRun, error: BaseException, options: DriverOptions, say: Say) -> None:
    """Bring an interrupted run to a true end: every cell has its state, and what was measured is loaded."""
    interrupted = isinstance(error, KeyboardInterrupt)
    why = f"interrupted{_by(error)}" if interrupted else f"broken off: {type(error).__name__}: {error}"
    say(f"{why}: {ending.break_off(run, why)} cells were not measured")
    if not options.publish:
        say("what was measured is kept, and --publish-only with the same --run-id publishes it")
        return
    if interrupted:
        say("loading what was measured; interrupt again to leave that to `benchgate housekeeping`")
    try:
        _publish(run, options, say)
    except (BenchgateError, KeyboardInterrupt) as again:
        said = "interrupted again" if isinstance(again, KeyboardInterrupt) else str(again)
        say(f"not loaded ({said}); `benchgate housekeeping` loads it")


def _by(error: BaseException) -> str:
    """`` by SIGTERM``, where the one who raised the interruption knows."""
    return f" by {error.args[0]}" if error.args else ""


def _seed(run: CampaignRun, options: DriverOptions, say: Say) -> None:
    """Per host; a seed that fails is told by the launches that need it."""
    for host in dict.fromkeys(launch.host for launch in run.ledger.launches):
        for name, step in _seed_steps(run, host, options, say).items():
            try:
                with failure_kept(run, host, name):
                    step()
            except BenchgateError as error:
                say(f"{host}: {error}")


def _seed_steps(run: CampaignRun, host: str, options: DriverOptions, say: Say) -> dict[str, Callable[[], object]]:
    """What is seeded on a host, in order."""
    steps: dict[str, Callable[[], object]] = {
        "seed_vocab": lambda: seeding.seed_vocab(run, host, say=say),
        "seed_model": lambda: seeding.seed_model(run, host, token=options.secrets.get("HF_TOKEN"), say=say),
        "seed_dataset": lambda: seeding.seed_dataset(run, host, say=say),
    }
    if run.inventory.hosts[host].kind != "docker":
        return steps
    from benchgate.steps.images import last_used_digest, published_digests, pull_images

    def pull() -> object:
        return pull_images(
            run,
            host,
            secrets=options.secrets,
            published=lambda campaign: published_digests(campaign, options.warehouse_url),
            last_used=lambda campaign, image: last_used_digest(campaign, image, options.warehouse_url),
            say=say,
        )

    return {"pull_image": pull, **steps}


def _end_servers(run: CampaignRun, say: Say) -> None:
    """Take the servers away, so that the lanes end: each is at work with one, and keeps its log and its end."""
    say("interrupted: stopping the servers; what was measured is kept")
    for launch in run.ledger.launches:
        record, handle = run.launch_record(launch.launch), launching.handle_of(run, launch.launch)
        if handle is not None and (record is None or record.stopped_at is None):
            with suppress(BenchgateError):
                run.host(handle.host).stop(handle, grace_s=_INTERRUPT_GRACE_S)


def _lane(
    run: CampaignRun,
    launches: tuple[str, ...],
    options: DriverOptions,
    say: Say,
    several: bool,
    over: threading.Event,
) -> None:
    for key in launches:
        if over.is_set():
            return
        if options.launches is None or key in options.launches or key.partition("@")[0] in options.launches:
            _launch(run, key, options, _prefixed(say, key) if several else say, over)


def _launch(run: CampaignRun, key: str, options: DriverOptions, say: Say, over: threading.Event) -> None:
    """One launch from preflight to stop. What goes wrong is in its record. ``over``: begin nothing more, stop."""

    def go_on() -> None:
        if over.is_set():
            raise BenchgateError("interrupted")

    say(f"--- {key}")
    try:
        launching.preflight(
            run,
            key,
            run_is_over=lambda other: other != run.run and recorded_as_over(other),
            launch_is_over=lambda _arm: True,  # a lane has one thread
            say=say,
        )
        go_on()
        launching.start_server(run, key, secret_values=dict(options.secrets), say=say)
        go_on()
        readiness.wait_ready(run, key, say=say)
        proving.prove(run, key, say=say)
        _check_needles(run, key, say, over)
        for cell in measuring_order(run.cells_of(key)):
            go_on()
            say(f"{cell.cell}:")
            try:
                measuring.measure_cell(run, cell.cell, say=say)
            except BenchgateError as error:
                say(f"failed: {error}")
            if over.is_set():  # its server was taken away under it
                measuring.fail_cell(run, cell, "interrupted")
        go_on()
        if options.after_cells:
            _beside(run, key, options.after_cells, say)
    except BenchgateError as error:
        say(f"{type(error).__name__}: {error}")
    finally:
        launching.stop_server(run, key, say=say)


def _check_needles(run: CampaignRun, key: str, say: Say, over: threading.Event) -> None:
    """A needle that an interruption took away was not lost by the server: such a check did not end."""
    try:
        needles.check_needles(run, key, say=say)
    finally:
        if over.is_set():
            run.update_launch(key, needle=None)


def _beside(run: CampaignRun, key: str, command: str, say: Say) -> None:
    """Run a person's command against the server while it still runs; its output files are kept with the launch."""
    handle = launching.handle_of(run, key)
    if handle is None:
        return
    with tempfile.TemporaryDirectory(prefix="benchgate-beside-") as name:
        folder = Path(name)
        try:
            code = _run_command(
                command, folder, handle.base_url, launching.launch_record(run, key).model_id, run.launch(key).arm
            )
        finally:  # also what a run that is cut off has written so far
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    run.store.put(run.store.launch_path(key, "beside", *file.relative_to(folder).parts), file)
    say(f"beside: {command!r} ended with exit code {code}; its results are in {run.store.launch_path(key, 'beside')}")


def _run_command(command: str, folder: Path, base_url: str, model: str, arm: str) -> int:
    environment = {
        **os.environ,
        "BASE_URL": base_url,
        "MODEL": model,
        "ARM": arm,
        "RESULT": str(folder),
    }
    with (folder / "console.txt").open("wb") as console:
        return subprocess.run(
            ["sh", "-c", command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode


_saying = threading.Lock()


def _prefixed(say: Say, key: str) -> Say:
    def prefixed(text: str) -> None:
        with _saying:
            say(f"[{key}] {text}")

    return prefixed
