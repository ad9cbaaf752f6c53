"""What an arm claims against what its server said."""

from __future__ import annotations

import pytest

from benchgate.records import Evidence, Proof
from benchgate.steps.proving import unproven_claims


def proofs(**values: str | int | float | bool) -> dict[str, Proof]:
    return {
        name: Proof(name=name, value=value, evidence=Evidence(line=7, text=f"said {value}"))
        for name, value in values.items()
    }


def test_a_claim_that_the_log_shows_is_proven() -> None:
    assert unproven_claims({"moe_kernel": "marlin", "slots": 4}, proofs(moe_kernel="marlin", slots=4)) == []


@pytest.mark.parametrize("value", ["MARLIN", "Marlin"])
def test_a_kernels_name_is_compared_without_regard_to_case(value: str) -> None:
    assert unproven_claims({"moe_kernel": "marlin"}, proofs(moe_kernel=value)) == []


def test_another_kernel_is_refused_with_the_line_that_says_so() -> None:
    (problem,) = unproven_claims({"moe_kernel": "triton"}, proofs(moe_kernel="marlin"))

    assert problem == "moe_kernel should be triton and is marlin: said marlin"


def test_silence_is_no_proof() -> None:
    (problem,) = unproven_claims({"moe_kernel": "triton"}, proofs(slots=4))

    assert "does not say" in problem
