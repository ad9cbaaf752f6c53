"""Progress on the terminal: a bar for people, one JSON line a second for programs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from time import monotonic
from typing import TextIO

MODES = ("auto", "bar", "json", "none")


@dataclass(frozen=True, slots=True)
class ProgressNow:
    """How far a run is. ``planned`` and ``eta_s`` are None when only the clock will end it and no cap is known."""

    done: int
    planned: int | None
    tok_s: float
    errors: int
    elapsed_s: float
    eta_s: float | None


def estimate(*, done: int, planned: int | None, elapsed_s: float, max_seconds: float | None) -> float | None:
    """Seconds left: by requests or by the cap, whichever ends first."""
    by_requests = None if planned is None or not done else elapsed_s * max(0, planned - done) / done
    by_cap = None if max_seconds is None else max(0.0, max_seconds - elapsed_s)
    known = [value for value in (by_requests, by_cap) if value is not None]
    return min(known) if known else None


class ProgressLine:
    """Writes progress. ``auto`` is a bar on a terminal and nothing elsewhere."""

    def __init__(self, mode: str, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.mode = ("bar" if self._err.isatty() else "none") if mode == "auto" else mode
        self._shown = False

    def show(self, now: ProgressNow) -> None:
        """One update."""
        if self.mode == "json":
            line = {
                "done": now.done,
                "planned": now.planned,
                "tok_s": round(now.tok_s, 1),
                "errors": now.errors,
                "elapsed_s": round(now.elapsed_s, 1),
                "eta_s": None if now.eta_s is None else round(now.eta_s, 1),
            }
            print(json.dumps(line), file=self._out, flush=True)
        elif self.mode == "bar":
            self._err.write("\r" + bar(now) + "\033[K")
            self._err.flush()
            self._shown = True

    def close(self) -> None:
        """End the bar's line."""
        if self._shown:
            self._err.write("\n")
            self._err.flush()
            self._shown = False


def bar(now: ProgressNow, width: int = 24) -> str:
    """``[######------] 12/40  812 tok/s  0 errors  0:12 left 0:30``."""
    share = 0.0
    if now.planned:
        share = now.done / now.planned
    elif now.eta_s is not None and now.elapsed_s + now.eta_s > 0:
        share = now.elapsed_s / (now.elapsed_s + now.eta_s)
    full = min(width, int(share * width))
    planned = "" if now.planned is None else f"/{now.planned}"
    left = "" if now.eta_s is None else f"  left {_clock(now.eta_s)}"
    errors = "error" if now.errors == 1 else "errors"
    return (
        f"[{'#' * full}{'-' * (width - full)}] {now.done}{planned}  {now.tok_s:,.0f} tok/s  "
        f"{now.errors} {errors}  {_clock(now.elapsed_s)}{left}"
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Rate:
    """Tokens per second over the last few updates."""

    def __init__(self, span: int = 5) -> None:
        self._points: list[tuple[float, int]] = []
        self._span = span

    def add(self, tokens: int) -> float:
        """Note the total so far; the rate over the last ``span`` updates."""
        self._points.append((monotonic(), tokens))
        del self._points[: -self._span - 1]
        (then, before), (now, total) = self._points[0], self._points[-1]
        return max(0.0, (total - before) / (now - then)) if now > then else 0.0
