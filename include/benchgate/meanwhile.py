"""Something small that is done again and again while something else goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def meanwhile(
    work: Callable[[], None], *, every_s: float, name: str, patience_s: float = 10.0, at_the_end: bool = False
) -> Iterator[None]:
    """Do ``work`` every ``every_s`` seconds, in a thread of its own, for as long as the ``with`` block lasts.

    Args:
        work: must not raise: nobody would hear of it, and it would not be done again.
        every_s: seconds between the end of one time and the next; the first is so long after the beginning.
        name: of the thread.
        patience_s: how long the end of the block waits for work that is being done.
        at_the_end: do it once more as the block ends, however it ends.
    """
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(every_s):
            work()
        if at_the_end:
            work()

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(timeout=patience_s)
