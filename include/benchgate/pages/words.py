"""Values as the pages write them. Unknown is an en dash, never a 0; every time is UTC and says so."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from typing import Any

from benchgate.report.tables import UNKNOWN

# state of a cell, a launch or a run -> (glyph, words). The glyph tells states apart without colour.
STATES: dict[str, tuple[str, str]] = {
    "published": ("●", "published"),
    "unpublishable": ("▲", "unpublishable"),
    "failed": ("✕", "failed"),
    "not_run": ("○", "did not run"),
    "deselected": ("·", "not asked for"),
    "planned": ("◌", "planned"),
    "running": ("▶", "measuring"),
    "measured": ("◐", "measured, not judged yet"),
    "success": ("●", "as expected"),
    "nothing_new": ("·", "nothing new"),
    "queued": ("◌", "queued"),
    "starting": ("▶", "starting"),
    "ready": ("●", "ready"),
}


LONG = 700  # characters of a text that are shown at once
# endings of names of facts -> how a person reads them
_UNITS = (("_tok_s", " tok/s"), ("_gib", ", GiB"), ("_ms", ", ms"), ("_s", ", s"))
_ABBREVIATIONS = {"gpu": "GPU", "cpu": "CPU", "kv": "KV", "moe": "MoE", "id": "id", "sha256": "SHA-256", "oom": "OOM"}

# a terminal's escape sequence; a control character but tab and line ends; a change of direction; half a character
_INVISIBLE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def state_glyph(state: str) -> str:
    """The sign of a state."""
    return STATES.get(state, ("?", state))[0]


def state_words(state: str) -> str:
    """A state in words."""
    return STATES.get(state, ("?", state.replace("_", " ")))[1]


def fact(name: str) -> str:
    """The name of a column or a key as a label: ``decode tok/s``, ``MoE kernel``, ``weights, GiB``."""
    ending, unit = next(((e, u) for e, u in _UNITS if name.endswith(e)), ("", ""))
    parts = name.removesuffix(ending).split("_")
    return " ".join(_ABBREVIATIONS.get(part, part) for part in parts) + unit


def iso(value: Any) -> str | None:
    """A moment from either database (text on SQLite, a datetime on PostgreSQL) as UTC ISO 8601 to the second."""
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        parsed = value
    else:
        try:
            parsed = _parsed(str(value))
        except ValueError:
            return str(value)
    aware = parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(value: Any) -> str | None:
    """A calendar day from either database as ``YYYY-MM-DD``."""
    if value is None:
        return None
    return str(value.isoformat())[:10] if isinstance(value, date) else str(value)[:10]


def moment(value: Any) -> str:
    """``2026-11-30 02:00 UTC``."""
    text = iso(value)
    if text is None:
        return UNKNOWN
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 and text[10] == "T" else text


def clock(value: Any) -> str:
    """``02:00:07 UTC``."""
    text = iso(value)
    return f"{text[11:19]} UTC" if text is not None and len(text) >= 19 and text[10] == "T" else moment(value)


def visible(value: Any) -> Any:
    """A text without what would act on the page around it instead of being read.

    Colour codes of terminals are left out. Other control characters, and those that turn the direction of the text
    that follows (a line could look like another one), are shown by their code. Anything that is no text stays.
    """
    if not isinstance(value, str) or not _INVISIBLE.search(value):
        return value
    return type(value)(_INVISIBLE.sub(lambda found: _named(found[0]), value))


def _named(found: str) -> str:
    return "" if len(found) > 1 else f"⟨U+{ord(found):04X}⟩"


def short(text: str | None, most: int = 300) -> str | None:
    """The beginning of a text, for a place that leads to the whole of it."""
    return text if text is None or len(text) <= most else f"{text[:most].rstrip()} …"


def seconds_between(start: Any, end: Any) -> float | None:
    """Seconds from one moment to another; None when either is unknown or no time, or a clock was set back between."""
    first, last = iso(start), iso(end)
    if first is None or last is None:
        return None
    try:
        passed = (_parsed(last) - _parsed(first)).total_seconds()
    except ValueError:
        return None
    return passed if passed >= 0 else None


def now() -> str:
    """This moment, UTC."""
    return str(iso(datetime.now(timezone.utc)))


def duration(seconds: float | None) -> str:
    """``3 h 05 min``, ``4 min 10 s``, ``12 s``."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, round(seconds))
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


def count(number: int, one: str, many: str | None = None) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def yes_no(value: bool | None) -> str:
    """``yes``, ``no`` or unknown."""
    return UNKNOWN if value is None else "yes" if value else "no"


def _parsed(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
