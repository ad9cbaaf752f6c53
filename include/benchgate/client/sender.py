"""Sends one request at a time for whoever asks, fills its record, and ends what takes too long."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from benchgate.client.outcome import fill
from benchgate.client.template import BodyTemplate, Prompt
from benchgate.client.wire.connection import HttpConnection
from benchgate.client.wire.drain import Drain
from benchgate.client.wire.exchange import Exchange
from benchgate.client.wire.faults import cut
from benchgate.client.wire.pool import ConnectError, Pool
from benchgate.request_record import CUT_OFF, RequestRecord
from benchgate.secrets import mask

STALE_WITHIN_S = 1.0  # a socket that the server had closed answers a write within a round trip, not after a prefill


@dataclass(slots=True)
class _InFlight:
    record: RequestRecord
    exchange: Exchange
    connection: HttpConnection
    reused: bool  # the connection has carried an answer before
    ended_by: str | None = None


class Sender:
    """All requests of one process."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pool: Pool,
        drain: Drain,
        template: BodyTemplate,
        *,
        path: str,
        api_key: str | None,
        timeout_s: float,
        idle_timeout_s: float,
        keep_text: bool = False,
    ) -> None:
        self.pool = pool
        self.template = template
        self.keep_text = keep_text
        self.texts: dict[tuple[str, int], str] = {}  # (phase, request id) -> text of answers that came without usage
        self.reads = self.events = 0  # of answers that have ended
        self._loop = loop
        self._drain = drain
        self._path = path
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._idle_timeout_s = idle_timeout_s
        self._in_flight: dict[Exchange, _InFlight] = {}
        self._sweep_every = max(0.005, min(1.0, timeout_s / 10, idle_timeout_s / 10))
        self._sweeper: asyncio.TimerHandle | None = None

    async def send(self, prompt: Prompt, record: RequestRecord) -> None:
        """Send one request and wait for the end of its answer. Never raises on what a server does."""
        if record.queued_at is None:
            record.queued_at = monotonic()
        while True:
            try:
                connection = await self.pool.acquire(fresh=record.retried_stale_connection)
            except ConnectError as error:
                if self.pool.halted:
                    record.status = CUT_OFF
                    return
                record.status = "connect"
                record.error_message = cut(mask(str(error)))
                record.ended_at = monotonic()
                return
            if self.pool.halted:  # the run ended while this request waited for its connection
                self.pool.release(connection)
                record.status = CUT_OFF
                return
            flight = await self._exchange(prompt, record, connection)
            stale = self._was_stale(flight)
            if flight.reused:
                self.pool.note_reuse(stale=stale)
            if not stale or record.retried_stale_connection:
                break
            record.retried_stale_connection = True
        fill(record, flight.exchange, ended_by=flight.ended_by)
        texts = flight.exchange.answer.texts
        if texts and record.completion_tokens is None:
            self.texts[record.phase, record.request_id] = "".join(texts)

    async def _exchange(self, prompt: Prompt, record: RequestRecord, connection: HttpConnection) -> _InFlight:
        exchange = Exchange(self._loop, keep_text=self.keep_text)
        flight = _InFlight(record, exchange, connection, connection.served > 0)
        self._in_flight[exchange] = flight
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._sweep_every, self._sweep)
        body = self.template.pieces(prompt)
        length = sum(len(piece) for piece in body)
        head = self.pool.target.head(
            "POST",
            self._path,
            length=length,
            api_key=self._api_key,
            accept="text/event-stream",
            request_id=f"{record.phase}-{record.request_id}",  # engines log it
        )
        connection.send(exchange, (head, *body))
        self.pool.open_spare()
        try:
            await exchange.future
        finally:
            del self._in_flight[exchange]
            self.reads += exchange.read_count
            self.events += exchange.events
            if connection.exchange is exchange:
                connection.finish()
            self.pool.release(connection)
            exchange.release()
        return flight

    @staticmethod
    def _was_stale(flight: _InFlight) -> bool:
        """The server had closed this reused connection before our request reached it."""
        exchange = flight.exchange
        return (
            flight.reused
            and flight.ended_by is None
            and exchange.last_read_at is None
            and exchange.lost is not None
            and monotonic() - (exchange.sent_at or 0.0) < STALE_WITHIN_S
        )

    # -- what takes too long, and what is cut off ------------------------------------------------------------------

    def _sweep(self) -> None:
        """End requests over their limits. One timer for all of them: a timer a request would cost more than this."""
        self._sweeper = None
        if not self._in_flight:
            return
        self.pool.parse()
        now = monotonic()
        for flight in list(self._in_flight.values()):
            exchange = flight.exchange
            running = now - (exchange.sent_at or now)
            silent = now - (exchange.last_read_at or now) if exchange.answer.events else 0.0
            if running > self._timeout_s or silent > self._idle_timeout_s:
                self._end(flight, "timeout")
        if self._in_flight:
            self._sweeper = self._loop.call_later(self._sweep_every, self._sweep)

    def cut_off(self) -> None:
        """The run is over: end everything in flight and send nothing more."""
        self.pool.halt()
        for flight in list(self._in_flight.values()):
            self._end(flight, CUT_OFF)

    def _end(self, flight: _InFlight, why: str) -> None:
        exchange = flight.exchange
        if exchange.future.done():
            return
        self.pool.parse()  # what has already arrived counts
        self._drain.finish(exchange)
        if exchange.future.done():
            return
        if not exchange.answer.done:  # behind [DONE] only the end of the HTTP message can be missing
            flight.ended_by = why
            exchange.ended_at = monotonic()
        flight.connection.close()
        exchange.future.set_result(None)

    def running_events(self) -> int:
        """Token events of the answers in flight, for the progress line."""
        self.pool.parse()
        return sum(exchange.answer.events for exchange in self._in_flight)

    def close(self) -> None:
        """Stop the timer."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
