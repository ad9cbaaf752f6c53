"""Whole campaigns of twenty cells with known truth, as a warehouse gives them to the analysis: what is claimed?

    python -m benchmarks.statistics_blind [--campaigns 100] [--seed 23] [--only TEXT]
    python -m benchmarks.statistics_blind --through-warehouse --campaigns 2

Prints the Markdown tables of docs/statistics.md. With ``--through-warehouse`` each campaign is loaded with ``load_run``
into a SQLite warehouse of its own, analysed by the report's step, and its findings are read from the tables again: they
must be the same, which the program checks.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "include"), str(ROOT)]

from benchgate.analysis.alert import nightly_alert  # noqa: E402
from benchgate.analysis.family import judge_night  # noqa: E402
from benchgate.analysis.findings import RegressionFinding  # noqa: E402
from benchgate.analysis.series import nightly  # noqa: E402
from benchmarks.statistics_blind_arms import arms, compared, comparisons  # noqa: E402
from benchmarks.statistics_hostile import correlated, percent, table  # noqa: E402
from benchmarks.statistics_truth import (  # noqa: E402
    CELLS,
    USERS,
    Made,
    Rng,
    as_measured,
    check_through_warehouse,
    one_night,
)

CALLED = ("REGRESSED", "IMPROVED")
NIGHTS = 18  # of a campaign of noise; judged on each of JUDGED
JUDGED = (3, 5, 9, 18)
BEFORE = 14  # nights before a change
Campaign = list[list[Made]]  # nights of cells


def judged(nights: Campaign, until: int, metrics: Sequence[str] | None = None) -> list[RegressionFinding]:
    """The findings of night ``until`` (from 1); of ``metrics`` only, where it names some."""
    series = nightly(as_measured(nights[:until]))
    last = as_measured(nights[until - 1 : until])
    run = last[0].run if last else ""
    return judge_night(
        [one for one in series if one.nights[-1].run == run and (metrics is None or one.measure.name in metrics)]
    )


# ---- nights of noise ----


def normal(sigma: float) -> Callable[[Rng, int], np.ndarray]:
    """Independent normal noise: nights x cells x (speed, wait)."""
    return lambda rng, nights: rng.normal(0, sigma, (nights, CELLS, 2))


def by_users(rng: Rng, nights: int) -> np.ndarray:
    """1 % with one user, 8 % with 64."""
    sigma = np.tile(0.01 * np.sqrt(USERS), CELLS // len(USERS))
    return rng.normal(0, 1, (nights, CELLS, 2)) * sigma[None, :, None]


def wandering(rng: Rng, nights: int) -> np.ndarray:
    """Each cell by itself, neighbouring nights correlated by 0.5."""
    return np.stack([[correlated(rng, nights, 0.5, 0.03) for _ in range(2)] for _ in range(CELLS)], axis=0).transpose(
        2, 0, 1
    )


def machine(rng: Rng, nights: int) -> np.ndarray:
    """What the whole machine does (correlated by 0.7), and 1 % of each cell's own."""
    return correlated(rng, nights, 0.7, 0.03)[:, None, None] + rng.normal(0, 0.01, (nights, CELLS, 2))


def spikes(rng: Rng, nights: int) -> np.ndarray:
    """2 %, and one wait in ten is half as long again."""
    noise = rng.normal(0, 0.02, (nights, CELLS, 2))
    noise[:, :, 1] += 0.4 * (rng.random((nights, CELLS)) < 0.1)
    return noise


def launches(rng: Rng, nights: int) -> np.ndarray:
    """All cells of a night share what its launch is: 3 %; 1 % of their own."""
    return rng.normal(0, 0.03, (nights, 1, 1)) + rng.normal(0, 0.01, (nights, CELLS, 2))


NOISE: dict[str, tuple[Callable[[Rng, int], np.ndarray], dict[str, Any]]] = {
    "3 % normal": (normal(0.03), {}),
    "3 % normal, 3 repeats, errors in 1 % of requests": (normal(0.01), {"repeats": 3, "own": 0.03, "errors": 0.01}),
    "heavy tails (t with 3 degrees, 2 %)": (lambda rng, n: 0.02 * rng.standard_t(3, (n, CELLS, 2)), {}),
    "heavier tails (t with 2 degrees, 2 %)": (lambda rng, n: 0.02 * rng.standard_t(2, (n, CELLS, 2)), {}),
    "noise grows with users, 1 to 8 %": (by_users, {}),
    "neighbours correlated by 0.5": (wandering, {}),
    "the machine wanders (0.7), cells 1 %": (machine, {}),
    "launches differ by 3 %, cells 1 %": (launches, {}),
    "one wait in ten is half as long again": (spikes, {}),
    "four of ten nights missing": (normal(0.03), {"missing": 0.4}),
    "a third of the cells refused each night, at half speed": (normal(0.03), {"refused": 0.33}),
    "a new image every third night, without effect": (normal(0.03), {"new_image": True}),
}


def noise(rng: Rng, name: str, nights: int = NIGHTS) -> Campaign:
    """A campaign of one arm on one placement in which nothing changes."""
    make, options = NOISE[name]
    latent = make(rng, nights)
    return [one_night(rng, latent[night], night, **options) for night in range(nights)]


# Of what moves together one is enough: with all of them a night of noise has more series and no more to find in them.
APART = ("decode_tok_s", "ttft_p50_ms", "error_rate")


def false_alarms(rng: Rng, campaigns: int, only: str) -> None:
    """Share of nights on which anything is called, and of series."""

    def row(name: str) -> tuple[str, ...]:
        nights_called, series_called, series_judged = dict.fromkeys(JUDGED, 0), 0, 0
        for _ in range(campaigns):
            made = noise(rng, name)
            for until in JUDGED:
                found = judged(made, until, APART)
                called = sum(f.answer in CALLED for f in found)
                nights_called[until] += called > 0
                series_called, series_judged = series_called + called, series_judged + len(found)
        total = percent(sum(nights_called.values()), campaigns * len(JUDGED))
        shares = [percent(nights_called[until], campaigns) for until in JUDGED]
        return name, *shares, total, f"{100 * series_called / series_judged:.2f} %"

    table(
        f"Nights of noise: share with any call among {CELLS * len(APART)} series ({campaigns} campaigns)",
        ("noise", *(f"night {n}" for n in JUDGED), "all", "series called"),
        (row(name) for name in NOISE if only in name),
    )


# ---- changes ----


def changed(rng: Rng, *, factor: float, cells: Sequence[int], after: int, repeats: int, cause: str | None) -> Campaign:
    """``BEFORE`` nights of 3 % noise a run, then ``after`` nights with the speed of ``cells`` times ``factor``."""
    made = []
    for night in range(BEFORE + after):
        latent = np.zeros((CELLS, 2))
        if night >= BEFORE:
            latent[list(cells), 0] += np.log(factor)
        facts = {cause: "new"} if cause and night >= BEFORE else {}
        made.append(one_night(rng, latent, night, repeats=repeats, own=0.03, facts=facts))
    return made


MOVING = ("decode_tok_s", "tpot_p50_ms", "ttft_p50_ms")  # of the first two each change is seen in both


def detections(rng: Rng, campaigns: int, only: str) -> None:
    """Changes of 10 %: found, announced, with their cause, and what else was called."""

    def row(name: str, cells: Sequence[int], repeats: int, cause: str | None) -> tuple[str, ...]:
        found, announced, blamed, others = {1: 0, 2: 0, 3: 0}, 0, 0, 0
        runs = campaigns if len(cells) == 1 else max(campaigns // 4, 1)  # many cells tell as much in fewer campaigns
        true = {(f"w{c // len(USERS)}", USERS[c % len(USERS)]) for c in cells}
        for _ in range(runs):
            made, heard = changed(rng, factor=0.9, cells=cells, after=5, repeats=repeats, cause=cause), False
            for later in range(1, 6):
                if heard and later not in found:
                    break
                answers = judged(made, BEFORE + later, MOVING)
                heard = heard or nightly_alert("c", "n", answers) is not None
                hits = [f for f in answers if f.answer == "REGRESSED" and (f.workload, f.users) in true]
                speeds = [f for f in hits if f.metric == "decode_tok_s"]
                if later in found:
                    found[later] += len(speeds)
                if later == 2:
                    blamed += sum(set(f.what_changed) == ({cause} if cause else set()) for f in speeds)
                    others += any(f.answer in CALLED and f not in hits for f in answers)
            announced += heard
        shares = [percent(found[n], runs * len(cells)) for n in found]
        return name, *shares, percent(blamed, max(found[2], 1)), percent(announced, runs), percent(others, runs)

    everything = tuple(range(CELLS))
    kinds: tuple[tuple[str, Sequence[int], int, str | None], ...] = (
        ("one of 20 cells, 1 run a night", (7,), 1, None),
        ("one of 20 cells, 3 repeats", (7,), 3, None),
        ("all cells, 1 run a night, a new image", everything, 1, "image_digest"),
        ("all cells, 3 repeats, a new image", everything, 3, "image_digest"),
        ("all cells, 3 repeats, a new driver only", everything, 3, "driver"),
        ("a quarter of the cells, 3 repeats, nothing known to have changed", everything[::4], 3, None),
    )
    table(
        f"-10 % at 3 % noise of a run after {BEFORE} nights, {CELLS} cells ({campaigns} campaigns)",
        (
            "change",
            "1 night",
            "2 nights",
            "3 nights",
            "cause right",
            "a message within 5 nights",
            "others called, night 2",
        ),
        (row(*kind) for kind in kinds if only in kind[0]),
    )


def breaks(rng: Rng, campaigns: int, only: str) -> None:
    """What is no change of speed, though the numbers differ by 20 %; and levels that come and go."""
    rows = []
    for fact in ("metric_definition", "client_name", "token_count_source"):
        if only not in fact:
            continue
        refused = called = 0
        for _ in range(campaigns):
            made = changed(rng, factor=0.8, cells=range(CELLS), after=3, repeats=3, cause=fact)
            first = judged(made, BEFORE + 1)
            refused += all(f.answer == "REFUSED" for f in first if f.workload != "(launch)")
            called += any(f.answer in CALLED for n in (1, 2, 3) for f in judged(made, BEFORE + n))
        rows.append((f"another {fact}, -20 %", percent(refused, campaigns), percent(called, campaigns)))
    if only in "kv_meaning":
        refused = called = 0
        for _ in range(campaigns):
            made = changed(rng, factor=1.0, cells=[], after=3, repeats=1, cause="kv_meaning")
            first = judged(made, BEFORE + 1)
            refused += any(f.answer == "REFUSED" and f.metric == "kv_tokens" for f in first)
            called += any(f.answer in CALLED for n in (1, 2, 3) for f in judged(made, BEFORE + n))
        rows.append(("another kv_meaning, pool halved", percent(refused, campaigns), percent(called, campaigns)))
    table(
        f"Numbers of another kind ({campaigns} campaigns)",
        ("data", "refused by name that night", "called on any of three nights"),
        rows,
    )


def main() -> None:
    """Run everything, or compare a few campaigns with what the warehouse says of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=23)
    parser.add_argument("--only", default="", help="only data whose name holds this text")
    parser.add_argument("--part", choices=("nights", "changes", "breaks", "arms"), help="only this part")
    parser.add_argument("--through-warehouse", action="store_true", help="load every campaign and read it back")
    args = parser.parse_args()
    if args.through_warehouse:
        rng = np.random.default_rng(args.seed)
        for name in (name for name in NOISE if args.only in name):
            for _ in range(args.campaigns):
                with tempfile.TemporaryDirectory() as folder:
                    made = noise(rng, name, 6)
                    check_through_warehouse(Path(folder), made, judged(made, 6))
            print(f"the same through the warehouse: {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            one_run = arms(rng, repeats=3, own=0.03, errors=0.01)
            check_through_warehouse(Path(folder), [one_run], compared(one_run))
        print("the same through the warehouse: two arms, swapped", flush=True)
        return
    print(f"seed {args.seed}, {args.campaigns} campaigns, numpy {np.__version__}")
    parts = {"nights": false_alarms, "changes": detections, "breaks": breaks, "arms": comparisons}
    for name, part in parts.items():
        if args.part in (None, name):
            part(np.random.default_rng(args.seed), args.campaigns, args.only)


if __name__ == "__main__":
    main()
