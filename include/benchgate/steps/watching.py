"""What is seen of a cell while it is measured: the client's progress, and when its measured window began."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from upath import UPath

from benchgate.artifacts import RunStore

_SAY_EVERY_S = 10.0
_KEEP_EVERY_S = 2.0


class ClientWatch:
    """Takes the client's output line by line. Progress goes to the task log now and then, and to a file."""

    def __init__(
        self,
        cell: str,
        store: RunStore,
        target: UPath,
        say: Callable[[str], None],
        on_window: Callable[[], None],
    ) -> None:
        self.cell = cell
        self.tail: list[str] = []  # the last lines that are no progress: what a client that failed said
        self._store, self._target, self._say, self._on_window = store, target, say, on_window
        self._begun = False
        self._said = self._kept = 0.0

    def __call__(self, line: str) -> None:
        """One line of the client's output."""
        text = line.strip()
        progress = _progress(text)
        if progress is None:
            if text:
                self.tail = [*self.tail[-30:], text]
            return
        if not self._begun:
            self._begun = True
            self._on_window()
        now = time.monotonic()
        if now - self._kept >= _KEEP_EVERY_S:
            self._kept = now
            self._store.write_json(self._target, {"cell": self.cell, **progress})
        if now - self._said >= _SAY_EVERY_S:
            self._said = now
            self._say(in_words(progress))


def in_words(progress: dict[str, float | None]) -> str:
    """``23/64 requests, 812 tok/s, 0 errors, 12 s left``."""
    planned = progress.get("planned")
    done = f"{progress.get('done', 0):g}" + (f"/{planned:g}" if planned is not None else "")
    left = progress.get("eta_s")
    return f"{done} requests, {progress.get('tok_s') or 0:.0f} tok/s, {progress.get('errors') or 0:g} errors" + (
        f", {left:.0f} s left" if left is not None else ""
    )


def _progress(text: str) -> dict[str, float | None] | None:
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "done" in value and "elapsed_s" in value else None
