"""inference-perf (kubernetes-sigs), on completions: on chat it counts the first content chunk only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row, ms


class InferencePerf(Client):
    """``inference-perf -c config.yaml``, one worker process."""

    name = "inference-perf"
    distribution = "inference-perf"
    requirements = ("inference-perf==0.7.0",)
    python = "3.12"
    endpoint = "completions"

    def command(self, load: Load, out: Path) -> list[str]:
        """Its options are a file."""
        config = {
            "api": {"type": "completion", "streaming": True},
            "data": {"type": "shareGPT", "path": str(load.folder / "sharegpt.json")},
            "load": {
                "type": "concurrent",
                "stages": [{"num_requests": load.requests, "concurrency_level": load.streams}],
                "num_workers": 1,
                "worker_max_concurrency": max(100, 2 * load.streams),
            },
            "server": {"type": "vllm", "model_name": load.model, "base_url": load.base_url, "ignore_eos": False},
            "tokenizer": {"pretrained_model_name_or_path": str(load.folder / "tokenizer")},
            "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": True}},
            "storage": {"local_storage": {"path": str(out)}},
        }
        file = out.with_suffix(".yaml")
        file.write_text(yaml.safe_dump(config))
        return [str(self.venv / "bin" / "inference-perf"), "-c", str(file)]

    def read(self, out: Path) -> Reading:
        """The report of its only stage."""
        found = sorted(out.rglob("stage_0_lifecycle_metrics.json"))
        if not found:
            raise PeerError("no stage_0_lifecycle_metrics.json")
        result: dict[str, Any] = json.loads(found[0].read_text())
        good = result["successes"]
        latency = good.get("latency") or {}

        def part(metric: str, statistic: str) -> float | None:
            return ms((latency.get(metric) or {}).get(statistic))

        return Reading(
            completed=good["count"],
            errors=result["failures"]["count"],
            ttft_p50_ms=part("time_to_first_token", "median"),
            ttft_p99_ms=part("time_to_first_token", "p99"),
            tpot_p50_ms=part("time_per_output_token", "median"),
            output_tok_s=(good.get("throughput") or {}).get("output_tokens_per_sec"),
            rows=_rows(found[0].with_name("per_request_lifecycle_metrics.json")),
        )


def _rows(file: Path) -> dict[int, Row]:
    from benchmarks.prompts import position

    rows = {}
    for row in json.loads(file.read_text()) if file.exists() else []:
        number = position(str(row.get("request")))
        if number is None:
            continue
        error = row.get("error")
        answer = (row.get("info") or {}).get("response_metrics") or {}
        times = answer.get("output_token_times") or []
        ttft = ms(times[0] - row["start_time"]) if times and "start_time" in row else None
        # its report takes the server's count where there is one
        tokens = (answer.get("server_usage") or {}).get("completion_tokens", answer.get("output_tokens"))
        note = f"{error.get('error_type')}: {error.get('error_msg')}" if isinstance(error, dict) else str(error or "")
        rows[number] = Row(not error, tokens, ttft, note)
    return rows
