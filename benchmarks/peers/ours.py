"""Our client, from this working tree."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row, current_python


class Ours(Client):
    """``python -m benchgate bench`` on one process."""

    name = "benchgate"
    distribution = "benchgate"

    @property
    def python_path(self) -> Path:
        """The interpreter that runs the comparison."""
        return Path(current_python())

    def install(self) -> None:
        """It is there."""

    def command(self, load: Load, out: Path) -> list[str]:
        """One process, the same prompts, counts of the server."""
        return [
            *(current_python(), "-m", "benchgate", "bench", "--base-url", load.base_url, "--model", load.model),
            *("--dataset", str(load.folder / "sharegpt.json"), "--tokenizer", str(load.folder / "tokenizer")),
            *("--concurrency", str(load.streams), "--num-prompts", str(load.requests)),
            *("--max-tokens", str(load.max_tokens), "--processes", "1", "--probe", "none", "--progress", "none"),
            *("--output", str(out), "--timeout", "60", "--idle-timeout", "5"),
        ]

    def read(self, out: Path) -> Reading:
        """``summary.json`` and the request rows."""
        try:
            summary = json.loads((out / "summary.json").read_text())
        except FileNotFoundError:
            raise PeerError("no summary.json") from None
        ttft, tpot = summary["ttft_ms"] or {}, summary["tpot_ms"] or {}
        verdict = summary["latency_verdict"]
        return Reading(
            completed=summary["completed"],
            errors=summary["errors"],
            ttft_p50_ms=ttft.get("p50"),
            ttft_p99_ms=ttft.get("p99"),
            tpot_p50_ms=tpot.get("p50"),
            output_tok_s=summary["decode_tok_s"],
            said="" if verdict == "valid" else verdict,
        )

    def rows_by_id(self, out: Path) -> dict[str, Row]:
        """Request rows by the id that the client sends as ``x-request-id``."""
        from benchgate.client.requests_file import read_requests
        from benchgate.metrics.ttft import ttft_s

        records, _ = read_requests(out / "requests.parquet")
        rows = {}
        for record in records:
            first = ttft_s(record)
            ttft = None if first is None else first * 1000
            ok = record.status == "ok"
            note = "" if ok else record.status
            rows[f"{record.phase}-{record.request_id}"] = Row(ok, record.completion_tokens, ttft, note)
        return rows
