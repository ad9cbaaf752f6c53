"""Cells with known truth."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from benchgate.analysis.cells import MeasuredCell

FACTS = {
    "metric_definition": "1",
    "client_name": "benchgate",
    "token_count_source": "usage",
    "simulated": False,
    "dataset": "sharegpt",
    "max_tokens": 256,
}


def cell(
    arm: str,
    value: float | None = None,
    *,
    repeat: int = 1,
    placement: str = "h200/quad-a",
    workload: str = "short-chat",
    users: int | None = 64,
    metric: str = "decode_tok_s",
    values: Mapping[str, float | None] | None = None,
    facts: Mapping[str, object] | None = None,
    **other: object,
) -> MeasuredCell:
    """One measured cell; ``facts`` override the usual ones."""
    return MeasuredCell(
        run="k.r1",
        campaign="k",
        arm=arm,
        placement=placement,
        workload=workload,
        users=users,
        request_rate=None,
        repeat=repeat,
        values=values if values is not None else {metric: value},
        facts={**FACTS, **(facts or {})},  # type: ignore[dict-item]
        **other,  # type: ignore[arg-type]
    )


def swapped(
    rng: np.random.Generator,
    *,
    effect: float = 1.0,
    placement_effect: float = 1.0,
    noise: float = 0.03,
    between_launches: float = 0.0,
    repeats: int = 3,
    level: float = 1000.0,
    **where: object,
) -> list[MeasuredCell]:
    """Two arms on two placements each: marlin = triton x ``effect``, quad-b = quad-a x ``placement_effect``."""
    cells = []
    for arm, a in (("triton", 1.0), ("marlin", effect)):
        for place, p in (("h200/quad-a", 1.0), ("h200/quad-b", placement_effect)):
            launch = math.exp(rng.normal(0, between_launches)) if between_launches else 1.0
            for repeat in range(1, repeats + 1):
                value = level * a * p * launch * math.exp(rng.normal(0, noise))
                cells.append(cell(arm, value, repeat=repeat, placement=place, **where))  # type: ignore[arg-type]
    return cells
