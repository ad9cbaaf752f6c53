"""An event loop whose selector reads plain sockets itself, and comes back only when the loop has something to do.

A read from the middle of a stream changes nothing that a callback or a task waits for. On a loop of the usual kind it
costs a turn all the same: the wait returns, a handle is made and called, timers are looked at. Here the wait goes on.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

A_TURN = 256  # sockets read in one turn, so that writes and timers have their turn in between

Ready = list[tuple[int, int]]
Events = list[tuple[selectors.SelectorKey, int]]


class ReadingSelector(selectors.BaseSelector):
    """What the loop itself watches is behind one more file of the same epoll. Needs epoll."""

    def __init__(self) -> None:
        self._others = selectors.EpollSelector()
        self.epoll = select.epoll()
        self.epoll.register(self._others.fileno(), select.EPOLLIN)
        self._read: Callable[[Ready], bool] | None = None

    def attach(self, read: Callable[[Ready], bool]) -> None:
        """``read`` gets what is ready of ``epoll``, and says whether the loop has something to do now.

        Raises:
            RuntimeError: another one is attached.
        """
        if self._read is not None:
            raise RuntimeError("one receiver a loop")
        self._read = read

    def detach(self) -> None:
        """Only watch for the loop from now on."""
        self._read = None

    def select(self, timeout: float | None = None) -> Events:
        """Files of the loop that are ready; [] after ``timeout`` seconds, or earlier when a callback may be due."""
        read = self._read
        if read is None:
            return self._others.select(timeout)
        until = None if timeout is None else monotonic() + timeout
        wait = timeout
        while not read(self.epoll.poll(wait, A_TURN)):
            if until is not None:
                wait = until - monotonic()
                if wait <= 0:
                    return []
        return self._others.select(0)

    def register(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a file for the loop."""
        return self._others.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Watch it no more."""
        return self._others.unregister(fileobj)

    def modify(self, fileobj: FileDescriptorLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch for other events."""
        return self._others.modify(fileobj, events, data)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        """The files of the loop."""
        return self._others.get_map()

    def close(self) -> None:
        """Watch nothing any more."""
        self.epoll.close()
        self._others.close()


class ReadingLoop(asyncio.SelectorEventLoop):
    """``ReadingLoop.available`` says whether this system has what it needs."""

    available = hasattr(select, "epoll")

    def __init__(self) -> None:
        self.selector = ReadingSelector()
        super().__init__(self.selector)
