"""AIPerf: several processes that talk over sockets; made for more cores than one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row


class AiPerf(Client):
    """``aiperf profile``."""

    name = "aiperf"
    distribution = "aiperf"
    requirements = ("aiperf==0.13.0",)

    def environment(self) -> dict[str, str]:
        """With the hub's offline switch set it refuses a local tokenizer folder."""
        found = super().environment()
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            found.pop(name, None)
        return found

    def command(self, load: Load, out: Path) -> list[str]:
        """Prompts from a file, in its order; counts of the server, as ours."""
        return [
            *(str(self.venv / "bin" / "aiperf"), "profile", "--model", load.model, "--url", load.base_url),
            *("--endpoint-type", "chat", "--streaming", "--tokenizer", str(load.folder / "tokenizer")),
            *("--use-server-token-count", "--concurrency", str(load.streams)),
            *("--request-count", str(load.requests), "--input-file", str(load.folder / "aiperf.jsonl")),
            *("--custom-dataset-type", "single-turn", "--dataset-sampling-strategy", "sequential"),
            *("--random-seed", "1", "--output-artifact-dir", str(out), "--ui", "none"),
        ]

    def read(self, out: Path) -> Reading:
        """The export, and its rows."""
        try:
            result: dict[str, Any] = json.loads((out / "profile_export_aiperf.json").read_text())
        except FileNotFoundError:
            raise PeerError("no profile_export_aiperf.json") from None

        def value(metric: str, statistic: str = "avg") -> float | None:
            return (result.get(metric) or {}).get(statistic)

        rows = {}
        rows_file = out / "profile_export.jsonl"
        for line in rows_file.read_text().splitlines() if rows_file.exists() else []:
            row = json.loads(line)
            number = int(re.sub(r"\D", "", row["metadata"]["conversation_id"]) or 0)
            metrics, error = row["metrics"], row.get("error")
            tokens = (metrics.get("output_sequence_length") or {}).get("value")
            ttft = (metrics.get("time_to_first_token") or {}).get("value")
            note = f"{error.get('type')}: {error.get('message')}" if error else ""
            rows[number] = Row(not error, tokens, ttft, note)
        return Reading(
            completed=int(value("request_count") or 0),
            errors=int(value("error_request_count") or 0),
            ttft_p50_ms=value("time_to_first_token", "p50"),
            ttft_p99_ms=value("time_to_first_token", "p99"),
            tpot_p50_ms=value("inter_token_latency", "p50"),
            output_tok_s=value("output_token_throughput"),
            rows=rows,
        )
