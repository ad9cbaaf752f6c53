"""Results of SGLang's ``bench_serving`` (``--output-file``, one JSON object a line; with and without details).

``sglang-bench``: output tokens are the *requested* length unless the server sent usage, and the file does not say
which; TTFT is the first chunk with text; ITL one sample a chunk; throughput counts successes over the wall clock. The
file counts only what was completed: without ``--output-details`` the number of failures is unknown, not zero.
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

NAME = "sglang"
KEYS = ("total_output_tokens_retokenized",)
CLIENT = "sglang-bench"
_LATENCIES = {"ttft_ms": "ttft", "tpot_ms": "tpot", "itl_ms": "itl", "e2e_ms": "e2e_latency"}


def recognises(first: Document, path: Path) -> bool:
    """Keys that only this client writes together."""
    del path
    return KEYS[0] in first or ("backend" in first and "accept_length" in first)


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell a line."""
    return [_cell(document) for document in documents]


def _cell(document: Document) -> ImportedCell:
    completed = document.needed_integer("completed")
    records = _records(document)
    rate = None if document.values.get("request_rate") == float("inf") else document.number("request_rate")
    users = document.integer("max_concurrency")
    notes = []
    if records is not None:
        notes.append("the file has no start times: the clock of each request row begins when it was sent")
    tokens, retokenised = document.integer("total_output_tokens"), document.number("total_output_tokens_retokenized")
    if tokens and retokenised and abs(retokenised - tokens) > 0.02 * tokens:
        notes.append(f"the answers' text has {retokenised:g} tokens by the client's tokenizer, counted were {tokens}")
    facts = Facts(
        client_name=CLIENT,
        metric_definition=CLIENT,
        completed=completed,
        errors=None if records is None else sum(record.is_error for record in records),
        duration_s=document.needed_number("duration"),
        prompt_tokens=document.integer("total_input_tokens"),
        completion_tokens=tokens,
        users=users if rate is None else None,
        request_rate=rate,
        latencies={ours: _percentiles(document, theirs, completed) for ours, theirs in _LATENCIES.items()},
        notes=notes,
    )
    return ImportedCell(
        summary=summarise(facts, records),
        requests=records,
        endpoint="chat" if "chat" in (document.text("backend") or "") else "completions",
        dataset=document.text("dataset_name"),
        planned_requests=None if records is None else len(records),
        label=document.text("tag"),
    )


def _percentiles(document: Document, name: str, completed: int) -> Percentiles | None:
    mean = document.number(f"mean_{name}_ms")
    if mean is None or not completed:
        return None
    return Percentiles(
        p50=document.number(f"median_{name}_ms"),
        p90=document.number(f"p90_{name}_ms"),
        p95=document.number(f"p95_{name}_ms"),
        p99=document.number(f"p99_{name}_ms"),
        mean=mean,
        n=completed if name in ("ttft", "e2e_latency") else None,
    )


def _records(document: Document) -> list[RequestRecord] | None:
    """Request rows of ``--output-details``. The file has no start times: each row has a clock of its own."""
    errors = document.items("errors")
    if errors is None:
        return None
    count = len(errors)
    ttft, prompts = document.column("ttfts", count), document.column("input_lens", count)
    lengths, gaps = document.column("output_lens", count), document.items("itls")
    if gaps is not None and len(gaps) != count:
        raise document.wrong("itls", f"has {len(gaps)} entries, {count} requests were sent")
    records = []
    for i, error in enumerate(errors):
        record = RequestRecord(request_id=i, sent_at=0.0, streamed=True)
        records.append(record)
        if error:
            record.status, record.error_message = kind_of(str(error)), short(str(error))
            continue
        record.prompt_tokens = int(prompts[i] or 0) if prompts and prompts[i] is not None else None
        record.completion_tokens = int(lengths[i] or 0) if lengths and lengths[i] is not None else None
        if ttft and ttft[i]:
            record.first_token_at = ttft[i]
            if gaps is not None:
                inner = Document(document.path, {"itls": gaps[i]}, f"{document.where}[{i}]".lstrip("."))
                own = [gap for gap in inner.column("itls", len(inner.items("itls") or [])) or [] if gap is not None]
                record.itl_s, record.events = own, len(own) + 1
                record.last_token_at = list(accumulate(own, initial=ttft[i] or 0.0))[-1]
    return records
