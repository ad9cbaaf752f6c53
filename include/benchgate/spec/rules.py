"""What rules across the fields of a file have in common. Rules read plain values and never raise, so that a file with a
wrong field elsewhere still hears all of them; the models apply the same rules to what is built in code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic_core import PydanticCustomError

RULE_ERROR = "benchgate_rule"  # pydantic error type of a broken rule
Path = tuple[str | int, ...]

_SECRET_VALUE = re.compile(
    r"(?<![A-Za-z0-9])(hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{12,})"
    r"|[Bb]earer [A-Za-z0-9._~+/=-]{8,}|://[^/\s:@]+:[^/\s@]+@"
)


@dataclass(frozen=True)
class Complaint:
    """A broken rule at one place of a file. A ``warning`` is said and refuses nothing."""

    path: Path
    message: str
    warning: bool = False


def refuse(complaints: Iterable[Complaint]) -> None:
    """Raise all errors among ``complaints`` as one pydantic error, for models that are built in code."""
    errors = [complaint for complaint in complaints if not complaint.warning]
    if errors:
        text = "; ".join(f"{'.'.join(map(str, each.path))}: {each.message}" for each in errors)
        raise PydanticCustomError(RULE_ERROR, "{text}", {"text": text})


def looks_secret(value: object) -> bool:
    """Whether a text, or any text inside lists and mappings, has the shape of a token or password."""
    if isinstance(value, str):
        return _SECRET_VALUE.search(value) is not None
    if isinstance(value, Mapping):
        return any(looks_secret(part) for part in value.values())
    return isinstance(value, list) and any(looks_secret(part) for part in value)


def as_map(value: object) -> Mapping[str, object]:
    """``value`` if it is a mapping, else an empty one: a wrong type is the models' business."""
    return value if isinstance(value, Mapping) else {}


def near_miss(word: str, options: Iterable[str]) -> str:
    """`` ; did you mean ..?`` for an option close to ``word``, else a full stop."""
    close = difflib.get_close_matches(word, list(options), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else "."
