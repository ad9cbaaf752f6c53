"""Step ``wait_ready``: a server is ready when a real chat came back, not when its health page says so."""

from __future__ import annotations

import json
import time
from typing import NoReturn

from benchgate import secrets
from benchgate.client.wire.faults import classify
from benchgate.engines import get_engine
from benchgate.errors import BenchgateError, LaunchFailed
from benchgate.hosts.base import Host, ServerHandle
from benchgate.records import LaunchRecord
from benchgate.steps.context import CampaignRun, now
from benchgate.steps.launching import Say, keep_log, launch_record, started
from benchgate.steps.log_tail import LogTail

_POLL_S = 1.0
_SAY_EVERY_S = 15.0


def wait_ready(run: CampaignRun, launch_key: str, *, say: Say = print) -> LaunchRecord:
    """Wait until health is answered *and* a real chat came back, while the server is watched.

    Raises:
        LaunchFailed: the server died (with its failure kind and root-cause line) or the limit passed.
    """
    handle = started(run, launch_key)
    host, record = run.host(handle.host), launch_record(run, launch_key)
    engine, began = get_engine(record.engine), time.monotonic()
    limit = run.campaign.limits.start_seconds
    said = 0.0
    trouble = "it did not answer /health"
    with LogTail(run, launch_key, host, handle):
        while True:
            if not host.status(handle).running:
                _fail_launch(run, launch_key, host, handle, timed_out=False)
            waited = time.monotonic() - began
            if waited > limit:
                _fail_launch(run, launch_key, host, handle, timed_out=True, trouble=trouble)
            trouble = _answers(host, handle, engine.health_path, record.model_id, min(60.0, max(limit - waited, 1.0)))
            if not trouble:
                break
            if waited - said > 15:
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
    run: CampaignRun, launch_key: str, host: Host, handle: ServerHandle, *, timed_out: bool, trouble: str = ""
) -> NoReturn:
    record = launch_record(run, launch_key)
    engine = get_engine(record.engine)
    facts = engine.parse_log(host.log_lines(handle))
    exit_info = host.status(handle).exit
    failure = engine.failure(facts, exit_info, timed_out=timed_out)
    if timed_out and trouble:
        failure = failure.model_copy(update={"reason": f"{failure.reason}; last seen: {trouble}"})
    keep_log(run, launch_key, host, handle)
    run.update_launch(
        launch_key,
        end_state="failed",
        failure=failure,
        exit=exit_info,
        proofs=list(facts.proofs.values()),
        warnings=facts.warnings,
    )
    line = failure.evidence.text if failure.evidence else None
    raise LaunchFailed(f"{launch_key}: {failure.kind.value}: {failure.reason}", kind=failure.kind.value, line=line)
