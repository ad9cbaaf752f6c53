"""Types of options: what a value must be, said in one line that names the option (exit code 2)."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchgate.errors import BenchgateError
from benchgate.names import slug
from benchgate.whole_file import whole_file

MOST_USERS, MOST_TOKENS = 100_000, 100_000_000  # beyond these stands a typing mistake that would take all memory


def number(
    *, above: float | None = None, at_least: float | None = None, at_most: float | None = None
) -> Callable[[str], float]:
    """A finite number within limits."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"must be a number, not {text!r}")
        _within(value, text, above, at_least, at_most)
        return value

    return read


def whole(*, at_least: int | None = None, at_most: int | None = None) -> Callable[[str], int]:
    """A whole number within limits."""

    def read(text: str) -> int:
        try:
            value = int(text) if len(text) <= 18 else None
        except ValueError:
            value = None
        if value is None:
            raise argparse.ArgumentTypeError(f"must be a whole number, not {text!r}")
        _within(value, text, None, at_least, at_most)
        return value

    return read


def _within(value: float, text: str, above: float | None, at_least: float | None, at_most: float | None) -> None:
    if above is not None and not value > above:
        raise argparse.ArgumentTypeError(f"must be more than {above:g}, not {text}")
    if at_least is not None and not value >= at_least:
        raise argparse.ArgumentTypeError(f"must be {at_least:g} or more, not {text}")
    if at_most is not None and not value <= at_most:
        raise argparse.ArgumentTypeError(f"must be {at_most:g} or less, not {text}")


def run_name(text: str) -> str:
    """The id or key of a run. It becomes a folder, so what a folder's name cannot hold is refused, not replaced."""
    if not text or slug(text) != text or len(text) > 200:
        raise argparse.ArgumentTypeError(
            f"must be letters, digits, '.', '_' and '-' (200 at most), beginning and ending with none of '.-'; "
            f"not {text!r}"
        )
    return text


def name(text: str) -> str:
    """The name of a campaign, arm, workload, host or placement, as a campaign file could hold it."""
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?", text):
        raise argparse.ArgumentTypeError(
            f"must be letters, digits, '.', '_' and '-', beginning and ending with a letter or digit; not {text!r}"
        )
    return text


def new_file(text: str) -> Path:
    """A file that will be written. What would stop that is said before the work, not after it."""
    path = Path(text)
    if not text or path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file, and {text!r} is a folder")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: {folder} is no folder")
    target = path if path.exists() else folder
    if not os.access(target, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written: no permission for {target}")
    return path


@contextmanager
def output_file(target: Path, *, make_folder: bool = True) -> Iterator[Path]:
    """A path to write what a command was asked to write: it becomes ``target`` when all is written, and else goes.

    Raises:
        BenchgateError: it cannot be written, with the file and the reason.
    """
    try:
        if make_folder:
            target.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(target) as aside:
            yield aside
    except OSError as error:
        raise BenchgateError(f"{target} cannot be written: {error.strerror or error}") from error
