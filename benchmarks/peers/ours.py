"""Our client, from this working tree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row, current_python
from benchmarks.reference_server.truth import RequestTruth


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
            *("--output", str(out)),
        ]

    def patience(self) -> list[str]:
        """Its own limits for a request and for a silent stream."""
        return ["--timeout", "6", "--idle-timeout", "3", "--warmup", "0"]

    def row_of(self, number: int, sent: Sequence[RequestTruth], reading: Reading) -> Row | None:
        """It draws prompts in its own order, and names each request to the server."""
        del number
        rows = [
            reading.rows_by_id[one.client_request_id] for one in sent if one.client_request_id in reading.rows_by_id
        ]
        return rows[-1] if rows else None  # the first prompt is sent twice; the truth is the last one's

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
            rows_by_id=_rows(out),
        )


def _rows(out: Path) -> dict[str, Row]:
    """Measured requests by the id that the client sends as ``x-request-id``."""
    from benchgate.client.requests_file import read_requests
    from benchgate.metrics.ttft import ttft_s

    records, _ = read_requests(out / "requests.parquet")
    rows = {}
    for record in records:
        if record.phase == "measured":
            first = ttft_s(record)
            ok = record.status == "ok"
            rows[f"measured-{record.request_id}"] = Row(
                ok, record.completion_tokens, None if first is None else first * 1000, "" if ok else record.status
            )
    return rows
