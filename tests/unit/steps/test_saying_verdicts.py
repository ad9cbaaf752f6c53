"""What the validate step says of the gates' answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import gates
from benchgate.artifacts import RunStore
from benchgate.records import GateResult, Verdict
from benchgate.steps import publishing
from benchgate.steps.context import CampaignRun
from tests.support.runs import campaign, ledger_of, run_record

KEY = "kernels.tonight"
SPEC = campaign()


def verdict(**changes: object) -> Verdict:
    values = {
        "subject": "triton@h200/quad-a", "subject_kind": "launch", "rule": "stayed_up", "passed": True,
        "observed": "lived", "limit": None, "reason": "the server lived",
    }  # fmt: skip
    return Verdict.model_validate({**values, **changes})


WARNED, REFUSED = verdict(passed=False, severity="warning"), verdict(passed=False)


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([verdict(), verdict()], "0 of 2 rules refused something"),
        ([verdict(), WARNED], "0 of 2 rules refused something, 1 warned"),
        ([REFUSED, WARNED, REFUSED, verdict()], "2 of 4 rules refused something, 1 warned"),
    ],
)
def test_a_warning_is_not_counted_as_a_refusal(
    verdicts: list[Verdict], said: str, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(KEY)
    store.write(store.path("run.json"), run_record(SPEC, KEY))
    store.write(store.path("ledger.json"), ledger_of(SPEC, KEY))
    monkeypatch.setattr(CampaignRun, "campaign", SPEC)
    answer = GateResult(verdicts=verdicts, quarantine=[], outcomes=[], gx_version=None)
    monkeypatch.setattr(gates, "run_gates", lambda *_args, **_options: answer)
    lines: list[str] = []

    publishing.validate(CampaignRun(KEY), say=lines.append)

    assert lines[0] == said
