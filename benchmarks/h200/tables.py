"""The tables of docs/h200.md, out of docs/results/h200/*.csv and nothing else.

    python benchmarks/h200/tables.py RESULTS              print them
    python benchmarks/h200/tables.py RESULTS DOCUMENT     put them into the document

A table of the document is what stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

Row = dict[str, str]


def read(folder: Path, name: str) -> list[Row]:
    """The rows of one packed table."""
    with (folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _number(text: str, digits: int = 3) -> str:
    """As many digits as a reader needs; a dash for what is unknown."""
    if not text:
        return "–"
    value = float(text)
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _load(row: Row) -> str:
    return f"{row['workload']}, {row['users']} user{'s' if row['users'] != '1' else ''}"


def _cell_table(cells: list[Row]) -> str:
    head = [
        "load",
        "arm",
        "GPU",
        "repeat",
        "decode tok/s",
        "TTFT p50 / p90 ms",
        "TPOT p50 ms",
        "stood still",
        "verdict",
    ]
    return _table(
        head,
        (
            [
                *(_load(row), row["arm"], row["placement"].removeprefix("gpu"), row["repeat"]),
                _number(row["decode_tok_s"], 4),
                f"{_number(row['ttft_p50_ms'])} / {_number(row['ttft_p90_ms'])}",
                _number(row["tpot_p50_ms"]),
                f"{float(row['stalled_s']):.1f} of {float(row['duration_s']):.1f} s"
                if float(row["stalled_s"])
                else "–",
                (row["warm"] or "too few requests").replace("not_warm", "**not warm**"),
            ]
            for row in cells
        ),
    )


def _comparison_table(rows: list[Row]) -> str:
    names = {"ttft_p50_ms": "TTFT p50", "tpot_p50_ms": "TPOT p50", "decode_tok_s": "decode tok/s"}
    return _table(
        ["load", "metric", "Triton", "Marlin", "Marlin / Triton [95 %]", "verdict"],
        (
            [
                *(_load(row), names[row["metric"]], _number(row["baseline_median"]), _number(row["arm_median"])),
                _ratio(row),
                row["verdict"],
            ]
            for row in rows
            if row["metric"] in names
        ),
    )


def _ratio(row: Mapping[str, object]) -> str:
    def number(name: str) -> float:
        return float(str(row[name]))

    if not row.get("low"):
        return f"{number('point'):.2f}x"
    return f"{number('point'):.2f}x [{number('low'):.2f}, {number('high'):.2f}]"


def _placement_table(rows: list[Row]) -> str:
    names = {"ttft_p50_ms": "TTFT p50", "tpot_p50_ms": "TPOT p50", "decode_tok_s": "decode tok/s"}
    out = []
    for row in rows:
        if row["metric"] in names and row["placement_effects"]:
            (effect,), (claim,) = json.loads(row["placement_effects"]), json.loads(row["unswapped"])
            paired = f"{_ratio(row)} {row['verdict']}"
            out.append(
                [_load(row), names[row["metric"]], paired, _ratio(effect), f"{_ratio(claim)} {claim['verdict']}"]
            )
    return _table(["load", "metric", "paired", "GPU 1 / GPU 0", "unswapped claim"], out)


def _client_table(cells: list[Row], others: list[Row]) -> str:
    out = []
    for other in others:
        ours = [
            row
            for row in cells
            if (row["arm"], row["users"], row["workload"]) == (other["arm"], other["users"], "short")
        ]
        for name, row, warm in [(f"ours, repeat {row['repeat']}", row, row["warm"]) for row in ours] + [
            ("vllm bench serve", other, other["warm_verdict"])
        ]:
            out.append(
                [
                    *(other["arm"], other["users"], name, row["completed"], _number(row["decode_tok_s"], 4)),
                    *(_number(row["tpot_p50_ms"]), _number(row["itl_p50_ms"])),
                    f"{_number(row['ttft_p50_ms'])} / {_number(row['ttft_p90_ms'])}",
                    (warm or "–").replace("not_warm", "**not warm**"),
                ]
            )
    head = ["arm", "users", "client", "requests", "tok/s", "TPOT p50 ms", "ITL p50 ms", "TTFT p50 / p90 ms", "verdict"]
    return _table(head, out)


def _launch_table(rows: list[Row]) -> str:
    return _table(
        [
            "run",
            "launch",
            "kernel (proven)",
            "weights GiB",
            "KV pool, tokens",
            "reserved GiB",
            "graphs s",
            "start s",
            "needles",
        ],
        (
            [
                *(row["run"].rpartition(".")[2], row["launch"], row["moe_kernel"], row["weights_gib"]),
                *(f"{int(row['kv_tokens']):,}", row["memory_reserved_gib"], row["graph_capture_seconds"]),
                *(_number(row["startup_s"]), row["needles"]),
            ]
            for row in rows
        ),
    )


def _together_table(cells: list[Row]) -> str:
    """Medians of one GPU's run alone and of the run with both arms at once, same loads."""
    out = []
    for arm in ("triton", "marlin"):
        for workload in ("short", "prompt-8k"):
            same = [row for row in cells if row["arm"] == arm and row["workload"] == workload and row["users"] == "64"]
            alone = [row for row in same if row["run"].endswith("h200-1")]
            both = [row for row in same if row["run"].endswith("h200-2")]
            for metric, name in (
                ("tpot_p50_ms", "TPOT p50 ms"),
                ("itl_p50_ms", "ITL p50 ms"),
                ("decode_tok_s", "decode tok/s"),
            ):
                one, two = ([float(row[metric]) for row in group] for group in (alone, both))
                values = [" ".join(_number(str(value), 4) for value in group) for group in (one, two)]
                out.append([arm, f"{workload}, 64 users", name, *values, f"{median(two) / median(one):.3f}x"])
    return _table(["arm", "load", "metric", "alone", "both at once", "ratio of medians"], out)


def tables(folder: Path) -> dict[str, str]:
    """Every table of the document by name."""
    cells, comparisons = read(folder, "cells"), read(folder, "comparisons")

    def of(rows: list[Row], run: str) -> list[Row]:
        return [row for row in rows if row["run"].endswith(run)]

    return {
        "launches": _launch_table(read(folder, "launches")),
        "one-gpu": _cell_table(of(cells, "h200-1")),
        "one-gpu-comparison": _comparison_table(of(comparisons, "h200-1")),
        "clients": _client_table(of(cells, "h200-1"), read(folder, "other_client")),
        "swap": _cell_table(of(cells, "h200-2")),
        "placement": _placement_table(of(comparisons, "h200-2")),
        "together": _together_table(cells),
        "120b": _cell_table(of(cells, "h200-3")),
    }


def write(folder: Path, document: str) -> str:
    """``document`` with each of its tables replaced.

    Raises:
        KeyError: the document names a table that is not among the results.
    """
    found = tables(folder)
    pattern = re.compile(r"(<!-- table: (\S+) -->\n)(?:(?!<!-- ).*\n)*(<!-- end -->)")
    return pattern.sub(lambda match: f"{match.group(1)}{found[match.group(2)]}\n{match.group(3)}", document)


def main(argv: Sequence[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    parser.add_argument("document", type=Path, nargs="?")
    args = parser.parse_args(argv)
    if args.document:
        args.document.write_text(write(args.results, args.document.read_text()))
    else:
        sys.stdout.write("\n\n".join(f"### {name}\n\n{table}" for name, table in tables(args.results).items()) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
