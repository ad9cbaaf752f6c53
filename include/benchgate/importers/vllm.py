"""Results of ``vllm bench serve`` (``--save-result``, with and without ``--save-detailed``).

The file names no version. How the client measures changed twice, and the keys tell it apart as far as it goes:

- ``vllm-bench-0.2x`` (no ``queue_times``): on chat the role-only chunk is the first token, the usage chunk ends the
  request, ITL has one entry a chunk, and a 200 stream with an error frame is a success.
- ``vllm-bench-0.3x`` (``queue_times`` are there): the usage chunk no longer ends the request; time in the client's own
  queue is kept apart. Whether a role-only chunk is a token still depends on the exact version.

TPOT is (last chunk - first) / (tokens - 1), request by request; throughput is tokens of successes / whole wall clock.
Whether token counts are the server's or the tokenizer's over the visible text, the file does not say.
"""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

from benchgate.importers.document import Document
from benchgate.importers.errors import kind_of, short
from benchgate.importers.model import ImportedCell
from benchgate.importers.summary import Facts, summarise
from benchgate.records import Percentiles
from benchgate.request_record import RequestRecord

NAME = "vllm"
CLIENT = "vllm-bench"
KEYS = ("endpoint_type", "num_prompts", "total_token_throughput")
_LATENCIES = {"ttft_ms": "ttft", "tpot_ms": "tpot", "itl_ms": "itl", "e2e_ms": "e2el"}


def recognises(first: Document, path: Path) -> bool:
    """Keys that only this client writes together."""
    del path
    return all(key in first for key in KEYS)


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell an object (``--append-result`` writes several)."""
    return [_cell(document) for document in documents]


def _cell(document: Document) -> ImportedCell:
    completed = document.needed_integer("completed")
    records = _records(document)
    failed = document.integer("failed")
    if failed is None and records is not None:
        failed = sum(record.is_error for record in records)
    elif failed is None and document.integer("num_prompts") is not None:
        failed = document.needed_integer("num_prompts") - completed
    users, rate, notes = _load(document)
    if records is not None and "start_times" not in document:
        notes.append("the file has no start times: the clock of each request row begins when it was sent")
    facts = Facts(
        client_name=CLIENT,
        metric_definition=f"{CLIENT}-0.3x" if "queue_times" in document else f"{CLIENT}-0.2x",
        started_at=document.moment("date", "%Y%m%d-%H%M%S"),
        completed=completed,
        errors=failed,
        duration_s=document.needed_number("duration"),
        prompt_tokens=document.integer("total_input_tokens"),
        completion_tokens=document.integer("total_output_tokens"),
        users=users,
        request_rate=rate,
        one_clock="start_times" in document,
        latencies={ours: _percentiles(document, theirs, completed) for ours, theirs in _LATENCIES.items()},
        notes=notes,
    )
    kind = document.text("endpoint_type") or ""
    return ImportedCell(
        summary=summarise(facts, records),
        model=document.text("model_id"),
        requests=records,
        endpoint="chat" if "chat" in kind else "completions",
        planned_requests=document.integer("num_prompts"),
        label=document.text("label"),
    )


def _load(document: Document) -> tuple[int | None, float | None, list[str]]:
    """(users, request rate, notes). ``request_rate`` is "inf" when only the concurrency limits the load."""
    users = document.integer("max_concurrency")
    if document.values.get("request_rate") in ("inf", float("inf")):
        if users is None:
            return document.integer("num_prompts"), None, ["no limit of concurrency: every request was sent at once"]
        return users, None, []
    rate = document.number("request_rate")
    notes = [f"at most {users} requests in flight, so the rate may not have been reached"] if users and rate else []
    return (None if rate else users), rate, notes


def _percentiles(document: Document, name: str, completed: int) -> Percentiles | None:
    mean = document.number(f"mean_{name}_ms")
    if mean is None or not completed:
        return None
    # tpot leaves out answers of one token and itl counts chunks: the file does not say how many samples these have
    return Percentiles(
        p50=document.number(f"p50_{name}_ms") or document.number(f"median_{name}_ms"),
        p90=document.number(f"p90_{name}_ms"),
        p95=document.number(f"p95_{name}_ms"),
        p99=document.number(f"p99_{name}_ms"),
        mean=mean,
        n=completed if name in ("ttft", "e2el") else None,
    )


def _records(document: Document) -> list[RequestRecord] | None:
    """Request rows of ``--save-detailed``; None without them."""
    errors = document.items("errors")
    if errors is None or "ttfts" not in document:
        return None
    count = len(errors)
    ttft, lengths = document.column("ttfts", count), document.column("output_lens", count)
    prompts, starts = document.column("input_lens", count), document.column("start_times", count)
    whole, waits = document.column("latencies", count), document.column("queue_times", count)
    gaps = _gaps(document, count)
    chat = "chat" in (document.text("endpoint_type") or "")
    records = []
    for i, error in enumerate(errors):
        # without start times each request has a clock of its own, which begins when it was sent
        start = (starts[i] if starts else None) or 0.0
        record = RequestRecord(request_id=i, sent_at=start, streamed=True)
        if waits and waits[i] is not None and starts:
            record.queued_at = start - (waits[i] or 0.0)
        if error:
            record.status = kind_of(str(error))
            record.error_message = short(str(error))
        elif ttft and ttft[i]:
            record.first_token_at = start + (ttft[i] or 0.0)
            record.prompt_tokens = _whole(prompts, i)
            record.completion_tokens = _whole(lengths, i)
            if gaps is not None:
                record.itl_s = gaps[i]
                record.events = len(gaps[i]) + 1
                record.last_token_at = list(accumulate(gaps[i], initial=record.first_token_at))[-1]
            if whole and whole[i]:
                record.last_token_at = start + (whole[i] or 0.0)
            if not chat:
                record.content_events = record.events
        else:
            record.status = "empty_completion"
            record.error_message = "vllm bench counts it as completed, and no token of it was seen"
        records.append(record)
    return records


def _gaps(document: Document, count: int) -> list[list[float]] | None:
    lists = document.items("itls")
    if lists is None:
        return None
    if len(lists) != count:
        raise document.wrong("itls", f"has {len(lists)} entries, {count} requests were sent")
    inner = Document(document.path, {f"itls[{i}]": entry for i, entry in enumerate(lists)}, document.where)
    found = [inner.column(f"itls[{i}]", len(inner.items(f"itls[{i}]") or [])) for i in range(count)]
    return [[gap for gap in gaps or [] if gap is not None] for gaps in found]


def _whole(values: list[float | None] | None, i: int) -> int | None:
    value = values[i] if values else None
    return None if value is None else int(value)
