"""The numbers of docs/h200.md, packed from runs.

    python benchmarks/h200/pack.py OUT RUN_FOLDER .. [--warehouse URL]

Writes cells, stalls and launches, and from a warehouse comparisons and what other clients measured. RUN_FOLDER is a
run's folder of artifacts; URL the warehouse that the runs and the imported results were loaded into. Warm verdicts are
judged anew from the request records; what was said on the machine stands beside them.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def _text(value: object) -> str:
    """None is an empty field, never 0; seven digits are more than any of these numbers carries."""
    if value is None:
        return ""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def save(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows as ``NAME.csv``."""
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _text(value) for key, value in row.items()} for row in rows)


def _cells(run: Path) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Every measured cell, and every stall in one, with what the GPU was doing."""
    from benchgate.client.requests_file import read_requests
    from benchgate.metrics.stalls import stalls
    from benchgate.metrics.summary import summarise
    from benchgate.records import CellRecord

    cells, found = [], []
    for file in sorted(run.glob("cells/*/cell.json")):
        record = CellRecord.model_validate_json(file.read_text())
        said = record.summary
        if said is None:
            continue
        requests, facts = read_requests(file.with_name("requests.parquet"))
        judged = summarise(requests, facts)
        measured = [request for request in requests if request.phase == "measured"]
        began = min(request.sent_at for request in measured if request.sent_at is not None)
        silent = stalls(measured)
        where: dict[str, object] = {
            "run": run.name,
            "arm": record.arm,
            "placement": record.placement,
            "workload": record.workload,
            "users": record.users,
            "repeat": record.repeat,
        }
        cells.append(
            where
            | {
                "started_at": said.started_at,
                "completed": said.completed,
                "errors": said.errors,
                "duration_s": said.duration_s,
                "decode_tok_s": said.decode_tok_s,
                "prefill_tok_s": said.prefill_tok_s,
                **_spread("ttft", said.ttft_ms),
                **_spread("tpot", said.tpot_ms),
                **_spread("itl", said.itl_ms),
                **_spread("e2e", said.e2e_ms),
                "latency_verdict": said.latency_verdict,
                "warm_on_the_machine": said.warm_verdict,
                "warm": judged.warm_verdict,
                "warm_reason": judged.warm_reason,
                "stalls": len(silent),
                "stalled_s": sum(stall.excess_s for stall in silent),
                "client_cpu_share": said.client_cpu_share,
                "gpu_power_w": _mean([sample.power_w for sample in record.gpu or []]),
                "gpu_sm_clock_mhz": _mean([sample.sm_clock_mhz for sample in record.gpu or []]),
            }
        )
        found += [
            where
            | {
                "begins_s": stall.begins_at - began,
                "seconds": stall.seconds,
                "unexplained_s": stall.excess_s,
                "gpu_use_meanwhile": _meanwhile(
                    record.gpu or [], said.started_at, stall.begins_at - began, stall.seconds
                ),
            }
            for stall in silent
        ]
    return cells, found


def _spread(name: str, found: object) -> dict[str, object]:
    return {f"{name}_{share}_ms": getattr(found, share, None) for share in ("p50", "p90", "p99")}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _meanwhile(samples: Sequence[object], started_at: str | None, begins_s: float, seconds: float) -> str | None:
    """The GPU's use in the samples that fall into a stall, its first quarter of a second aside; None: no sample did.

    A sample's use is the driver's mean over up to a quarter of a second before it.
    """
    from datetime import datetime, timedelta

    if started_at is None:
        return None
    begin = datetime.fromisoformat(started_at) + timedelta(seconds=begins_s + 0.25)
    end = begin + timedelta(seconds=seconds - 0.25)
    inside = [
        getattr(sample, "utilization", None)
        for sample in samples
        if begin <= datetime.fromisoformat(str(getattr(sample, "at", ""))) <= end
    ]
    return " ".join(f"{use:.0%}" for use in inside if use is not None) or None


def _launches(run: Path) -> list[dict[str, object]]:
    from benchgate.records import LaunchRecord

    proofs = ("moe_kernel", "weights_gib", "kv_tokens", "kv_meaning", "memory_reserved_gib", "graph_capture_seconds")
    rows: list[dict[str, object]] = []
    for file in sorted(run.glob("launches/*/launch.json")):
        record = LaunchRecord.model_validate_json(file.read_text())
        proven = {proof.name: proof for proof in record.proofs}
        kernel = proven.get("moe_kernel")
        rows.append(
            {
                "run": run.name,
                "launch": record.launch,
                "model": record.model_id,
                "engine": f"{record.engine} {record.engine_version or ''}".strip(),
                "end_state": record.end_state,
                "startup_s": record.startup_s,
                **{name: proven[name].value if name in proven else None for name in proofs},
                "kernel_line": kernel.evidence.text if kernel else None,
                "needles": f"{record.needle.found}/{len(record.needle.results)}" if record.needle else None,
                "gpu": record.host_facts.gpu_model if record.host_facts else None,
                "gpus_of_host": record.host_facts.gpu_count if record.host_facts else None,
                "cpu_count": record.host_facts.cpu_count if record.host_facts else None,
                "driver": record.host_facts.driver if record.host_facts else None,
                "fingerprint": record.fingerprint,
            }
        )
    return rows


def _from_warehouse(url: str, query: str) -> list[dict[str, object]]:
    import sqlalchemy

    with sqlalchemy.create_engine(url).connect() as connection:
        return [dict(row) for row in connection.execute(sqlalchemy.text(query)).mappings()]


_COMPARISONS = """
SELECT run, basis, workload, users, metric, arm, baseline, design, effect, verdict, reason, point, low, high,
       arm_median, baseline_median, arm_repeats, baseline_repeats, placement_effects, unswapped
FROM comparison JOIN campaign_run USING (run_id)
WHERE metric IN ('ttft_p50_ms', 'tpot_p50_ms', 'decode_tok_s', 'prefill_tok_s', 'e2e_p50_ms')
ORDER BY run, workload, users, metric
"""
_OTHER_CLIENT = """
SELECT arm, users, client_name, client_version, metric_definition, completed, duration_s, decode_tok_s,
       tpot_p50_ms, itl_p50_ms, ttft_p50_ms, ttft_p90_ms, e2e_p50_ms, warm_verdict, warm_reason
FROM cell WHERE client_name = 'vllm-bench' ORDER BY arm, users
"""


def pack(out: Path, runs: Sequence[Path], url: str | None) -> None:
    """Write the tables of some runs; those that only the warehouse has are left alone without one."""
    out.mkdir(parents=True, exist_ok=True)
    parts = [_cells(run) for run in runs]
    save(out, "cells", [row for cells, _ in parts for row in cells])
    save(out, "stalls", [row for _, found in parts for row in found])
    save(out, "launches", [row for run in runs for row in _launches(run)])
    if url:
        save(out, "comparisons", _from_warehouse(url, _COMPARISONS))
        save(out, "other_client", _from_warehouse(url, _OTHER_CLIENT))


def main(argv: Sequence[str] | None = None) -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--warehouse")
    args = parser.parse_args(argv)
    pack(args.out, args.runs, args.warehouse)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
