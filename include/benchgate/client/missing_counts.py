"""Token counts of answers that came without usage: counted after the window, over content *and* reasoning."""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.client.datasets.counting import TokenCounter
from benchgate.client.wire.calls import CallFailed
from benchgate.client.wire.pool import ConnectError
from benchgate.request_record import OK, RequestRecord

BATCH = 64
COUNTED = "tokenizer"  # as token_count_source


async def fill_missing(
    records: Sequence[RequestRecord], texts: dict[tuple[str, int], str], counter: TokenCounter
) -> list[str]:
    """Set ``completion_tokens`` where usage was missing and a real tokenizer is at hand; notes about it.

    An approximation is not used: a throughput made of characters / 4 would be an invented number.
    """
    missing = [r for r in records if r.status == OK and (r.phase, r.request_id) in texts]
    if not missing or counter.source == "approximation":
        return []
    for at in range(0, len(missing), BATCH):
        batch = missing[at : at + BATCH]
        try:
            counts = await counter.count([texts[record.phase, record.request_id] for record in batch])
        except (CallFailed, ConnectError) as error:
            return [f"answers without usage could not be counted: {error}"]
        for record, count in zip(batch, counts, strict=True):
            record.completion_tokens = count
            record.token_count_source = COUNTED
    return [f"{len(missing)} answers came without usage; their tokens were counted with {counter.described}"]
