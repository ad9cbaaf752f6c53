"""GuideLLM: worker processes under a scheduler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row


class GuideLlm(Client):
    """``guidellm run``."""

    name = "guidellm"
    distribution = "guidellm"
    requirements = ("torch==2.13.0", "guidellm==0.8.1")

    def environment(self) -> dict[str, str]:
        """Quiet."""
        return {**super().environment(), "GUIDELLM__LOGGING__CONSOLE_LOG_LEVEL": "ERROR"}

    def command(self, load: Load, out: Path) -> list[str]:
        """Prompts from a file, in its order."""
        backend = f"kind=openai_http,target={load.base_url},model={load.model}"
        return [
            *(str(self.venv / "bin" / "guidellm"), "run"),
            *("--backend", f"{backend},request_format=/v1/chat/completions,stream=true"),
            *("--profile", f"kind=concurrent,streams={load.streams}"),
            *("--constraint", f"kind=max_requests,count={load.requests}"),
            *("--tokenizer", f"kind=huggingface_auto,model={load.folder / 'tokenizer'}"),
            *("--data", f"kind=json_file,path={load.folder / 'guidellm.jsonl'}"),
            *("--output", f"kind=json,path={out / 'result.json'}", "--disable-progress"),
        ]

    def read(self, out: Path) -> Reading:
        """The first benchmark of the file. Its inter-token latency is what others call TPOT."""
        try:
            benchmark = json.loads((out / "result.json").read_text())["benchmarks"][0]
        except FileNotFoundError:
            raise PeerError("no result file") from None
        metrics, totals = benchmark["metrics"], benchmark["metrics"]["request_totals"]

        def share(metric: str, name: str) -> float | None:
            found = (metrics.get(metric) or {}).get("successful") or {}
            return (found.get("percentiles") or {}).get(name) if found.get("count") else None

        throughput = (metrics["output_tokens_per_second"].get("successful") or {}).get("mean")
        return Reading(
            completed=totals["successful"],
            errors=totals["errored"],
            ttft_p50_ms=share("time_to_first_token_ms", "p50"),
            ttft_p99_ms=share("time_to_first_token_ms", "p99"),
            tpot_p50_ms=share("inter_token_latency_ms", "p50"),
            output_tok_s=throughput,
            rows=_rows(benchmark.get("requests") or {}),
        )


def _rows(requests: dict[str, Any]) -> dict[int, Row]:
    """Rows by position. A failed request keeps no prompt: in a run of one stream its place in time is its position."""
    found = [(row, group) for group in ("successful", "errored", "incomplete") for row in requests.get(group) or []]
    found.sort(key=lambda pair: pair[0].get("request_start_time") or 0.0)
    rows = {}
    for number, (row, group) in enumerate(found):
        note = "" if group == "successful" else str((row.get("info") or {}).get("error") or group)
        rows[number] = Row(group == "successful", row.get("output_tokens"), row.get("time_to_first_token_ms"), note)
    return rows
