"""Stalls: times at which the server sent no token to anybody, although requests were in flight.

An engine that compiles a kernel for a new shape, a driver that resets, a host that swaps: every stream falls silent at
once. Medians do not show it (half of the tokens are sent as fast as ever), and the engine's log need not either: vLLM
names a kernel that it compiles under load once in a server's life and compiles it for further shapes without a word.

A silence of at least :data:`FLOOR_S` is a stall when it is longer than :data:`IRREGULAR` times the p99 of the gaps
between a request's tokens (a busy host stutters all the time, and no single silence stands out) and longer than
:data:`FACTOR` times what can explain it:

- prompts that were waiting: their tokens / the pace of prefill in the same cell;
- tokens without an event of their own (a parser that holds text back): their number x the median gap.

``pace``: each moment at which answers began covers the prompts of those answers, since the moment before or since the
first of them was sent. The token-weighted median over these moments, so that a few slow ones do not move it.
Pure; needs no clock but the client's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.metrics.percentiles import percentile
from benchgate.request_record import OK, RequestRecord

FLOOR_S = 0.5  # shorter ones are a busy host's, and cost too little to matter
FACTOR = 3.0
# Measured: 46 to 450 for kernels compiled on an H200; up to 6 on two CPU cores that six programs wanted
IRREGULAR = 10.0
_SAME_MOMENT_S = 0.005  # answers that begin within one step of the engine


@dataclass(frozen=True, slots=True)
class Stall:
    """One stall. ``begins_at`` on the client's clock; ``excess_s`` is the part that nothing explains."""

    begins_at: float
    seconds: float
    excess_s: float


def stalls(records: Sequence[RequestRecord]) -> list[Stall]:
    """The stalls among the requests of one cell, in order of time.

    Args:
        records: all measured requests, also those that failed or were cut off: whoever gets a token breaks a silence.
    """
    sent = [record for record in records if record.sent_at is not None]
    silences = _silences(sent)
    if not silences:
        return []
    gaps = sorted(gap for record in sent for gap in record.itl_s)
    if not gaps:
        return []  # answers in one piece: a token's time is not known
    gap, shortest = percentile(gaps, 0.5), max(FLOOR_S, IRREGULAR * percentile(gaps, 0.99))
    pace = _prefill_pace(sent)
    largest = max((record.prompt_tokens or record.requested_prompt_tokens or 0 for record in sent), default=0)
    found = []
    for begin, end in silences:
        inside = [record for record in sent if (record.sent_at or 0.0) < end and _end(record) > begin]
        seconds = _covered([(max(begin, record.sent_at or 0.0), min(end, _end(record))) for record in inside])
        if seconds < shortest:
            continue
        waiting = [record for record in inside if record.first_token_at is None or record.first_token_at >= end]
        prompts = sum(record.prompt_tokens or record.requested_prompt_tokens or largest for record in waiting)
        decoding = [record for record in inside if record.first_token_at is not None and record.first_token_at <= begin]
        explained = _held_back_s(decoding, gap)
        if prompts:
            explained += prompts / pace if pace else float("inf")
        if seconds > FACTOR * explained:
            found.append(Stall(begin, seconds, seconds - explained))
    return found


def _end(record: RequestRecord) -> float:
    """When nothing more could come. A request without an end is taken to have gone on."""
    if record.status == OK and record.last_token_at is not None:
        return record.last_token_at
    return record.ended_at if record.ended_at is not None else record.last_token_at or float("inf")


def _flowing(record: RequestRecord) -> list[tuple[float, float]]:
    """Times in which this request got tokens without a gap of :data:`FLOOR_S`."""
    if record.first_token_at is None:
        return []
    last = record.last_token_at if record.last_token_at is not None else record.first_token_at
    if not record.itl_s or max(record.itl_s) < FLOOR_S:
        return [(record.first_token_at, last)]
    found, begin, now = [], record.first_token_at, record.first_token_at
    for gap in record.itl_s:
        if gap >= FLOOR_S:
            found.append((begin, now))
            begin = now + gap
        now += gap
    return [*found, (begin, max(begin, last))]


def _silences(records: Sequence[RequestRecord]) -> list[tuple[float, float]]:
    """Gaps of at least :data:`FLOOR_S` between the times at which anybody got tokens, the first wait included.

    The wait after the last token of all is none: whoever has not got one by then ends without.
    """
    flowing = sorted(span for record in records for span in _flowing(record))
    if not flowing:
        return []
    found, reached = [], min(record.sent_at or 0.0 for record in records)
    for begin, end in flowing:
        if begin - reached >= FLOOR_S:
            found.append((reached, begin))
        reached = max(reached, end)
    return found


def _covered(spans: list[tuple[float, float]]) -> float:
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def _prefill_pace(records: Sequence[RequestRecord]) -> float | None:
    """Prompt tokens a second at which the server read prompts, as half of all prompt tokens saw it or better."""
    begun = sorted(
        (record.first_token_at, record.sent_at or 0.0, (record.prompt_tokens or 0) - (record.cached_tokens or 0))
        for record in records
        if record.first_token_at is not None and record.prompt_tokens
    )
    paces: list[tuple[float, int]] = []  # pace, prompt tokens
    before, at = float("-inf"), 0
    while at < len(begun):
        moment, sent, tokens = begun[at]
        at += 1
        while at < len(begun) and begun[at][0] - moment <= _SAME_MOMENT_S:
            sent, tokens, at = min(sent, begun[at][1]), tokens + begun[at][2], at + 1
        took = moment - max(before, sent)
        if took > 0 and tokens > 0:
            paces.append((tokens / took, tokens))
        before = begun[at - 1][0]
    half, total = 0, sum(tokens for _, tokens in paces)
    for pace, tokens in sorted(paces):
        half += tokens
        if 2 * half >= total:
            return pace
    return None


def _held_back_s(decoding: Sequence[RequestRecord], gap: float) -> float:
    """How long all streams may be silent because tokens had no event: the one that held back least decides."""
    if not decoding:
        return 0.0
    hidden = [
        max(0, record.completion_tokens - record.events)
        for record in decoding
        if record.status == OK and record.completion_tokens is not None
    ]
    return min(hidden) * gap if hidden else float("inf")
