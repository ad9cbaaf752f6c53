"""Step ``needle_check``: this very launch must find every planted fact."""

from __future__ import annotations

from benchgate.errors import GateRefused
from benchgate.needle.check import NeedleRequest, run_needle_check
from benchgate.records import NeedleCheck, NeedleResult
from benchgate.steps.context import CampaignRun
from benchgate.steps.launching import Say, launch_record, started
from benchgate.steps.log_tail import keeping_log_tail


def check_needles(run: CampaignRun, launch_key: str, *, say: Say = print) -> NeedleCheck | None:
    """Ask the needles of the arm's gate, one by one. None when the arm has no needle gate: it cannot be published.

    Raises:
        GateRefused: a needle was not found and the gate says ``on_failure: stop``.
    """
    record = launch_record(run, launch_key)
    gate = run.campaign.gates_of(record.arm).needle
    if gate is None:
        say("this arm has no needle gate: its cells are measured and cannot be published")
        return None
    handle = started(run, launch_key)
    host = run.host(handle.host)

    def show(result: NeedleResult) -> None:
        tokens = "unknown" if result.context_tokens is None else result.context_tokens
        answer = repr(result.answered) if result.answered else f"{result.error_kind}: {result.error_message}"
        say(
            f"{'found' if result.found else 'NOT FOUND'} at depth {result.depth:g}, {tokens} tokens: "
            f"expected {result.expected}, answered {answer}"
        )

    with keeping_log_tail(run, launch_key, host, handle):
        check = run_needle_check(
            NeedleRequest(
                model=record.model_id,
                context_tokens=gate.context_tokens,
                depths=gate.depths,
                max_tokens=gate.max_tokens,
                max_seconds=gate.max_seconds,
                seed=gate.seed,
            ),
            lambda path, body, timeout_s: host.http_post(handle, path, body, timeout_s=timeout_s),
            on_result=show,
        )
    run.update_launch(launch_key, needle=check)
    say(f"needle check {check.found}/{len(check.results)}: {'passed' if check.passed else 'failed'}")
    if not check.passed and gate.on_failure == "stop":
        raise GateRefused(
            f"{launch_key}: needle check {check.found}/{len(check.results)} at {gate.context_tokens} tokens",
            remedy="what it is measured at would be the speed of a server that loses what it is told",
        )
    return check
