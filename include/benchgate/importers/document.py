"""Typed access to a JSON document: a wrong value is an error with file and key, a missing one is None."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchgate.importers.model import ResultError

_MOST = 1e30  # above everything that is measured, and far below what overflows


class Document:
    """One JSON object of a file. ``where`` is the dotted key that leads to it, for messages."""

    def __init__(self, path: Path, values: Mapping[str, Any], where: str = "") -> None:
        self.path = path
        self.values = values
        self.where = where

    def __contains__(self, key: object) -> bool:
        return key in self.values

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def wrong(self, key: str, problem: str) -> ResultError:
        """An error about one key."""
        return ResultError(f"{self.path}: {self._name(key)}: {problem}")

    def number(self, key: str) -> float | None:
        """A finite number, or None where the file has null, NaN or nothing.

        Raises:
            ResultError: it is something else, or below zero.
        """
        value = self.values.get(key)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, f"is {_shown(value)}, not a number")
        if not 0 <= value < _MOST:
            raise self.wrong(key, f"is {_shown(value)}, which cannot be")
        return float(value)

    def integer(self, key: str) -> int | None:
        """A whole number, or None."""
        value = self.number(key)
        if value is not None and value != int(value):
            raise self.wrong(key, f"is {value:g}, not a whole number")
        return None if value is None else int(value)

    def text(self, key: str) -> str | None:
        """A text, or None."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.wrong(key, f"is {_shown(value)}, not a text")
        return value or None

    def section(self, key: str) -> Document | None:
        """An object within, or None."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(key, f"is {_shown(value)}, not an object")
        return Document(self.path, value, self._name(key))

    def needed(self, key: str) -> Document:
        """An object that the format cannot do without."""
        found = self.section(key)
        if found is None:
            raise self.wrong(key, "is missing")
        return found

    def needed_number(self, key: str) -> float:
        """A number that the format cannot do without."""
        value = self.number(key)
        if value is None:
            raise self.wrong(key, "is missing" if key not in self.values else "holds no number")
        return value

    def needed_integer(self, key: str) -> int:
        """A whole number that the format cannot do without."""
        self.needed_number(key)
        value = self.integer(key)
        assert value is not None
        return value

    def items(self, key: str) -> list[Any] | None:
        """A list, or None."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise self.wrong(key, f"is {_shown(value)}, not a list")
        return value

    def sections(self, key: str) -> Iterator[Document]:
        """The objects of a list."""
        for i, value in enumerate(self.items(key) or []):
            if not isinstance(value, dict):
                raise self.wrong(f"{key}[{i}]", f"is {_shown(value)}, not an object")
            yield Document(self.path, value, self._name(f"{key}[{i}]"))

    def column(self, key: str, length: int) -> list[float | None] | None:
        """A list of numbers, one a request; None where the file has none.

        Raises:
            ResultError: another length, or an entry that is no number.
        """
        values = self.items(key)
        if values is None:
            return None
        if len(values) != length:
            raise self.wrong(key, f"has {len(values)} entries, {length} requests were sent")
        row = Document(self.path, {f"{key}[{i}]": value for i, value in enumerate(values)}, self.where)
        return [row.number(f"{key}[{i}]") for i in range(length)]

    def moment(self, key: str, *formats: str) -> str | None:
        """A point in time as UTC ISO 8601, or None. Without a zone in the file it is taken as UTC."""
        text = self.text(key)
        if text is None:
            return None
        for form in formats:
            try:
                at = datetime.strptime(text, form)
            except ValueError:
                continue
            return at.replace(tzinfo=at.tzinfo or timezone.utc).astimezone(timezone.utc).isoformat(timespec="seconds")
        raise self.wrong(key, f"is {_shown(text)}, not a time")

    def epoch(self, key: str) -> str | None:
        """A point in time given in seconds since 1970, as UTC ISO 8601, or None."""
        seconds = self.number(key)
        try:
            return None if seconds is None else _at(seconds)
        except (OverflowError, ValueError, OSError):
            raise self.wrong(key, f"is {seconds:g}, not a time") from None


def _at(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def load(path: Path) -> list[Document]:
    """The objects of a JSON file, or of a file with one JSON object a line.

    Raises:
        ResultError: no such file, no JSON, a file that was cut off, or JSON that is no object.
    """
    text = _text(path)
    if not text.strip():
        raise ResultError(f"{path}: is empty", remedy="the client that wrote it did not finish")
    try:
        values = [json.loads(text)]
    except json.JSONDecodeError as error:
        values = _lines(path, text, error)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise ResultError(f"{path}: cannot be read: {error}") from None
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            where = f"{path}:{number}" if len(values) > 1 else str(path)
            raise ResultError(f"{where}: holds {_shown(value)}, not the object that a result file is")
    return [Document(path, value, f"line {n}" if len(values) > 1 else "") for n, value in enumerate(values, 1)]


def load_rows(path: Path) -> list[Document]:
    """The objects of a file with one JSON object a line; none of an empty one.

    Raises:
        ResultError: it cannot be read, a line is no JSON object, or the last one was cut off.
    """
    rows = []
    for number, value in _values(path, _numbered(_text(path))):
        if not isinstance(value, dict):
            raise ResultError(f"{path}:{number}: holds {_shown(value)}, not an object")
        rows.append(Document(path, value, f"line {number}"))
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ResultError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultError(f"{path}: cannot be read: {error}") from None


def _numbered(text: str) -> list[tuple[int, str]]:
    """The lines that hold anything. Only LF ends one: a JSON string may hold other separators as they are."""
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _lines(path: Path, text: str, error: json.JSONDecodeError) -> list[Any]:
    lines = _numbered(text)
    try:
        json.loads(lines[0][1])
    except (ValueError, RecursionError):
        cut = error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
        why = "ends in the middle: it was cut off" if cut else f"is no JSON: {error.msg}"
        raise ResultError(f"{path}:{error.lineno}: column {error.colno}: {why}") from None
    return [value for _, value in _values(path, lines)]


def _values(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, Any]]:
    """Line number and value of each line."""
    for number, line in lines:
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as found:
            problem = found if isinstance(found, json.JSONDecodeError) else json.JSONDecodeError(str(found), line, 0)
            why = "ends in the middle: it was cut off" if number == lines[-1][0] else f"is no JSON: {problem.msg}"
            raise ResultError(f"{path}:{number}: column {problem.colno}: {why}") from None
