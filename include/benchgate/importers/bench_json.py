"""What ``vllm bench serve`` and SGLang's ``bench_serving`` write alike: the two have one origin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from benchgate.importers.document import Document
from benchgate.importers.errors import kind_of, short
from benchgate.importers.summary import Facts
from benchgate.metrics.e2e import e2e_s
from benchgate.metrics.itl import itl_s
from benchgate.metrics.percentiles import percentiles_ms
from benchgate.metrics.throughput import completion_tokens, prompt_tokens
from benchgate.metrics.tpot import tpot_s
from benchgate.metrics.ttft import ttft_s
from benchgate.records import Percentiles
from benchgate.request_record import OK, RequestRecord


def unlimited(document: Document) -> bool:
    """No request rate was set: only the concurrency limits the load."""
    return document.values.get("request_rate") in ("inf", math.inf)


def percentiles(document: Document, name: str, *, n: int | None) -> Percentiles | None:
    """The figures of one latency, as far as the file has them; None when it has none."""
    keys = {share: f"{share}_{name}_ms" for share in ("p50", "p90", "p95", "p99", "mean")}
    known = {share: document.number(key) for share, key in keys.items()}
    if known["p50"] is None:
        known["p50"] = document.number(f"median_{name}_ms")
    return None if all(value is None for value in known.values()) else Percentiles(**known, n=n)


def request_rows(document: Document, *, chat: bool) -> list[RequestRecord] | None:
    """The requests of a file with details; None without them.

    Without ``start_times`` each row has a clock of its own, which begins when its request was sent.
    """
    errors = document.items("errors") or []
    count = len(errors)
    ttft = document.column("ttfts", count) if errors else None
    if ttft is None:
        return None
    prompts, lengths = document.column("input_lens", count), document.column("output_lens", count)
    starts, waits = document.column("start_times", count), document.column("queue_times", count)
    whole = document.column("latencies", count)
    gaps = _gaps(document, count)
    records = []
    for i, error in enumerate(errors):
        start = (starts[i] if starts else None) or 0.0
        record = RequestRecord(request_id=i, sent_at=start, streamed=True)
        records.append(record)
        if waits and waits[i] is not None and starts:
            record.queued_at = start - (waits[i] or 0.0)
        if error:
            record.status, record.error_message = kind_of(str(error)), short(str(error))
            continue
        record.prompt_tokens, record.completion_tokens = _count(prompts, i), _count(lengths, i)
        first = ttft[i]
        if first is None:
            continue
        if first == 0:
            record.status, record.error_message = "empty_completion", "no token of it was seen"
            continue
        record.first_token_at = start + first
        if gaps is not None:
            record.itl_s, record.events = gaps[i], len(gaps[i]) + 1
            record.last_token_at = list(accumulate(gaps[i], initial=record.first_token_at))[-1]
        if whole and whole[i]:
            record.last_token_at = start + (whole[i] or 0.0)
        if not chat:
            record.content_events = record.events
    return records


def without_lost(facts: Facts, records: Sequence[RequestRecord] | None) -> Facts:
    """The facts without requests that the client counts as completed although no token of them was seen.

    Their zeros are in its latencies, and what the server's usage claims for them in its throughput: both are computed
    again from the rows.
    """
    good = [record for record in records or () if record.status == OK]
    lost = facts.completed - len(good)
    if records is None or lost <= 0:
        return facts

    def distribution(value: Callable[[RequestRecord], float | None]) -> Percentiles | None:
        return percentiles_ms(found for found in map(value, good) if found is not None)

    return replace(
        facts,
        completed=len(good),
        errors=len(records) - len(good),
        prompt_tokens=prompt_tokens(good),
        completion_tokens=completion_tokens(good),
        latencies={
            "ttft_ms": distribution(ttft_s),
            "tpot_ms": distribution(tpot_s),
            "e2e_ms": distribution(e2e_s),
            "itl_ms": percentiles_ms(itl_s(good)),
        },
        notes=[
            *facts.notes,
            f"{lost} requests that the client counts as completed show no token: they are errors here, and its figures "
            "are computed again without them",
        ],
    )


def _gaps(document: Document, count: int) -> list[list[float]] | None:
    lists = document.items("itls")
    if lists is None:
        return None
    if len(lists) != count:
        raise document.wrong("itls", f"has {len(lists)} entries, {count} requests were sent")
    inner = Document(document.path, {f"itls[{i}]": entry for i, entry in enumerate(lists)}, document.where)
    found = [inner.column(f"itls[{i}]", len(inner.items(f"itls[{i}]") or [])) for i in range(count)]
    return [[gap for gap in gaps or [] if gap is not None] for gaps in found]


def _count(values: list[float | None] | None, i: int) -> int | None:
    value = values[i] if values else None
    return None if value is None else int(value)
