"""Step ``wait_ready``: a server is ready when a real chat came back, not when its health page says so."""

from __future__ import annotations

import json
import time
from typing import NoReturn

from benchgate import secrets
from benchgate.client.wire.faults import classify
from benchgate.engines import get_engine
from benchgate.errors import BenchgateError, HostError, LaunchFailed
from benchgate.hosts.base import OUTAGE_S, Host, ServerHandle
from benchgate.records import Failure, FailureKind, LaunchRecord
from benchgate.steps.context import CampaignRun, now
from benchgate.steps.launching import Say, keep_log, launch_record, started
from benchgate.steps.log_tail import keeping_log_tail

_POLL_S = 1.0
_SAY_EVERY_S = 15.0


def wait_ready(run: CampaignRun, launch_key: str, *, say: Say = print) -> LaunchRecord:
    """Wait until health is answered *and* a real chat came back, while the server is watched.

    Raises:
        LaunchFailed: the server died (with its failure kind and root-cause line), the limit passed, or its host does
            not answer any more.
    """
    handle = started(run, launch_key)
    host, record = run.host(handle.host), launch_record(run, launch_key)
    engine, began = get_engine(record.engine), time.monotonic()
    limit = run.campaign.limits.start_seconds
    said = heard = 0.0
    trouble = "it did not answer /health"
    with keeping_log_tail(run, launch_key, host, handle):
        while True:
            waited = time.monotonic() - began
            try:
                running, heard = host.status(handle).running, waited
            except HostError as error:  # an engine that restarts comes back, and tells then how the server ended
                if waited > min(limit, heard + OUTAGE_S):
                    _fail(run, launch_key, _unknown(error))
            else:
                if not running or waited > limit:
                    _fail_launch(run, launch_key, host, handle, timed_out=running, trouble=trouble)
            trouble = _answers(host, handle, engine.health_path, record.model_id, min(60.0, max(limit - waited, 1.0)))
            if not trouble:
                break
            if waited - said > _SAY_EVERY_S:
                said = waited
                say(f"not ready after {waited:.0f} s: {trouble}")
            time.sleep(_POLL_S)
    startup_s = time.monotonic() - began
    say(f"ready after {startup_s:.1f} s: health answered and a chat came back")
    return run.update_launch(launch_key, end_state="ready", ready_at=now(), startup_s=startup_s)


def _answers(host: Host, handle: ServerHandle, health_path: str, model: str, timeout_s: float) -> str:
    """Empty when the server is ready; otherwise what is still missing, in words."""
    try:
        status, _ = host.http_get(handle, health_path, timeout_s=5.0)
    except (BenchgateError, OSError) as error:
        return f"{health_path}: {str(error)[:200]}"
    if status != 200:
        return f"{health_path} answered {status}"
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Say hello in one word."}],
        "max_tokens": 16,
        "temperature": 0,
    }
    try:
        status, raw = host.http_post(handle, "/v1/chat/completions", json.dumps(body).encode(), timeout_s=timeout_s)
    except (BenchgateError, OSError) as error:
        return f"the first chat: {str(error)[:200]}"
    text = secrets.mask(raw.decode("utf-8", "replace"))
    if status == 200 and '"choices"' in text:
        return ""
    if status == 500 and classify(text, "http_5xx") == "harmony_parse" and "vocab" not in text.lower():
        # The parser read what the model said and did not like it: the server works, and the needle check judges it.
        return ""
    return f"the first chat answered {status}: {text[:200]}"


def _fail_launch(
    run: CampaignRun, launch_key: str, host: Host, handle: ServerHandle, *, timed_out: bool, trouble: str
) -> NoReturn:
    """Keep what the server said and how it ended, and why that is."""
    engine = get_engine(launch_record(run, launch_key).engine)
    try:
        facts = engine.parse_log(host.log_lines(handle))
        exit_info = host.status(handle).exit
        keep_log(run, launch_key, host, handle)
    except HostError as error:  # somebody removed it, and its log with it
        _fail(run, launch_key, _unknown(error))
    failure = engine.failure(facts, exit_info, timed_out=timed_out)
    if timed_out:
        failure = failure.model_copy(update={"reason": f"{failure.reason}; last seen: {trouble}"})
    run.update_launch(launch_key, exit=exit_info, proofs=list(facts.proofs.values()), warnings=facts.warnings)
    _fail(run, launch_key, failure)


def _unknown(error: HostError) -> Failure:
    """Nobody can say what became of the server."""
    return Failure(kind=FailureKind.UNKNOWN, reason=secrets.mask(str(error)))


def _fail(run: CampaignRun, launch_key: str, failure: Failure) -> NoReturn:
    run.update_launch(launch_key, end_state="failed", failure=failure)
    line = failure.evidence.text if failure.evidence else None
    raise LaunchFailed(f"{launch_key}: {failure.kind.value}: {failure.reason}", kind=failure.kind.value, line=line)
