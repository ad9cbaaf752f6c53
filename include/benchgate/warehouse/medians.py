"""Published repeats folded into their median: what comparisons and trends read, computed once, when a run is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from benchgate.warehouse import tables as t
from benchgate.warehouse.values import row

METRICS = ("ttft_p50_ms", "tpot_p50_ms", "decode_tok_s", "prefill_tok_s")
# cells that differ in one of these are not repeats of one another
_KEYS = ("launch_id", "workload", "load_label", "client_name", "metric_definition", "token_count_source")
_OF_CELL = ("arm", "host", "placement", *_KEYS[1:])
_OF_LAUNCH = ("baseline_arm", "image_digest", "engine_version", "model_revision", "fingerprint")
PAIRED, CONFOUNDED = "paired by placement", "confounded by placement"

Row = Mapping[str, Any]


def fold_repeats(run: Row, launches: Iterable[Row], cells: Iterable[Row]) -> list[dict[str, Any]]:
    """Rows of ``cell_median`` from the rows of one run: one for each launch, workload and load that was published.

    A metric that a repeat does not know is left out of that metric's median; simulated launches are left out whole.
    """
    real = {launch["launch_id"]: launch for launch in launches if not launch["simulated"]}
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for cell in cells:
        if cell["end_state"] == "published" and cell["launch_id"] in real:
            groups.setdefault(tuple(cell[name] for name in _KEYS), []).append(cell)
    found = [_folded(run, real[key[0]], repeats) for key, repeats in groups.items()]
    places: dict[tuple[Any, ...], set[tuple[str, str]]] = {}
    for one in found:
        places.setdefault(_kind(one, one["arm"]), set()).add((one["host"], one["placement"]))
    for one in found:
        one["pairing"] = _pairing(one, places)
    return found


def _kind(one: Row, arm: str | None) -> tuple[Any, ...]:
    """What two medians share that may be set against each other."""
    return (arm, *(one[name] for name in _KEYS[1:]))


def _pairing(one: Row, places: Mapping[tuple[Any, ...], set[tuple[str, str]]]) -> str | None:
    """Where an arm shared any placement with its baseline, it is compared on those alone; see arm_pair.sql."""
    theirs = places.get(_kind(one, one["baseline_arm"]), set())
    if one["arm"] == one["baseline_arm"] or not theirs:
        return None
    return PAIRED if places[_kind(one, one["arm"])] & theirs else CONFOUNDED


def _folded(run: Row, launch: Row, repeats: list[Row]) -> dict[str, Any]:
    known = {name: [cell[name] for cell in repeats if cell[name] is not None] for name in METRICS}
    return row(
        t.cell_median,
        run_id=run["run_id"],
        campaign=run["campaign"],
        run=run["run"],
        night=run["night"],
        run_started_at=run["started_at"],
        n=len(repeats),
        latency_n=len(known["ttft_p50_ms"]),
        **{name: repeats[0][name] for name in _OF_CELL},
        **{name: launch[name] for name in _OF_LAUNCH},
        **{name: median(values) if values else None for name, values in known.items()},
    )
