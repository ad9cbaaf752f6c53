"""How often the statistics are right, measured on made-up campaigns whose truth is known.

    python -m benchmarks.statistics_rates [--runs 1000] [--seed 1] [--only coverage|claims|nights]

Prints Markdown tables; docs/statistics.md holds the ones of its last run. Everything is drawn from a seeded
generator, so the same arguments give the same tables. With the package apache-otava importable (it needs an
environment of its own), its defaults are measured on the same series.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "include"))

from benchgate.analysis.cells import MeasuredCell
from benchgate.analysis.compare import compare
from benchgate.analysis.family import judge_night
from benchgate.analysis.launch_noise import NightNoise
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.regression import judge
from benchgate.analysis.reversals import reversals
from benchgate.analysis.series import Night, NightlySeries, night_noise

Rng = np.random.Generator
KNOWN_NIGHTS = "the same, after 14 nights"
CALLED = ("REGRESSED", "IMPROVED")
NIGHTS = 31


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print one Markdown table."""
    names = list(columns)
    print(f"\n### {title}\n\n| {' | '.join(names)} |\n|{'|'.join('---' for _ in names)}|")
    for row in rows:
        print(f"| {' | '.join(str(value) for value in row)} |", flush=True)


def percent(share: float) -> str:
    """``4.3 %``."""
    return f"{100 * share:.1f} %"


def campaign(
    rng: Rng,
    *,
    effect: float = 1.0,
    placement: float = 1.0,
    noise: tuple[float, float] = (0.03, 0.03),
    launch_noise: float = 0.0,
    skew: bool = False,
    repeats: int = 3,
    places: tuple[str, ...] = ("h/a", "h/b"),
    users: int = 64,
    metric: str = "decode_tok_s",
) -> list[MeasuredCell]:
    """Two arms on every place: b = a x ``effect``, the second place = the first x ``placement``."""
    cells = []
    for arm, factor, sigma in (("a", 1.0, noise[0]), ("b", effect, noise[1])):
        for number, place in enumerate(places):
            launch = rng.normal(0, launch_noise) if launch_noise else 0.0
            for repeat in range(1, repeats + 1):
                error = sigma * (rng.exponential() - 1.0) if skew else rng.normal(0, sigma)
                value = 1000 * factor * placement**number * float(np.exp(error + launch))
                cells.append(MeasuredCell("r", arm, place, "w", users, None, repeat, {metric: value}))
    return cells


def coverage(rng: Rng, runs: int) -> None:
    """Share of intervals that hold the true effect, and how wide they are."""
    kinds: dict[str, dict[str, object]] = {
        "3 % normal": {},
        "1 % normal": {"noise": (0.01, 0.01)},
        "arm b twice as noisy (3 %, 6 %)": {"noise": (0.03, 0.06)},
        "3 % skewed (exponential)": {"skew": True},
        "1 % repeats, 2 % between launches, first night": {"noise": (0.01, 0.01), "launch_noise": 0.02},
        KNOWN_NIGHTS: {"noise": (0.01, 0.01), "launch_noise": 0.02},
    }
    rows = []
    for name, options in kinds.items():
        for design, places in (("one placement", ("h/a",)), ("swapped on two", ("h/a", "h/b"))):
            cells: list[object] = [name, design]
            for repeats in (2, 3, 5):
                held, widths = 0, []
                for _ in range(runs):
                    made = campaign(rng, effect=1.1, placement=1.05, repeats=repeats, places=places, **options)  # type: ignore[arg-type]
                    [found] = compare(made, nights=_past(rng, repeats) if name == KNOWN_NIGHTS else None)
                    held += (found.low or 9.0) <= 1.1 <= (found.high or 0.0)
                    widths.append(found.smallest_visible or 0.0)
                cells.append(f"{percent(held / runs)}, sees {percent(float(np.median(widths)))}")
            rows.append(cells)
    table(
        f"Coverage of the 95 % interval, and the median smallest visible effect ({runs} campaigns each)",
        ("noise", "design", "2 repeats", "3 repeats", "5 repeats"),
        rows,
    )
    bootstraps(rng, runs)


def _past(rng: Rng, repeats: int) -> dict[tuple[str, int | None, float | None, str], NightNoise]:
    """What fourteen nights of two arms know about the noise between launches."""
    noise = np.sqrt(0.02**2 + 0.01**2 / repeats)
    past = [series(1000 * np.exp(rng.normal(0, noise, 14))) for _ in range(2)]
    return night_noise(past)


def bootstraps(rng: Rng, runs: int) -> None:
    """Why not a bootstrap: coverage of the ratio of two arms, requests included."""
    requests, draws = 200, 400
    rows = []
    for repeats in (2, 3, 5, 10):
        held = {"t": 0, "repeats": 0, "both": 0}
        for _ in range(max(runs // 4, 100)):
            # latencies of requests: 30 % scatter within a run, 3 % between runs
            arms = [rng.normal(0, 0.03, (repeats, 1)) + rng.normal(0, 0.3, (repeats, requests)) for _ in range(2)]
            medians = [np.median(arm, axis=1) for arm in arms]
            made = [
                MeasuredCell("r", name, "h/a", "w", 1, None, i, {"ttft_p50_ms": 100 * float(np.exp(value))})
                for name, values in zip("ab", medians, strict=True)
                for i, value in enumerate(values, 1)
            ]
            [found] = compare(made)
            held["t"] += (found.low or 9.0) <= 1.0 <= (found.high or 0.0)
            picks = [rng.integers(0, repeats, (draws, repeats)) for _ in arms]
            by_repeat = [m[p].mean(axis=1) for m, p in zip(medians, picks, strict=True)]
            held["repeats"] += _holds_zero(by_repeat[1] - by_repeat[0])
            again = [_requests_too(rng, arm, pick) for arm, pick in zip(arms, picks, strict=True)]
            held["both"] += _holds_zero(again[1] - again[0])
        count = max(runs // 4, 100)
        rows.append((repeats, *(percent(held[name] / count) for name in ("t", "repeats", "both"))))
    table(
        "The same with bootstraps: median TTFT of two equal arms, 200 requests a run",
        ("repeats", "Student's t (ours)", "bootstrap over repeats", "hierarchical: repeats and requests"),
        rows,
    )


def _holds_zero(draws: np.ndarray) -> bool:
    low, high = np.quantile(draws, [0.025, 0.975])
    return bool(low <= 0 <= high)


def _requests_too(rng: Rng, arm: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """Mean over resampled repeats of the median of resampled requests."""
    requests = arm.shape[1]
    result = np.empty(len(picks))
    for number, pick in enumerate(picks):
        chosen = rng.integers(0, requests, (len(pick), requests))
        result[number] = np.median(np.take_along_axis(arm[pick], chosen, axis=1), axis=1).mean()
    return result


def claims(rng: Rng, runs: int) -> None:
    """False claims and found effects of whole runs: six cells, three metrics, two arms."""
    rows = []
    for repeats in (2, 3, 5):
        for design, places in (("one placement", ("h/a",)), ("swapped on two", ("h/a", "h/b"))):
            false = turned = 0
            found = {0.05: 0, 0.1: 0, 0.2: 0}
            for _ in range(runs // 4):
                null = _run(rng, 1.0, repeats, places)
                called = compare(null)
                false += any(c.direction for c in called)
                turned += bool(reversals(called))
                for effect in found:
                    real = compare(_run(rng, 1.0 + effect, repeats, places))
                    found[effect] += sum(c.direction > 0 for c in real) / len(real)  # type: ignore[assignment]
            count = runs // 4
            shares = [false, turned, *found.values()]
            rows.append((repeats, design, *(percent(share / count) for share in shares)))
    table(
        f"Whole runs of 6 cells x 3 metrics at 3 % noise, placement effect 8 % ({runs // 4} runs each)",
        ("repeats", "design", "any false claim", "any false reversal", "5 % found", "10 % found", "20 % found"),
        rows,
    )


def _run(rng: Rng, effect: float, repeats: int, places: tuple[str, ...]) -> list[MeasuredCell]:
    metrics = ("decode_tok_s", "prefill_tok_s", "e2e_p50_ms")
    cells = []
    for users in range(1, 7):
        for metric in metrics:
            factor = 1 / effect if metric.endswith("_ms") else effect
            cells += campaign(
                rng, effect=factor, placement=1.08, repeats=repeats, places=places, users=users, metric=metric
            )
    return cells


def series(values: np.ndarray) -> NightlySeries:
    """One value a night, fingerprints unknown."""
    nights = tuple(Night(str(np.datetime64("2026-01-01") + i), f"n{i}", float(value)) for i, value in enumerate(values))
    return NightlySeries("c", "a", "h/a", "w", 64, None, BY_NAME["decode_tok_s"], nights)


def noises(rng: Rng) -> dict[str, Callable[[int], np.ndarray]]:
    """Kinds of noise, each giving values around 1000."""

    def normal(sigma: float) -> Callable[[int], np.ndarray]:
        return lambda n: 1000 * np.exp(rng.normal(0, sigma, n))

    def correlated(phi: float) -> Callable[[int], np.ndarray]:
        def make(n: int) -> np.ndarray:
            noise = np.empty(n)
            noise[0] = rng.normal(0, 0.03)
            for i in range(1, n):
                noise[i] = phi * noise[i - 1] + rng.normal(0, 0.03 * np.sqrt(1 - phi**2))
            return 1000 * np.exp(noise)

        return make

    return {
        "1 % normal": normal(0.01),
        "3 % normal": normal(0.03),
        "5 % normal": normal(0.05),
        "8 % normal": normal(0.08),
        "3 %, neighbours correlated 0.3": correlated(0.3),
        "3 %, neighbours correlated 0.6": correlated(0.6),
        "3 %, heavy tails (t with 3 degrees)": lambda n: 1000 * np.exp(0.03 / np.sqrt(3) * rng.standard_t(3, n)),
        "2 % and 6 % nights mixed": lambda n: (
            1000 * np.exp(rng.normal(0, 1, n) * np.where(rng.random(n) < 0.3, 0.06, 0.02))
        ),
        "3 %, one night in 20 loses 25 %": lambda n: (
            1000 * np.exp(rng.normal(0, 0.03, n)) * np.where(rng.random(n) < 0.05, 0.75, 1.0)
        ),
    }


def nights(rng: Rng, runs: int) -> None:
    """False alarms of the nightly rule, and how soon real changes are found."""
    count = max(runs // 4, 100)
    rows = []
    for name, make in noises(rng).items():
        alarms, settled, hit = 0, 0, 0
        many = 4 * count if name == "3 % normal" else count  # the noise that the rule is made for
        for _ in range(many):
            values = make(NIGHTS)
            called = [judge(series(values[:n])).answer in CALLED for n in range(2, NIGHTS + 1)]
            alarms += sum(called)
            settled += sum(called[10:])
            hit += any(called)
        settled_nights = many * (NIGHTS - 11)
        shares = [alarms / many / (NIGHTS - 1), settled / settled_nights, hit / many]
        rows.append((name, many, *map(percent, shares)))
    table(
        f"False alarms on noise alone, series of {NIGHTS} nights judged night by night",
        ("noise", "series", "per night", "per night, after the first 11", "any within 30 nights"),
        rows,
    )
    found_within(rng, count)
    many_cells(rng, max(runs // 20, 50))
    drifts(rng, max(runs // 10, 50))


def found_within(rng: Rng, count: int) -> None:
    """Share of step regressions that are called within one, two, three nights."""
    rows = []
    for noise, factor in ((0.03, 0.9), (0.03, 0.85), (0.01, 0.95), (0.05, 0.9), (0.0173, 0.9)):
        for before in (3, 7, 14, 21, 30, 60):
            hits = np.zeros(3)
            for _ in range(count):
                values = 1000 * np.exp(rng.normal(0, noise, before + 3))
                values[before:] *= factor
                called = [judge(series(values[: before + n])).answer == "REGRESSED" for n in (1, 2, 3)]
                hits += np.maximum.accumulate(called)
            rows.append((percent(noise), percent(1 - factor), before, *(percent(h / count) for h in hits)))
    table(
        f"Regressions found within 1, 2, 3 nights ({count} series each; 1.7 % is the noise of a median of 3 repeats)",
        ("noise of a night", "regression", "nights before", "1 night", "2 nights", "3 nights"),
        rows,
    )


def many_cells(rng: Rng, count: int) -> None:
    """Whole nights: 100 series at once, with nothing real and with one arm (a tenth of them) regressed."""
    false = found = wrong = 0.0
    for _ in range(count):
        calm = [series(1000 * np.exp(rng.normal(0, 0.03, 22))) for _ in range(90)]
        null = [series(1000 * np.exp(rng.normal(0, 0.03, 22))) for _ in range(10)]
        false += any(f.answer in CALLED for f in judge_night([*calm, *null]))
        slow = []
        for _ in range(10):
            values = 1000 * np.exp(rng.normal(0, 0.03, 22))
            values[20:] *= 0.9
            slow.append(series(values))
        judged = judge_night([*calm, *slow])
        found += sum(f.answer == "REGRESSED" for f in judged[90:]) / 10
        wrong += any(f.answer in CALLED for f in judged[:90])
    table(
        f"Whole nights of 100 series at 3 % noise, 20 nights of history ({count} nights)",
        ("nights of noise with any alarm", "10 % regression in one arm: series found on night 2", "others called then"),
        [(percent(false / count), percent(found / count), percent(wrong / count))],
    )


def drifts(rng: Rng, count: int) -> None:
    """Slow drifts of 15 % over 30 nights: when they are called."""
    lost = []
    for _ in range(count):
        values = 1000 * np.exp(rng.normal(0, 0.02, 60))
        values[15:45] *= np.exp(np.linspace(0, np.log(0.85), 30))
        values[45:] *= 0.85
        first = next((n for n in range(17, 61) if judge(series(values[:n])).answer == "REGRESSED"), None)
        lost.append(np.inf if first is None else 0.5 * min(max(first - 15, 0), 30))
    table(
        f"A drift of half a percent a night for 30 nights at 2 % noise ({count} series)",
        ("called at all", "median loss when first called", "90 % are called by a loss of"),
        [(percent(float(np.mean(np.isfinite(lost)))), f"{np.median(lost):.1f} %", f"{np.quantile(lost, 0.9):.1f} %")],
    )


def otava(rng: Rng, runs: int) -> None:
    """The same questions to Apache Otava with its defaults; its newest change point counts as an alarm."""
    try:
        from otava.series import AnalysisOptions, Metric, Series
    except ImportError:
        print("\n(apache-otava is not importable here: not measured)")
        return
    count = max(runs // 10, 50)

    def points(values: np.ndarray) -> list[int]:
        one = Series("s", None, list(range(len(values))), {"m": Metric(1, 1.0)}, {"m": list(values)}, {})
        return [point.index for point in one.analyze(AnalysisOptions()).change_points["m"]]

    hit = 0
    for _ in range(count):
        values = 1000 * np.exp(rng.normal(0, 0.03, NIGHTS))
        hit += any(points(values[:n]) for n in range(4, NIGHTS + 1))
    rows: list[tuple[object, ...]] = [("any false alarm within 30 nights", percent(hit / count))]
    for before in (14, 21, 30):
        found = 0
        for _ in range(count):
            values = 1000 * np.exp(rng.normal(0, 0.03, before + 2))
            values[before:] *= 0.9
            found += any(point >= before - 1 for point in points(values))
        rows.append((f"10 % regression found on night 2 after {before} nights", percent(found / count)))
    table(f"Apache Otava with its defaults, 3 % noise ({count} series each)", ("question", "answer"), rows)


def main() -> None:
    """Run the simulations that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="campaigns for each line; the others follow from it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("coverage", "claims", "nights", "otava"))
    args = parser.parse_args()
    print(f"seed {args.seed}, {args.runs} runs, numpy {np.__version__}")
    for name, measure in {"coverage": coverage, "claims": claims, "nights": nights, "otava": otava}.items():
        if args.only in (None, name):
            measure(np.random.default_rng(args.seed), args.runs)


if __name__ == "__main__":
    main()
