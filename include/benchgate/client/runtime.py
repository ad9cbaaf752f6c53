"""What a measuring process needs of its Python: the fast event loop, no collector pauses, enough files, signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator

from benchgate.client.wire.reading_loop import ReadingLoop

UNKNOWN_STREAMS = 32_768  # room for them, where the system allows


@contextlib.contextmanager
def event_loop(*, tls: bool) -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that reads plain sockets itself; where that cannot be (TLS, no epoll) uvloop, where it exists."""
    if ReadingLoop.available and not tls:
        loop: asyncio.AbstractEventLoop = ReadingLoop()
    else:
        try:
            import uvloop

            loop = uvloop.new_event_loop()
        except ImportError:  # Windows
            loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """A full collection stops the clock reader for tens of ms; the hot path makes no reference cycles."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def interrupts(loop: asyncio.AbstractEventLoop, stop: Callable[[str], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call ``stop("interrupt")``; only where signals can be caught, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    for one in signals:
        loop.add_signal_handler(one, stop, "interrupt")
    try:
        yield
    finally:
        for one in signals:
            loop.remove_signal_handler(one)


def allow_files(streams: int | None) -> None:
    """Raise the soft limit of open files where many streams need it.

    Args:
        streams: open at once; None: an open loop, whose server may fall behind without end.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * (UNKNOWN_STREAMS if streams is None else streams) + 256
    if soft != resource.RLIM_INFINITY and soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
