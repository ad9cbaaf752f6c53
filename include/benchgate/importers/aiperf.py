"""Results of AIPerf (``profile_export_aiperf.json``; request rows from ``profile_export.jsonl`` beside it).

``aiperf``: TTFT includes reasoning, time to first output token is the first non-reasoning token; inter token latency
is (latency - TTFT) / (tokens - 1) a request, which is our TPOT, and inter chunk latency the gaps between chunks, which
is our ITL. Counts are the server's only with ``--use-server-token-count``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchgate.importers.document import Document, load_rows
from benchgate.importers.errors import kind_of, short
from benchgate.importers.model import ImportedCell
from benchgate.importers.summary import Facts, summarise
from benchgate.records import Percentiles
from benchgate.request_record import CUT_OFF, RequestRecord

NAME = "aiperf"
KEYS = ("aiperf_version",)
EXPORT = "profile_export_aiperf.json"
ROWS = "profile_export.jsonl"
_LATENCIES = {
    "ttft_ms": "time_to_first_token",
    "ttfv_ms": "time_to_first_output_token",
    "tpot_ms": "inter_token_latency",
    "itl_ms": "inter_chunk_latency",
    "e2e_ms": "request_latency",
}


def recognises(first: Document, path: Path) -> bool:
    """The version key, or the file's name and a metric that only this client has."""
    return KEYS[0] in first or (path.name.endswith(EXPORT) and "request_latency" in first)


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell a file."""
    return [_cell(document) for document in documents]


def _cell(document: Document) -> ImportedCell:
    rows = document.path.with_name(document.path.name.replace(EXPORT, ROWS))
    records = _records(rows) if rows != document.path and rows.exists() else None
    config = document.section("input_config") or Document(document.path, {}, "input_config")
    endpoint = config.section("endpoint") or Document(document.path, {}, "input_config.endpoint")
    users, rate = _load(config)
    completed = _single(document, "request_count")
    if completed is None and "request_latency" in document:  # of a run without a success neither is there
        completed = _needed_single(document, "request_count")
    server_counts = endpoint.values.get("use_server_token_count")
    cancelled = document.values.get("was_cancelled")
    facts = Facts(
        client_name=NAME,
        client_version=document.text("aiperf_version"),
        metric_definition=NAME,
        started_at=document.moment("start_time", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f%z"),
        completed=int(completed or 0),
        errors=_errors(document),
        cut_off=None if records is None else sum(record.status == CUT_OFF for record in records),
        duration_s=_needed_single(document, "benchmark_duration"),
        prompt_tokens=_count(document, "total_isl", "input_sequence_length"),
        completion_tokens=_count(document, "total_osl", "total_output_tokens"),
        token_count_source={True: "usage", False: "tokenizer"}.get(server_counts, "unknown")  # type: ignore[arg-type]
        if isinstance(server_counts, bool)
        else "tokenizer",  # the option is left out when it is not used
        users=users,
        request_rate=rate,
        latencies={ours: _percentiles(document, theirs) for ours, theirs in _LATENCIES.items()},
        notes=["the run was cancelled before its end"] if cancelled is True else [],
    )
    models = config.section("models") or Document(document.path, {})
    names = [str(item.get("name")) for item in models.items("items") or [] if isinstance(item, dict)]
    kind = endpoint.text("type")
    return ImportedCell(
        summary=summarise(facts, records),
        model=names[0] if names else None,
        requests=records,
        endpoint=kind if kind in ("chat", "completions") else None,
        planned_requests=None,
        label=document.text("benchmark_id"),
    )


def _load(config: Document) -> tuple[int | None, float | None]:
    """(users, request rate) of the phase that was measured."""
    phases = [phase for phase in config.sections("phases") if phase.text("kind") in (None, "profiling")]
    old = config.section("loadgen")  # before the phases
    for source in phases[-1:] or ([old] if old else []):
        rate = source.number("request_rate") or source.number("rate")
        return (None if rate else source.integer("concurrency")), rate
    return None, None


def _errors(document: Document) -> int | None:
    """The count; where nothing failed it is left out, and the list of errors is empty."""
    count = _single(document, "error_request_count")
    if count is not None:
        return int(count)
    if document.items("error_summary") is None:
        return None
    return sum(group.integer("count") or 0 for group in document.sections("error_summary"))


def _single(document: Document, metric: str) -> float | None:
    section = document.section(metric)
    return section.number("avg") if section else None


def _needed_single(document: Document, metric: str) -> float:
    return document.needed(metric).needed_number("avg")


def _count(document: Document, *metrics: str) -> int | None:
    """A token total: a total of its own, else the sum over the requests."""
    for metric in metrics:
        section = document.section(metric)
        value = None
        if section:
            value = section.number("sum") if "sum" in section else section.number("avg")
        if value is not None:
            return round(value)
    return None


def _percentiles(document: Document, metric: str) -> Percentiles | None:
    section = document.section(metric)
    if section is None or section.number("avg") is None:
        return None
    unit = section.text("unit")
    if unit not in (None, "ms"):
        raise section.wrong("unit", f"is {unit!r}, expected ms")
    return Percentiles(
        p50=section.number("p50"),
        p90=section.number("p90"),
        p95=section.number("p95"),
        p99=section.number("p99"),
        mean=section.number("avg"),
        n=section.integer("count"),
    )


def _records(path: Path) -> list[RequestRecord]:
    """``profile_export.jsonl``: one request a line; warm-up is left out."""
    measured = [row for row in load_rows(path) if row.needed("metadata").text("benchmark_phase") in (None, "profiling")]
    return [_record(number, row) for number, row in enumerate(measured)]


def _record(number: int, row: Document) -> RequestRecord:
    meta, metrics = row.needed("metadata"), row.section("metrics") or Document(row.path, {})
    started, queued, ended = (meta.number(f"{name}_ns") for name in ("request_start", "credit_issued", "request_end"))
    start = (started or 0.0) / 1e9
    record = RequestRecord(request_id=number, sent_at=start, streamed=True)
    record.queued_at = None if queued is None else queued / 1e9
    record.ended_at = None if ended is None else ended / 1e9
    error = row.section("error")
    if error is not None:
        message = str(error.values.get("message") or error.values.get("type") or "")
        code = error.values.get("code")
        record.status = kind_of(message, code if isinstance(code, int) else None)
        record.error_message = short(message)
        record.http_status = code if isinstance(code, int) and 400 <= code < 600 else None
        return record
    if meta.values.get("was_cancelled") is True:
        record.status = CUT_OFF
        return record
    ttft, whole = _value(metrics, "time_to_first_token"), _value(metrics, "request_latency")
    visible = _value(metrics, "time_to_first_output_token")
    record.first_token_at = None if ttft is None else start + ttft / 1000
    record.first_visible_at = None if visible is None else start + visible / 1000
    record.last_token_at = None if whole is None or ttft is None else start + whole / 1000
    record.prompt_tokens = _tokens(metrics, "input_sequence_length")
    record.completion_tokens = _tokens(metrics, "output_sequence_length")
    record.reasoning_tokens = _tokens(metrics, "reasoning_token_count")
    gaps = metrics.section("inter_chunk_latency")
    if gaps is not None:
        own = gaps.column("value", len(gaps.items("value") or [])) or []
        record.itl_s = [gap / 1000 for gap in own if gap is not None]
        record.events = len(record.itl_s) + 1
    return record


def _value(metrics: Document, name: str) -> float | None:
    section = metrics.section(name)
    return section.number("value") if section else None


def _tokens(metrics: Document, name: str) -> int | None:
    value: Any = _value(metrics, name)
    return None if value is None else round(value)
