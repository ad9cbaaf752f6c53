"""Latency verdict: may the latencies of this cell be shown?

``valid``, or one reason why they are NULL, looked for in this order:

- ``no_stream``: most answers did not come as an event stream, so no token has a time.
- ``client_bound``: the client could not keep up. Its core was full (above :data:`FULL_CORE`: then answers wait in the
  kernel, and users send late), or its event loop woke up late: p99 of the lag above :data:`LAG_FLOOR_MS` *and* above
  :data:`LAG_SHARE` of the median TTFT. One stamp in a hundred is that late: 25 ms spoil the tail of a TTFT of 50 ms and
  are noise in one of 2 s. Events per read stand in the reason: many in one mean that they had waited.
- ``burst``: the stream did not come token by token: completion_tokens / moments above a limit over the cell, or at
  least half of the requests had more than half of their text in one event. Moments are distinct arrival times: a
  proxy that holds a stream back and lets it go at once sends many events at one moment.
- ``too_few_samples``: fewer successful requests with a TTFT than asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchgate.metrics.percentiles import percentile
from benchgate.metrics.ttft import ttft_s
from benchgate.request_record import ClientFacts, RequestRecord

LAG_FLOOR_MS = 20.0  # up to here a busy machine's scheduler alone explains it (ticks of 1 to 10 ms)
LAG_SHARE = 0.20  # of the median TTFT
FULL_CORE = 0.95  # of one core, over the whole window; the rest goes to the kernel's accounting
MAX_TOKENS_PER_EVENT = 4.0
MIN_SAMPLES = 5
SMALL_ANSWER = 8  # tokens; a shorter answer in one event is no burst but an answer
SAME_MOMENT_S = 50e-6  # events of one read have one time; nothing on a network is closer together than this


@dataclass(frozen=True, slots=True)
class LatencyVerdict:
    """``valid`` or a reason, and the reason in words with its numbers."""

    verdict: str
    reason: str | None = None


def moments(record: RequestRecord) -> int:
    """Distinct arrival times of token-bearing events."""
    return 0 if not record.events else 1 + sum(gap > SAME_MOMENT_S for gap in record.itl_s)


def _text_in_one_event(record: RequestRecord) -> bool:
    tokens = record.completion_tokens or 0
    chars = record.content_chars + record.reasoning_chars + record.tool_chars
    most = tokens - (record.events - 1)  # every other event had at least one token
    return tokens >= SMALL_ANSWER and most > tokens / 2 and record.largest_event_chars > chars / 2


def _client_bound(successful: Sequence[RequestRecord], facts: ClientFacts | None) -> str | None:
    if facts is None:
        return None
    reads = f", {facts.events / facts.reads:.1f} events in a read" if facts.reads and facts.events else ""
    help_ = "use --processes, or a core of its own"
    if facts.cpu_share is not None and facts.cpu_share > FULL_CORE:
        return f"the client used {facts.cpu_share:.0%} of its core{reads}; {help_}"
    first = sorted(value * 1000.0 for value in map(ttft_s, successful) if value is not None)
    lag = facts.loop_lag_p99_ms
    if lag is None or not first:
        return None
    median = percentile(first, 0.5)
    if lag > max(LAG_FLOOR_MS, LAG_SHARE * median):
        return (
            f"the client's event loop woke up {lag:.1f} ms late (p99){reads}, against a median TTFT of "
            f"{median:.1f} ms; {help_}"
        )
    return None


def _burst(successful: Sequence[RequestRecord], limit: float) -> str | None:
    counted = [r for r in successful if r.completion_tokens is not None and r.events and r.streamed is not False]
    tokens = sum(record.completion_tokens or 0 for record in counted)
    arrivals = sum(moments(record) for record in counted)
    longer = [record for record in counted if (record.completion_tokens or 0) >= SMALL_ANSWER]
    if longer and arrivals and tokens / arrivals > limit:
        return f"{tokens / arrivals:.1f} tokens arrived at a time, more than {limit:g}"
    whole = sum(_text_in_one_event(record) for record in longer)
    if longer and whole >= len(longer) / 2:
        return f"{whole} of {len(longer)} answers had most of their text in one event"
    return None


def latency_verdict(
    successful: Sequence[RequestRecord],
    facts: ClientFacts | None = None,
    *,
    max_tokens_per_event: float = MAX_TOKENS_PER_EVENT,
    min_samples: int = MIN_SAMPLES,
) -> LatencyVerdict:
    """The verdict over the successful requests of a cell."""
    whole = sum(record.streamed is False for record in successful)
    if successful and whole > len(successful) / 2:
        return LatencyVerdict("no_stream", f"{whole} of {len(successful)} answers did not come as a stream")
    reason = _client_bound(successful, facts)
    if reason is not None:
        return LatencyVerdict("client_bound", reason)
    reason = _burst(successful, max_tokens_per_event)
    if reason is not None:
        return LatencyVerdict("burst", reason)
    samples = sum(ttft_s(record) is not None for record in successful)
    if samples < min_samples:
        return LatencyVerdict("too_few_samples", f"{samples} samples, at least {min_samples} are needed")
    return LatencyVerdict("valid")
