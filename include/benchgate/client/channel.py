"""Messages between the client's processes: pickles with a length in front, over a socket pair that nobody else has."""

from __future__ import annotations

import asyncio
import pickle
import socket
import struct
from dataclasses import dataclass
from typing import Any

from benchgate.client.config import BenchConfig
from benchgate.client.datasets import PromptSource
from benchgate.client.worker import Counts, Share, WorkerResult

_LENGTH = struct.Struct("!Q")
READ_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Begin:
    """To a process: what to do. It answers with :class:`Ready` when it is warm."""

    config: BenchConfig
    model: str
    source: PromptSource
    share: Share
    keep_text: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """From a process: warmed up."""


@dataclass(frozen=True, slots=True)
class Go:
    """To a process: the measured window begins at this moment of the common monotonic clock."""

    start_at: float


@dataclass(frozen=True, slots=True)
class StopNow:
    """To a process: end the run and keep what was measured."""

    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """From a process: how far it is."""

    counts: Counts


@dataclass(frozen=True, slots=True)
class Done:
    """From a process: everything."""

    result: WorkerResult


@dataclass(frozen=True, slots=True)
class Failed:
    """From a process: it could not do its part."""

    message: str


class Channel:
    """One end of a socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, sock: socket.socket) -> Channel:
        """A channel over a connected socket, which it owns from now on."""
        return cls(*await asyncio.open_connection(sock=sock, limit=READ_LIMIT))

    async def send(self, message: object) -> None:
        """Send one message; a peer that is gone is noticed when reading."""
        if self._writer.is_closing():
            return
        data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
        self._writer.write(_LENGTH.pack(len(data)) + data)
        try:
            await self._writer.drain()
        except ConnectionError:
            return

    async def receive(self) -> Any:
        """The next message; None when the other process is gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return pickle.loads(await self._reader.readexactly(length))  # noqa: S301 - our own child or parent
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        """Close this end."""
        self._writer.close()
