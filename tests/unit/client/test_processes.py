"""The group of client processes, without processes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from benchgate.client.channel import Begin, Channel, Done, Go, Ready, StopNow
from benchgate.client.config import BenchConfig
from benchgate.client.processes import ProcessGroup
from benchgate.client.worker import WorkerResult


class Spoken:
    """A channel whose process is ready at once, and hands its result in when it was told to go."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self._answers: asyncio.Queue[object] = asyncio.Queue()
        self._answers.put_nowait(Ready())

    async def send(self, message: object) -> None:
        self.told.append(message)
        if isinstance(message, Go):
            self._answers.put_nowait(Done(WorkerResult()))

    async def receive(self) -> object:
        return await self._answers.get()


def test_a_process_that_starts_after_an_interrupt_hears_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: Any = SimpleNamespace(model="m", source=None)
    group = ProcessGroup(BenchConfig("http://127.0.0.1:9"), prepared, 3, tls=False)
    channels: list[Spoken] = []

    async def start(*_: object, **__: object) -> None:
        if len(channels) == 1:
            group.end("interrupt")
            await asyncio.sleep(0)  # those that exist are told

    async def over(sock: Any) -> Spoken:
        sock.close()
        channels.append(Spoken())
        return channels[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    monkeypatch.setattr(Channel, "over", over)

    async def both() -> int:
        await group.warm_up()
        return len(await group.measure())

    assert asyncio.run(both()) == 3
    assert all(StopNow("interrupt") in channel.told for channel in channels)
    assert all(isinstance(channel.told[0], Begin) for channel in channels)
