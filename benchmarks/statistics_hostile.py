"""The statistics on data that they were not tuned on: odd noise, confounds, broken series. The truth of each is known.

    python -m benchmarks.statistics_hostile [--runs 200] [--seed 11]

Prints the Markdown tables of docs/statistics.md. For noise a line says how often something was claimed that is not so,
for effects how often they were found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.compare import compare
from benchgate.analysis.family import judge_night
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.reversals import reversals
from benchgate.analysis.series import Night, NightlySeries

Rng = np.random.Generator
Noise = Callable[[int], np.ndarray]
CALLED = ("REGRESSED", "IMPROVED")


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print one Markdown table."""
    names = list(columns)
    print(f"\n### {title}\n\n| {' | '.join(names)} |\n|{'|'.join('---' for _ in names)}|", flush=True)
    for row in rows:
        print(f"| {' | '.join(str(value) for value in row)} |", flush=True)


def percent(part: float, of: float) -> str:
    """``4.3 %``."""
    return f"{100 * part / of:.1f} %"


# ---- comparisons of one night ----


def run_of(
    rng: Rng,
    *,
    effect: Sequence[float] = (1.0,) * 6,
    noise: Noise | None = None,
    launches: float = 0.01,
    repeats: tuple[dict[str, int], dict[str, int]] = ({"h/a": 3, "h/b": 3}, {"h/a": 3, "h/b": 3}),
    placement: float = 1.08,
    digits: int | None = None,
) -> list[MeasuredCell]:
    """Arms a and b over six user levels; b = a x ``effect`` of the level. ``repeats`` on each placement: of a, of b."""
    draw = noise or (lambda n: rng.normal(0, 0.03, n))
    cells = []
    for arm, counts in zip("ab", repeats, strict=True):
        for place, count in counts.items():
            launch = rng.normal(0, launches)
            for users, factor in enumerate(effect, 1):
                level = 1000 * (factor if arm == "b" else 1.0) * (placement if place == "h/b" else 1.0)
                for repeat, error in enumerate(draw(count), 1):
                    value = level * float(np.exp(launch + error))
                    value = value if digits is None else round(value, digits)
                    cells.append(MeasuredCell("r", arm, place, "w", users, None, repeat, {"decode_tok_s": value}))
    return cells


def comparisons(rng: Rng, runs: int) -> None:
    """Runs in which nothing is real but the placement, 8 % faster on one."""
    unswapped = ({"h/a": 3}, {"h/b": 3})
    lopsided = ({"h/a": 5, "h/b": 2}, {"h/a": 2, "h/b": 5})
    kinds: dict[str, dict[str, object]] = {
        "3 % normal, launches differ by 1 %": {},
        "launches differ by 2 %, repeats by 0.5 %": {"launches": 0.02, "noise": lambda n: rng.normal(0, 0.005, n)},
        "launches differ by 4 %": {"launches": 0.04},
        "heavy tails (t with 2 degrees)": {"noise": lambda n: 0.02 * rng.standard_t(2, n)},
        "one repeat in ten loses 30 %": {
            "noise": lambda n: rng.normal(0, 0.01, n) - 0.36 * (rng.random(n) < 0.1),
        },
        "the first repeat of a launch is cold, 10 % slower": {
            "noise": lambda n: rng.normal(0, 0.01, n) - 0.1 * (np.arange(n) == 0),
        },
        "repeats drift by 2 % each": {"noise": lambda n: rng.normal(0, 0.01, n) + 0.02 * np.arange(n)},
        "5 and 2 repeats, 2 and 5 on the other placement": {"repeats": lopsided},
        "values rounded to two digits: many ties": {"digits": -1, "noise": lambda n: rng.normal(0, 0.004, n)},
        "never swapped: the arm is the placement (8 %)": {"repeats": unswapped},
    }
    rows = []
    for name, options in kinds.items():
        cell = any_cell = turned = labelled = 0
        for _ in range(runs):
            found = compare(run_of(rng, **options))  # type: ignore[arg-type]
            cell += sum(c.low is not None and c.high is not None and not c.low <= 1 <= c.high for c in found)
            any_cell += any(c.direction for c in found)
            turned += bool(reversals(found))
            labelled += all(c.design.startswith("confounded") for c in found)
        rows.append(
            (name, percent(cell, 6 * runs), percent(any_cell, runs), percent(turned, runs), percent(labelled, runs))
        )
    table(
        f"Runs of six cells with equal arms, placements 8 % apart ({runs} runs each)",
        ("data", "intervals without 1", "runs with a claim", "with a reversal", "said to be confounded"),
        rows,
    )
    rows = []
    for name, effects in {
        "no effect above 1 %: order flips within noise": (1.01, 0.99, 1.01, 0.99, 1.0, 1.0),
        "10 % ahead with few users, 10 % behind with many": (1.1, 1.1, 1.1, 0.9, 0.9, 0.9),
        "36 % ahead, 10 % behind at one level": (1.36, 1.36, 1.36, 1.36, 1.36, 0.9),
    }.items():
        found_ones = wrong = 0
        for _ in range(runs):
            called = compare(run_of(rng, effect=effects))
            found_ones += bool(reversals(called))
            wrong += any(c.direction * (effects[(c.users or 1) - 1] - 1) < 0 for c in called)
        rows.append((name, percent(found_ones, runs), percent(wrong, runs)))
    table(f"Reversals ({runs} runs each)", ("truth", "runs with a reversal", "with a claim of the wrong sign"), rows)


# ---- nights ----

FACTS = {"metric_definition": "1", "client_name": "benchgate", "token_count_source": "usage", "dataset": "sharegpt"}


def series_of(
    values: np.ndarray, *, missing: np.ndarray | None = None, facts: Sequence[dict[str, object]] | None = None
) -> NightlySeries:
    """One value a night; ``missing`` nights are left out."""
    nights = tuple(
        Night(
            str(np.datetime64("2026-01-01") + i),
            f"n{i}",
            float(value),
            facts=facts[i] if facts else FACTS,  # type: ignore[arg-type]
        )
        for i, value in enumerate(values)
        if missing is None or not missing[i]
    )
    return NightlySeries("c", "a", "h/a", "w", 64, None, BY_NAME["decode_tok_s"], nights)


def correlated(rng: Rng, count: int, phi: float, sigma: float) -> np.ndarray:
    """An autoregression of first order with standard deviation ``sigma``."""
    values = np.empty(count)
    values[0] = rng.normal(0, sigma)
    for i in range(1, count):
        values[i] = phi * values[i - 1] + rng.normal(0, sigma * np.sqrt(1 - phi**2))
    return values


def nights(rng: Rng, runs: int, together: int = 20) -> None:
    """Campaigns of twenty series without any change: claims per series and night, and campaign nights with any."""
    weekend = np.array([0, 0, 0, 0, 0, -0.04, -0.04])

    def alike(make: Noise) -> Callable[[int], list[np.ndarray]]:
        return lambda n: [make(n) for _ in range(together)]

    def machine(n: int) -> list[np.ndarray]:
        common = rng.normal(0, 0.03, n)
        return [common + rng.normal(0, 0.01, n) for _ in range(together)]

    kinds: dict[str, Callable[[int], list[np.ndarray]]] = {
        "3 % normal": alike(lambda n: rng.normal(0, 0.03, n)),
        "8 % normal": alike(lambda n: rng.normal(0, 0.08, n)),
        "half of the series 1 %, half 10 %": lambda n: [
            rng.normal(0, 0.01 if i % 2 else 0.1, n) for i in range(together)
        ],
        "neighbours correlated 0.5": alike(lambda n: correlated(rng, n, 0.5, 0.03)),
        "heavy tails (t with 2 degrees)": alike(lambda n: 0.015 * rng.standard_t(2, n)),
        "one night in 20 loses 25 %": alike(lambda n: rng.normal(0, 0.02, n) - 0.29 * (rng.random(n) < 0.05)),
        "weekends 4 % slower, 1 % noise": alike(lambda n: weekend[np.arange(n) % 7] + rng.normal(0, 0.01, n)),
        "the machine moves all series by 3 % a night": machine,
        "no noise at all": alike(np.zeros),
    }
    rows = []
    for name, make in kinds.items():
        for count in (2, 3, 5, 8, 14, 30):
            called = campaigns = 0
            for _ in range(runs):
                found = judge_night([series_of(1000 * np.exp(values)) for values in make(count)])
                called += sum(f.answer in CALLED for f in found)
                campaigns += any(f.answer in CALLED for f in found)
            if count == 2:
                rows.append([name])
            rows[-1].append(f"{percent(called, runs * together)} / {percent(campaigns, runs)}")
    table(
        f"Nights of noise: series called / campaign nights with any call ({runs} campaigns of {together} series each)",
        ("noise", *(f"night {n}" for n in (2, 3, 5, 8, 14, 30))),
        rows,
    )


def changes(rng: Rng, runs: int) -> None:
    """Real changes, and breaks that are no change of speed, at 3 % noise."""
    rows = []
    for name, factors, wanted in (
        ("-10 %, twice, 10 nights apart: the second", [1.0] * 20 + [0.9] * 10 + [0.81] * 2, "REGRESSED"),
        ("+10 %, 10 nights later back again", [1.0] * 20 + [1.1] * 10 + [1.0] * 2, "REGRESSED"),
        ("-10 %, 30 % of nights missing", [1.0] * 30 + [0.9] * 2, "REGRESSED"),
        ("16055 -> 13306 (vllm 40838) after 5 nights", [1.0] * 5 + [13306 / 16055] * 2, "REGRESSED"),
        ("35 % slower (vllm 27523) after 2 nights", [1.0] * 2 + [0.65] * 2, "REGRESSED"),
        ("one odd night of -30 %, then back", [1.0] * 20 + [0.7] + [1.0], "REGRESSED"),
    ):
        hit = 0
        for _ in range(runs):
            values = 1000 * np.asarray(factors) * np.exp(rng.normal(0, 0.03, len(factors)))
            missing = np.zeros(len(values), bool)
            if "missing" in name:
                missing[:-2] = rng.random(len(values) - 2) < 0.3
            hit += judge_night([series_of(values, missing=missing)])[0].answer == wanted
        rows.append((name, percent(hit, runs)))
    for fact, new in (("metric_definition", "2"), ("client_name", "vllm bench"), ("dataset", "synthetic")):
        refused = called = 0
        for _ in range(runs):
            values = 1000 * np.exp(rng.normal(0, 0.03, 24))
            values[20:] *= 0.8
            facts = [FACTS if i < 20 else {**FACTS, fact: new} for i in range(24)]
            one = series_of(values, facts=facts)
            refused += judge_night([one.until(21)])[0].answer == "REFUSED"
            called += any(judge_night([one.until(n)])[0].answer in CALLED for n in range(21, 25))
        rows.append((f"-20 % with another {fact}: refused by name that night", percent(refused, runs)))
        rows.append((f"-20 % with another {fact}: called on any of four nights", percent(called, runs)))
    table(f"Changes at 3 % noise, on their second night ({runs} series each)", ("data", "share"), rows)


def one_run(rng: Rng, runs: int, requests: int = 1000, draws: int = 300) -> None:
    """What an interval from the requests of one run holds: its own long-run median, and that of another run."""
    rows = []
    for name, waves, between in (
        ("independent requests", 1, 0.0),
        ("64 users in step: requests of a wave share 80 % of their delay", 64, 0.0),
        ("independent requests, runs differ by 3 %", 1, 0.03),
        ("64 users in step, runs differ by 3 %", 64, 0.03),
    ):
        held = {50: 0, 99: 0}
        for _ in range(runs):
            shared = np.repeat(rng.normal(0, 0.3 * np.sqrt(0.8), requests // waves + 1), waves)[:requests]
            own = rng.normal(0, 0.3 * np.sqrt(0.2), requests) if waves > 1 else rng.normal(0, 0.3, requests)
            delays = np.exp((shared if waves > 1 else 0.0) + own + rng.normal(0, between))
            again = delays[rng.integers(0, requests, (draws, requests))]
            for p, z in ((50, 0.0), (99, 2.3263)):
                low, high = np.quantile(np.percentile(again, p, axis=1), [0.025, 0.975])
                held[p] += low <= np.exp(0.3 * z) <= high
        rows.append((name, *(percent(held[p], runs) for p in (50, 99))))
    table(
        f"Bootstrap over the {requests} requests of one run: 95 % intervals that hold the true value ({runs} runs)",
        ("requests", "p50", "p99"),
        rows,
    )


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    print(f"seed {args.seed}, {args.runs} runs, numpy {np.__version__}")
    for measure in (comparisons, nights, changes, one_run):
        measure(np.random.default_rng(args.seed), args.runs)


if __name__ == "__main__":
    main()
