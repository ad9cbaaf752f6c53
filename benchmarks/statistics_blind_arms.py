"""One night of two arms with known truth: what comparisons and reversals claim of it. Run by ``statistics_blind``."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchgate.analysis.compare import compare
from benchgate.analysis.findings import Comparison
from benchgate.analysis.reversals import reversals
from benchmarks.statistics_hostile import percent, table
from benchmarks.statistics_truth import CELLS, USERS, Made, Rng, as_measured, one_night


def arms(
    rng: Rng,
    *,
    effect: np.ndarray | float = 0.0,
    placement: float = 0.14,
    swap: bool = True,
    launch: float = 0.01,
    wait_launch: float = 0.01,
    **options: Any,
) -> list[Made]:
    """Arms a and b (= a x ``effect``, logs, by cell), each on both placements, or each on its own."""
    made = []
    for arm in "ab":
        for place in ("p", "q") if swap else ("p" if arm == "a" else "q"):
            latent = np.tile([rng.normal(0, launch), rng.normal(0, wait_launch)], (CELLS, 1))
            latent[:, 0] += (effect if arm == "b" else 0.0) + (placement if place == "q" else 0.0)
            made += one_night(rng, latent, 0, arm=arm, placement=place, **options)
    return made


def compared(made: list[Made]) -> list[Comparison]:
    """As the report compares one run."""
    return compare(as_measured([made]))


def comparisons(rng: Rng, campaigns: int, only: str) -> None:
    """Runs of two equal arms; runs with an effect."""
    growing = np.tile(0.01 * np.sqrt(USERS), CELLS // len(USERS))
    rows: list[tuple[str, ...]] = []
    equal: dict[str, dict[str, Any]] = {
        "3 % normal, 3 repeats": {},
        "3 % normal, 2 repeats": {"repeats": 2},
        "one repeat": {"repeats": 1},
        "heavy tails (t with 3 degrees)": {"tails": 3.0},
        "noise grows with users, 1 to 8 %": {"own": growing},
        "no noise at all but 1 % between launches": {"own": 0.0},
        "errors in 0.5 % of 200 requests, 2 repeats": {"errors": 0.005, "repeats": 2},
        "errors in 1 % of 100 requests, 3 repeats": {"errors": 0.01, "requests": 100},
        "errors in 11 % of 1000 requests, 3 repeats": {"errors": 0.11, "requests": 1000},
        "waits differ by 6 % between launches": {"wait_launch": 0.06},
        "a third of the cells refused, at half speed": {"refused": 0.33},
        "cells missing in one arm": {"missing_cells": 0.3},
    }
    for name, options in equal.items():
        if only not in name:
            continue
        claims = errors = waits = turned = tested = excluded = 0
        for _ in range(campaigns):
            found = compared(arms(rng, **{"repeats": 3, "own": 0.03, **options}))
            published = [c for c in found if c.basis == "published"]
            claims += any(c.direction for c in published)
            errors += any(c.direction for c in published if c.metric == "error_rate")
            waits += any(c.direction for c in published if c.metric == "ttft_p50_ms")
            turned += bool(reversals(published))
            tested += sum(c.low is not None for c in published)
            excluded += sum(
                c.low is not None and not c.low <= (c.effect == "ratio") <= (c.high or 0.0) for c in published
            )
        rows.append(
            (name, *(percent(n, campaigns) for n in (claims, errors, waits, turned)), percent(excluded, max(tested, 1)))
        )
    table(
        f"Two equal arms, swapped, placements 15 % apart, {CELLS} cells ({campaigns} runs)",
        ("data", "runs with a claim", "of errors", "of TTFT", "with a reversal", "intervals without the truth"),
        rows,
    )
    rows = []
    lone, turning = np.zeros(CELLS), np.tile([0.2, 0.2, 0.2, -0.2], CELLS // len(USERS))
    lone[7] = np.log(0.9)
    unequal: dict[str, dict[str, Any]] = {
        "-10 % in one cell of 20, 3 repeats": {"effect": lone},
        "-10 % in every cell, 3 repeats": {"effect": np.log(0.9)},
        "-10 % in every cell, never swapped, equal placements": {
            "effect": np.log(0.9),
            "swap": False,
            "placement": 0.0,
        },
        "-2 % in every cell: below what can be seen": {"effect": np.log(0.98)},
        "+22 % up to 16 users, -18 % at 64": {"effect": turning},
    }
    for name, options in unequal.items():
        if only not in name:
            continue
        effect = np.broadcast_to(np.asarray(options["effect"]), (CELLS,))
        hits = wrong = turned = confounded = 0
        for _ in range(campaigns):
            found = compared(arms(rng, repeats=3, own=0.03, **options))
            for c in found:
                if c.metric != "decode_tok_s":
                    continue
                truth = effect[int(c.workload[1:]) * len(USERS) + USERS.index(c.users or 0)]
                hits += bool(c.direction) and c.direction * truth > 0
                wrong += c.direction * truth < 0 or (truth == 0 and bool(c.direction))
            turned += any(r.kind == "between loads" for r in reversals(found))
            confounded += all(c.design.startswith("confounded") for c in found)
        real = campaigns * int(np.count_nonzero(effect))
        rows.append(
            (
                name,
                percent(hits, real),
                percent(wrong, campaigns * CELLS),
                percent(turned, campaigns),
                percent(confounded, campaigns),
            )
        )
    table(
        f"Two arms that differ ({campaigns} runs)",
        ("truth", "effects found", "claims that are wrong", "with a reversal between loads", "said to be confounded"),
        rows,
    )
