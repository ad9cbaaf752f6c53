"""Steps around a server: preflight, start, stop. What fails is recorded on the launch, with its kind."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from benchgate import secrets
from benchgate.errors import BenchgateError, LeaseHeld, NotSeeded, PreflightRefused, SeedError
from benchgate.hosts.base import Host, PreflightFinding, ServerHandle, never
from benchgate.records import ExitInfo, Failure, FailureKind, LaunchRecord
from benchgate.steps.arguments import argument_findings
from benchgate.steps.context import CampaignRun, now
from benchgate.steps.server_request import begin_launch, server_spec

Say = Callable[[str], None]


def preflight(
    run: CampaignRun,
    launch_key: str,
    *,
    run_is_over: Callable[[str], bool],
    launch_is_over: Callable[[str], bool] = never,
    say: Say = print,
) -> None:
    """Look whether the host is fit for this launch.

    Args:
        run: the campaign run.
        launch_key: of a planned launch.
        run_is_over: of another run, by its key; what such a run left is removed.
        launch_is_over: of another arm of this run that was launched on the same placement; the same.
        say: takes what a person should read.

    Raises:
        PreflightRefused: with every finding that refused, and its remedy. The launch is then recorded as failed.
    """
    begin_launch(run, launch_key)
    with _recorded(run, launch_key, FailureKind.PREFLIGHT):
        launch = run.launch(launch_key)
        host = run.host(launch.host)
        findings = host.preflight(server_spec(run, launch_key), run_is_over=run_is_over, launch_is_over=launch_is_over)
        run.store.write_json(
            run.store.launch_path(launch_key, "preflight.json"), [asdict(finding) for finding in findings]
        )
        run.update_launch(launch_key, host_facts=host.facts())
        for finding in findings:
            say(f"{'ok     ' if finding.ok else 'REFUSED'} {finding.check}: {finding.message}")
            for removed in finding.removed:
                say(f"        removed {removed}")
        _refuse(findings)
    with _recorded(run, launch_key, FailureKind.BAD_FLAG):
        known = argument_findings(run, launch_key)
        for finding in known:
            say(f"{'ok     ' if finding.ok else 'REFUSED'} {finding.check}: {finding.message}")
        _refuse(known)


def start_server(
    run: CampaignRun, launch_key: str, *, secret_values: dict[str, str] | None = None, say: Say = print
) -> ServerHandle:
    """Take the lease and start the server. What fails here leaves nothing behind and is recorded with its kind.

    Tried again alone, after its worker was killed or its task was cleared, it begins a new attempt of the launch: what
    the one before left on the host goes, and nothing that was proven or measured of it is inherited.
    """
    record = run.launch_record(launch_key)
    if record is None or record.command or record.end_state != "starting":
        begin_launch(run, launch_key, seen=record.host_facts if record else None)
    with _recorded(run, launch_key, FailureKind.UNKNOWN):
        for value in (secret_values or {}).values():
            secrets.register(value)
        spec = server_spec(run, launch_key, secret_values)
        run.update_launch(
            launch_key,
            command=[secrets.mask(part) for part in [*(spec.entrypoint or []), *spec.argv]],
            env_names=sorted({*spec.env, *spec.secrets}),
            started_at=now(),
        )
        host = run.host(run.launch(launch_key).host)
        for removed in host.remove_earlier(spec):
            say(f"removed what an earlier try of this launch left: {removed}")
        handle = host.start(spec)
        try:
            run.store.write_json(run.store.launch_path(launch_key, "handle.json"), asdict(handle))
        except BaseException:
            host.stop(handle)  # a setup that fails gets no teardown
            raise
        say(f"started {handle.name} at {handle.base_url}")
        return handle


def handle_of(run: CampaignRun, launch_key: str) -> ServerHandle | None:
    """The started server of a launch; None when it never started."""
    found = run.store.read_json(run.store.launch_path(launch_key, "handle.json"))
    return None if found is None else ServerHandle(**found)


def stop_server(run: CampaignRun, launch_key: str, *, say: Say = print) -> None:
    """Stop the server, keep its whole log and how it ended, free the lease. Safe to call twice, or without a start."""
    handle = handle_of(run, launch_key)
    if handle is None:
        return
    host, record = run.host(handle.host), launch_record(run, launch_key)
    # said before it is done: whoever measures until then, in a run that is being ended, sees that the end is ours
    run.update_launch(launch_key, stopped_at=record.stopped_at or now())
    try:
        keep_log(run, launch_key, host, handle)
    except BenchgateError as error:
        say(f"the server's log could not be read: {error}")
    exit_info = host.stop(handle, grace_s=run.campaign.limits.stop_seconds)
    if exit_info == ExitInfo() and record.exit is not None:
        exit_info = record.exit  # seen when the server ended; whoever removed it since took its own answer away
    run.update_launch(launch_key, exit=exit_info)
    say(f"stopped {handle.name}: exit code {exit_info.exit_code}")
    with suppress(BenchgateError):  # once more, for its last words; a host that has them no more gave them above
        keep_log(run, launch_key, host, handle)
    if record.gpus:
        returned = host.gpu_memory_returned(record.gpus)
        run.update_launch(launch_key, gpu_memory_returned=returned)
        if returned is False:
            gpus = ", ".join(record.gpus)
            say(f"GPU memory of {gpus} on {handle.host} is still in use: nvidia-smi there says by whom")


def keep_log(run: CampaignRun, launch_key: str, host: Host, handle: ServerHandle) -> None:
    """Copy the server's log into the artifacts, compressed, secrets masked."""
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / "server.log.gz"
        with gzip.open(local, "wb", compresslevel=4) as out:
            for line in host.log_lines(handle):
                out.write(secrets.mask(line.decode("utf-8", "replace")).encode())
        run.store.put(run.store.launch_path(launch_key, "server.log.gz"), local)


def started(run: CampaignRun, launch_key: str) -> ServerHandle:
    handle = handle_of(run, launch_key)
    if handle is None:
        raise BenchgateError(f"{launch_key} of run {run.run} was not started")
    return handle


def launch_record(run: CampaignRun, launch_key: str) -> LaunchRecord:
    return run.launch_record(launch_key) or begin_launch(run, launch_key)


@contextmanager
def _recorded(run: CampaignRun, launch_key: str, kind: FailureKind) -> Iterator[None]:
    """Whatever ends the step early is kept on the launch before it goes on its way."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, LeaseHeld):
            kind = FailureKind.LEASE_HELD
        elif isinstance(error, (NotSeeded, PreflightRefused)):
            kind = FailureKind(error.kind)
        elif isinstance(error, SeedError):
            kind = FailureKind.SEED_FAILED
        elif not isinstance(error, Exception):
            kind = FailureKind.KILLED
        reason = secrets.mask(str(error)) or type(error).__name__
        run.update_launch(launch_key, end_state="failed", failure=Failure(kind=kind, reason=reason), stopped_at=now())
        raise


def _refuse(findings: list[PreflightFinding]) -> None:
    refused = [finding for finding in findings if not finding.ok]
    if refused:
        # the kind says the first thing that has one of its own; the reason says all
        kind = next((one.kind for one in refused if one.kind is not FailureKind.PREFLIGHT), FailureKind.PREFLIGHT)
        raise PreflightRefused("; ".join(_in_words(finding) for finding in refused), kind=kind.value)


def _in_words(finding: PreflightFinding) -> str:
    return f"{finding.check}: {finding.message}" + (f" ({finding.remedy})" if finding.remedy else "")
