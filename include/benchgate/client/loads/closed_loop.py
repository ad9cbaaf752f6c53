"""Closed loop: each user has one request in flight and sends the next when the answer has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from time import monotonic

from benchgate.client.loads.stop import Stop
from benchgate.request_record import RequestRecord

PAUSE_S = 0.2  # a dead server is not asked thousands of times a second ...
PATIENCE = 3  # ... but only after so many answers without a token that one user got in a row, or a refused connection
STARTS_A_TURN = 8  # users that start in one turn of the event loop, so that reading starts before all have written

SendOne = Callable[[int, RequestRecord], Awaitable[None]]


async def closed_loop(
    users: list[int],
    indexes: Iterator[int],
    send_one: SendOne,
    stop: Stop,
    *,
    phase: str,
    ramp_seconds: float = 0.0,
    total_users: int | None = None,
) -> None:
    """Run until ``indexes`` is empty or the run is stopped.

    Args:
        users: numbers of the users of this process.
        ramp_seconds: user k of n starts k/n of it after the begin.
        total_users: users of all processes together; the ramp is shared.
    """
    of = total_users or len(users)

    async def user(number: int) -> None:
        await stop.sleep(ramp_seconds * number / of)
        ready_at, failures = monotonic(), 0
        for index in indexes:
            if stop.is_set:
                return
            record = RequestRecord(index, phase=phase, user=number, queued_at=ready_at)
            await send_one(index, record)
            failures = failures + 1 if record.is_error and not record.events else 0
            if failures >= PATIENCE or (record.status == "connect" and record.sent_at is None):
                await stop.sleep(PAUSE_S)
                ready_at = monotonic()
            else:
                # the user wants to send from the moment the last answer ended: what the client needs from there
                # to the next write is queue_ms, not hidden
                ready_at = record.ended_at or monotonic()

    tasks = []
    for started, number in enumerate(users):
        tasks.append(asyncio.ensure_future(user(number)))
        if started % STARTS_A_TURN == STARTS_A_TURN - 1:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
