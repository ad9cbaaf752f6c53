"""The group of client processes, without processes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from benchgate.client.channel import Ready, StopNow
from benchgate.client.processes import ProcessGroup


class Child:
    """A process that is ready at once, and notes what it is told."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.channel = self
        self.ready = asyncio.Event()
        self.result = self.failure = None
        self.told: list[object] = []

    async def send(self, message: object) -> None:
        self.told.append(message)

    async def receive(self) -> object:
        if self.ready.is_set():
            self.result = "done"  # type: ignore[assignment]
        return Ready()


def test_who_starts_after_the_interrupt_hears_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = None
    group = ProcessGroup(config, config, 3, tls=False)
    children: list[Child] = []

    async def start(number: int) -> Child:
        if number == 1:
            group.end("interrupt")
            await asyncio.sleep(0)
        children.append(Child(number))
        return children[-1]

    monkeypatch.setattr(group, "_start", start)
    asyncio.run(group.warm_up())

    assert [StopNow("interrupt") in child.told for child in children] == [True, True, True]
