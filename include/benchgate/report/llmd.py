"""Published cells in the benchmark report format of llm-d, version 0.2: one document a cell.

Format: https://pypi.org/project/llmd-benchmark-report/ (fields ``version``, ``run``, ``scenario``, ``results``).
A required field whose value we do not know says ``unknown`` (or 0 for an accelerator count, where the machine has
none); everything that is optional and unknown is left out.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from benchgate.names import slug

VERSION = "0.2"
UNKNOWN = "unknown"
# Random UUID of our own, so that the same cell always has the same id.
NAMESPACE = uuid.UUID("6f6c7a1c-52f1-4bb4-9f0c-2d1f6d3a8e17")
_PERCENTILES = ("p50", "p90", "p95", "p99")
_PARALLELISM = {
    "tp": ("tensor-parallel-size", "tp", "tp-size"),
    "dp": ("data-parallel-size", "dp", "dp-size"),
    "pp": ("pipeline-parallel-size", "pp-size"),
}


def file_name(row: Mapping[str, Any]) -> str:
    """``arm-host-placement-workload-u64-r1.yaml``."""
    return f"{slug(str(row['cell']))}.yaml"


def document(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row of ``export.read_rows`` (a published cell) as an llm-d benchmark report."""
    return {
        "version": VERSION,
        "run": {
            "uid": str(uuid.uuid5(NAMESPACE, f"{row['run']}/{row['cell']}")),
            "eid": str(uuid.uuid5(NAMESPACE, str(row["run"]))),
            "description": f"{row['campaign']}: {row['cell']}",
            **_known(time=_known(start=row["started_at"], duration=_duration(row["duration_s"])) or None),
        },
        "scenario": {"stack": [_engine(row)], "load": _load(row)},
        "results": {"request_performance": {"aggregate": _aggregate(row)}},
    }


def _known(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else f"PT{seconds:g}S"


def _engine(row: Mapping[str, Any]) -> dict[str, Any]:
    arguments = _mapping(row["arguments"])
    parallel = {
        name: next((int(arguments[flag]) for flag in flags if isinstance(arguments.get(flag), int)), 1)
        for name, flags in _PARALLELISM.items()
    }
    environment = json.loads(row["environment_names"] or "[]")
    return {
        "metadata": {"label": row["launch"], "cfg_id": row["fingerprint"] or UNKNOWN},
        "standardized": {
            "kind": "inference_engine",
            "tool": row["engine"] or UNKNOWN,
            "tool_version": " ".join(filter(None, [row["engine_version"], row["image_digest"]])) or UNKNOWN,
            "role": "replica",
            "replicas": 1,
            "model": {"name": row["model_id"] or UNKNOWN},
            "accelerator": {
                "model": row["gpu_model"] or row["cpu_model"] or UNKNOWN,
                "count": parallel["tp"] * parallel["dp"] * parallel["pp"] if row["gpu_model"] else 0,
                "parallelism": parallel,
            },
        },
        # values of environment variables may be secrets: only their names leave the warehouse
        "native": {"args": arguments, "envars": dict.fromkeys(environment)},
    }


def _mapping(text: Any) -> dict[str, Any]:
    found = json.loads(text) if isinstance(text, str) else text
    return found if isinstance(found, dict) else {}


def _load(row: Mapping[str, Any]) -> dict[str, Any]:
    requested, completed = row["prompt_tokens_requested"], row["completed"]
    mean_prompt = row["prompt_tokens"] / completed if completed and row["prompt_tokens"] is not None else 0
    length: dict[str, Any] = {"distribution": "other", "value": mean_prompt}
    if requested is not None:
        length = {"distribution": "fixed", "value": requested}
    return {
        "metadata": {"description": row["workload"], "treatment": row["arm"]},
        "standardized": {
            "tool": row["client_name"],
            "tool_version": row["client_version"] or UNKNOWN,
            "source": "random" if row["dataset"] == "synthetic" else "sampled" if row["dataset"] else "unknown",
            "input_seq_len": length,
            **_known(rate_qps=row["request_rate"], concurrency=row["users"]),
        },
        "native": {"args": _known(dataset=row["dataset"], max_tokens=row["max_tokens"], repeat=row["repeat"])},
    }


def _aggregate(row: Mapping[str, Any]) -> dict[str, Any]:
    total = sum(row[name] or 0 for name in ("completed", "errors", "cut_off"))
    latencies = {
        "time_to_first_token": _statistics(row, "ttft", "ms"),
        "time_per_output_token": _statistics(row, "tpot", "ms/token"),
        # our ITL is a gap between events; it is a time per token only where an event carries one token
        "inter_token_latency": _statistics(row, "itl", "ms/token") if _one_token_an_event(row) else None,
        "request_latency": _statistics(row, "e2e", "ms"),
    }
    rates = {
        "input_token_rate": _rate(row["prefill_tok_s"], "tokens/s"),
        "output_token_rate": _rate(row["decode_tok_s"], "tokens/s"),
        "request_rate": _rate(row["request_s"], "queries/s"),
    }
    return {
        "requests": _known(total=total, failures=row["errors"], incomplete=row["cut_off"]),
        "latency": _known(**latencies),
        "throughput": _known(**rates),
    }


def _one_token_an_event(row: Mapping[str, Any]) -> bool:
    return row["tokens_per_event"] is not None and row["tokens_per_event"] <= 1.01


def _statistics(row: Mapping[str, Any], metric: str, units: str) -> dict[str, Any] | None:
    mean = row[f"{metric}_mean_ms"]
    if mean is None:  # a latency that is not valid is left out, never written as 0
        return None
    return {"units": units, "mean": mean, **_known(**{p: row[f"{metric}_{p}_ms"] for p in _PERCENTILES})}


def _rate(value: float | None, units: str) -> dict[str, Any] | None:
    return None if value is None else {"units": units, "mean": value}
