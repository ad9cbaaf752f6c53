"""Results of GuideLLM (``--output kind=json``): one cell a benchmark of the file.

``guidellm``: its "time per output token" includes the prefill ((last token - start) / tokens) and compares with
nobody's, so it is not taken; its inter-token latency is (last - first) / (tokens - 1), which is our TPOT. It keeps no
gaps between events. Its request latency ends with the answer, a little after the last token. Counts come from the
response's usage when ``prefer_response_metrics`` is set and usage came.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.importers.document import Document
from benchgate.importers.errors import kind_of, short
from benchgate.importers.model import ImportedCell
from benchgate.importers.summary import Facts, summarise
from benchgate.records import Percentiles
from benchgate.request_record import CUT_OFF, RequestRecord

NAME = "guidellm"
KEYS = ("benchmarks",)
_LATENCIES = {
    "ttft_ms": ("time_to_first_token_ms", 1.0),
    "ttfv_ms": ("time_to_first_output_token_ms", 1.0),
    "tpot_ms": ("inter_token_latency_ms", 1.0),
    "e2e_ms": ("request_latency", 1000.0),  # the only one in seconds
}


def recognises(first: Document, path: Path) -> bool:
    """A list of benchmarks of the type that only this client writes."""
    del path
    found = first.values.get(KEYS[0])
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return False
    metadata = first.values.get("metadata")
    named = isinstance(metadata, dict) and "guidellm_version" in metadata
    return named or "generative_benchmark" in str(found[0].get("type_"))


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell a benchmark: a sweep has several."""
    cells = []
    for document in documents:
        metadata = document.section("metadata")
        version = metadata.text("guidellm_version") if metadata else None
        cells += [_cell(benchmark, version) for benchmark in document.sections("benchmarks")]
    return cells


def _cell(benchmark: Document, version: str | None) -> ImportedCell:
    metrics = benchmark.needed("metrics")
    totals = metrics.needed("request_totals")
    config = benchmark.section("config") or Document(benchmark.path, {})
    backend = config.section("backend") or Document(benchmark.path, {})
    records = _records(benchmark)
    users, rate, label = _load(config)
    prefers = config.values.get("prefer_response_metrics")
    facts = Facts(
        client_name=NAME,
        client_version=version,
        metric_definition=NAME,
        started_at=benchmark.epoch("start_time"),
        completed=totals.needed_integer("successful"),
        errors=totals.integer("errored"),
        cut_off=totals.integer("incomplete"),
        duration_s=_duration(benchmark),
        prompt_tokens=_sum(metrics, "prompt_token_count"),
        completion_tokens=_sum(metrics, "output_token_count"),
        token_count_source={True: "usage", False: "tokenizer"}[prefers] if isinstance(prefers, bool) else "unknown",
        users=users,
        request_rate=rate,
        latencies={ours: _percentiles(metrics, key, scale) for ours, (key, scale) in _LATENCIES.items()},
        notes=_warmup_note(benchmark),
    )
    path = backend.text("request_format") or ""
    return ImportedCell(
        summary=summarise(facts, records),
        model=backend.text("model"),
        requests=records,
        endpoint="chat" if "chat" in path else "completions" if "completions" in path else None,
        label=label,
    )


def _load(config: Document) -> tuple[int | None, float | None, str | None]:
    """(users, request rate, name) of the strategy."""
    strategy = config.section("strategy")
    if strategy is None:
        return None, None, None
    kind = strategy.text("type_")
    if kind == "synchronous":
        return 1, None, kind
    rate = strategy.number("rate")
    users = strategy.integer("streams") if "streams" in strategy else None
    if users is None and rate is None:
        users = strategy.integer("max_concurrency")
    return (None if rate else users), rate, kind


def _duration(benchmark: Document) -> float:
    duration = benchmark.number("duration")
    if duration is not None:
        return duration
    seconds = benchmark.needed_number("end_time") - benchmark.needed_number("start_time")
    if seconds < 0:
        raise benchmark.wrong("end_time", "lies before start_time")
    return seconds


def _warmup_note(benchmark: Document) -> list[str]:
    cut = {name: benchmark.number(f"{name}_duration") for name in ("warmup", "cooldown")}
    return [f"{seconds:g} s of {name} are outside the figures" for name, seconds in cut.items() if seconds]


def _sum(metrics: Document, key: str) -> int | None:
    section = metrics.section(key)
    successful = section.section("successful") if section else None
    value = successful.number("total_sum") if successful else None
    return None if value is None else round(value)


def _percentiles(metrics: Document, key: str, scale: float) -> Percentiles | None:
    section = metrics.section(key)
    found = section.section("successful") if section else None
    if found is None or not found.integer("count"):
        return None
    shares = found.section("percentiles") or Document(found.path, {})

    def ms(source: Document, name: str) -> float | None:
        value = source.number(name)
        return None if value is None else value * scale

    return Percentiles(
        p50=ms(shares, "p50"),
        p90=ms(shares, "p90"),
        p95=ms(shares, "p95"),
        p99=ms(shares, "p99"),
        mean=ms(found, "mean"),
        # its counts for token metrics are weighted by tokens: not a number of requests
        n=found.integer("count") if key != "inter_token_latency_ms" else None,
    )


def _records(benchmark: Document) -> list[RequestRecord] | None:
    """Rows of every request; None when the file was written without them."""
    requests = benchmark.section("requests")
    if requests is None:
        return None
    records: list[RequestRecord] = []
    for group in ("successful", "errored", "incomplete"):
        for row in requests.sections(group):
            records.append(_record(len(records), group, row))
    return records or None


def _record(number: int, group: str, row: Document) -> RequestRecord:
    info = row.section("info") or Document(row.path, {})
    times = info.section("timings") or Document(row.path, {})
    record = RequestRecord(request_id=number, streamed=True)
    record.queued_at = times.number("queued")
    record.sent_at = times.number("request_start")
    record.ended_at = times.number("request_end")
    record.first_token_at = times.number("first_token_iteration")
    record.first_visible_at = times.number("first_output_token_iteration")
    record.last_token_at = times.number("last_token_iteration")
    record.prompt_tokens = row.integer("prompt_tokens")
    record.completion_tokens = row.integer("output_tokens")
    record.events = times.integer("token_iterations") or 0
    if group == "incomplete":
        record.status = CUT_OFF
    elif group == "errored":
        message = info.text("error") or "no message"
        record.status, record.error_message = kind_of(message), short(message)
    return record
