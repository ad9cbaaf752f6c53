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

from pathlib import Path

from benchgate.importers.bench_json import percentiles, request_rows, unlimited, without_lost
from benchgate.importers.document import Document
from benchgate.importers.model import ImportedCell
from benchgate.importers.summary import Facts, summarise

NAME = "vllm"
CLIENT = "vllm-bench"
KEYS = ("endpoint_type", "num_prompts", "total_token_throughput")
_LATENCIES = {"ttft_ms": "ttft", "tpot_ms": "tpot", "itl_ms": "itl", "e2e_ms": "e2el"}
_ONE_A_REQUEST = ("ttft", "e2el")  # tpot leaves out answers of one token, itl counts chunks: how many, it does not say


def recognises(first: Document, path: Path) -> bool:
    """Keys that only this client writes together."""
    del path
    return all(key in first for key in KEYS)


def read(documents: list[Document]) -> list[ImportedCell]:
    """One cell an object (``--append-result`` writes several)."""
    return [_cell(document) for document in documents]


def _cell(document: Document) -> ImportedCell:
    completed, failed = document.needed_integer("completed"), document.integer("failed")
    sent = document.integer("num_prompts")
    if sent is not None and completed > sent:
        raise document.wrong("completed", f"is {completed}, more than the {sent} of num_prompts")
    if failed is None and sent is not None:
        failed = sent - completed
    kind = document.text("endpoint_type") or ""
    records = request_rows(document, chat="chat" in kind)
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
        latencies={
            ours: percentiles(document, theirs, n=completed if theirs in _ONE_A_REQUEST else None)
            for ours, theirs in _LATENCIES.items()
            if completed  # the figures of a run without a success are zeros
        },
        notes=notes,
    )
    return ImportedCell(
        summary=summarise(without_lost(facts, records), records),
        model=document.text("model_id"),
        requests=records,
        endpoint="chat" if "chat" in kind else "completions",
        planned_requests=sent,
        label=document.text("label"),
    )


def _load(document: Document) -> tuple[int | None, float | None, list[str]]:
    """(users, request rate, notes). ``request_rate`` is "inf" when only the concurrency limits the load."""
    users = document.integer("max_concurrency")
    if unlimited(document):
        if users is None:
            return document.integer("num_prompts"), None, ["no limit of concurrency: every request was sent at once"]
        return users, None, []
    rate = document.number("request_rate")
    notes = [f"at most {users} requests in flight, so the rate may not have been reached"] if users and rate else []
    return (None if rate else users), rate, notes
