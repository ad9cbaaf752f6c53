"""Results of SGLang's ``bench_serving`` (``--output-file``, one JSON object a line; with and without details).

``sglang-bench``: output tokens are the *requested* length unless the server sent usage, and the file does not say
which; TTFT is the first chunk with text; ITL one sample a chunk; throughput counts successes over the wall clock. The
file counts only what was completed: without ``--output-details`` the number of failures is unknown, not zero.
"""

from __future__ import annotations

from pathlib import Path

from benchgate.importers.bench_json import percentiles, request_rows, unlimited, without_lost
from benchgate.importers.document import Document
from benchgate.importers.model import ImportedCell
from benchgate.importers.summary import Facts, summarise

NAME = "sglang"
KEYS = ("total_output_tokens_retokenized",)
CLIENT = "sglang-bench"
_LATENCIES = {"ttft_ms": "ttft", "tpot_ms": "tpot", "itl_ms": "itl", "e2e_ms": "e2e_latency"}
_ONE_A_REQUEST = ("ttft", "e2e_latency")


def recognises(first: Document, path: Path) -> bool:
    """Keys that only this client writes together."""
    del path
    return KEYS[0] in first or ("backend" in first and "accept_length" in first)


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell a line."""
    return [_cell(document) for document in documents]


def _cell(document: Document) -> ImportedCell:
    completed = document.needed_integer("completed")
    chat = "chat" in (document.text("backend") or "")
    records = request_rows(document, chat=chat)
    if records is not None and completed > len(records):
        raise document.wrong("completed", f"is {completed}, more than the {len(records)} requests of its rows")
    rate = None if unlimited(document) else document.number("request_rate")
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
        errors=None if records is None else len(records) - completed,
        duration_s=document.needed_number("duration"),
        prompt_tokens=document.integer("total_input_tokens"),
        completion_tokens=tokens,
        users=users if rate is None else None,
        request_rate=rate,
        latencies={
            ours: percentiles(document, theirs, n=completed if theirs in _ONE_A_REQUEST else None)
            for ours, theirs in _LATENCIES.items()
            if completed
        },
        notes=notes,
    )
    return ImportedCell(
        summary=summarise(without_lost(facts, records), records),
        requests=records,
        endpoint="chat" if chat else "completions",
        dataset=document.text("dataset_name"),
        planned_requests=None if records is None else len(records),
        label=document.text("tag"),
    )
