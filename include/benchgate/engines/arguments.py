"""Arguments of an arm as words of a command line, and whether an engine version knows them.

The names in a campaign are the engine's own, unchanged. What differs between engines (how ``false`` is said, how a
list is) is the adapter's; the rest is here.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from benchgate.errors import BenchgateError
from benchgate.spec.campaign import ArgValue

# Where a vocabulary is looked for. All take a plain folder; anything else ends in "No such file or directory".
_VOCAB_VARIABLES = ("TIKTOKEN_ENCODINGS_BASE", "TIKTOKEN_RS_CACHE_DIR", "TIKTOKEN_CACHE_DIR")
_FLAG = re.compile(r"(?<![\w/.=-])(--?[A-Za-z][\w-]*)")
# Where a help defines a flag: at the start of a line, its other names behind commas, each with what it takes. Prose
# stands further in.
_DEFINED = re.compile(r"(--?[A-Za-z][\w-]*)(?:[ =](?:\{[^}]*\}|[^\s,]+(?: \[[^\]]*\])*))?(,\s+|\s{2,}|\s*$)?")
_USAGE = re.compile(r"\[(--?[A-Za-z][\w-]*)")
_MAX_INDENT = 8


def plain_name(name: str) -> str:
    """An argument's name without dashes in front and with dashes inside: ``--max_num_seqs`` is ``max-num-seqs``."""
    return name.lstrip("-").replace("_", "-")


def flag_of(name: str) -> str:
    """The flag of a name as written; a name that brings its own dashes (``-tp``) keeps them."""
    return name if name.startswith("-") else f"--{name}"


def words(name: str, value: ArgValue, *, false_as_no: bool) -> list[str]:
    """One argument on the command line.

    ``true`` is the bare flag. ``false`` is ``--no-NAME`` where the engine's switches have that form, else nothing. A
    list is one flag with several values, a mapping is JSON, None is nothing.
    """
    flag = flag_of(name)
    if value is None:
        return []
    if isinstance(value, bool):
        if value:
            return [flag]
        return [f"--no-{flag.lstrip('-')}"] if false_as_no else []
    if isinstance(value, list):
        return [flag, *(_scalar(item) for item in value)]
    if isinstance(value, dict):
        return [flag, json.dumps(value, ensure_ascii=False)]
    return [flag, _scalar(value)]


def _scalar(value: str | int | float) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def refuse(args: Mapping[str, ArgValue], ours: Mapping[str, str]) -> None:
    """Refuse arguments that are not an arm's to set; ``ours`` maps each to where it comes from.

    Raises:
        BenchgateError: names the argument and where its value belongs.
    """
    for name in args:
        origin = ours.get(plain_name(name))
        if origin is not None:
            raise BenchgateError(f"args.{name}: this is not an arm's to set", remedy=f"it comes from {origin}")


def refuse_vocab_urls(env: Mapping[str, str]) -> None:
    """Refuse a vocabulary place that can never work: harmony opens it as a plain folder, whatever it looks like.

    Raises:
        BenchgateError: names the variable and the value to write instead.
    """
    for name in _VOCAB_VARIABLES:
        value = env.get(name)
        if value is None:
            continue
        url = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", value)
        if url:
            plain = "/" + url.group(2).lstrip("/") if url.group(1).lower() == "file" else "/vocab"
            raise BenchgateError(
                f"env.{name}: {value!r} is a URL, and the server opens it as a folder", remedy=f"write {plain}"
            )
        if not value.strip():
            raise BenchgateError(f"env.{name} is empty", remedy="remove it or write the folder of the vocabulary")


def number_of(args: Mapping[str, ArgValue], *names: str, default: float = 0) -> float:
    """The value of the first of ``names`` that is given, as a number; ``names`` are in their plain form.

    Raises:
        BenchgateError: the value is not a number.
    """
    for written, value in args.items():
        if plain_name(written) in names and value is not None:
            try:
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                number = math.nan
            if not math.isfinite(number):
                raise BenchgateError(f"args.{written}: {value!r} is not a number")
            return number
    return default


def value_of(args: Mapping[str, ArgValue], *names: str) -> ArgValue:
    """The value of the first of ``names`` that is given; None when none is."""
    return next((value for written, value in args.items() if plain_name(written) in names), None)


def check_gpus(needed: int, given: int, how: str) -> None:
    """Refuse an arm that is split over more GPUs than its placement has. Fewer is allowed: the rest idles.

    Raises:
        BenchgateError: names both numbers and how the first came about.
    """
    if given and needed > given:
        raise BenchgateError(
            f"the arm needs {needed} GPUs ({how}) and its placement has {given}",
            remedy="correct the parallel sizes, or choose another placement",
        )


@dataclass(frozen=True)
class UnknownArgument:
    """An argument that the engine's help does not list."""

    name: str  # as the campaign has it
    flag: str  # as it would be written on the command line
    nearest: tuple[str, ...]  # known flags that look like it

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else ""
        return f"args.{self.name}: this version of the engine has no {self.flag}{hint}"


def flags_in_help(help_text: str) -> set[str]:
    """Every flag that a help text defines, long and short, spelt as there.

    What prose names is none (``see --old-name``), unless the text defines nothing in a form that is known here.
    """
    found: set[str] = set()
    for line in help_text.splitlines():
        text = line.lstrip()
        if text.startswith("-") and len(line) - len(text) <= _MAX_INDENT:
            found.update(_defined(text))
    found |= set(_USAGE.findall(help_text))
    found = found or set(_FLAG.findall(help_text))
    # -O0 and -O3 are ways to write -O 0 and -O 3
    return found | {flag.rstrip("0123456789") for flag in found if re.fullmatch(r"-[A-Za-z]\d+", flag)}


def _defined(text: str) -> Iterator[str]:
    position = 0
    while match := _DEFINED.match(text, position):
        yield match.group(1)
        position = match.end()
        if not (match.group(2) or "").startswith(","):
            return


def unknown_arguments(
    args: Mapping[str, ArgValue],
    help_text: str,
    *,
    false_as_no: bool,
    underscores: bool = True,
    unlisted: Iterable[str] = (),
) -> list[UnknownArgument]:
    """The arguments that a version's help does not list, so that a renamed flag is found before the night.

    A dotted name (``compilation-config.level``) is known when its first part is. A help text without any flag (the
    image could not print it), or one that only answers a search, says nothing: no argument is called unknown.

    Args:
        args: of the arm.
        help_text: as the image printed it.
        false_as_no: ``false`` is written ``--no-NAME``.
        unlisted: flags that the engine takes and its help does not list.
        underscores: the engine takes ``--max_num_seqs`` for ``--max-num-seqs``.
    """
    known = flags_in_help(help_text)
    if not known or "Parameters matching" in help_text:
        return []
    spelt = {_dashed(flag) for flag in known} if underscores else set(known)
    spelt |= set(unlisted)
    found = []
    for name, value in args.items():
        written = words(name, value, false_as_no=false_as_no)
        if not written:
            continue
        flag = written[0].partition("=")[0]
        flag = _dashed(flag) if underscores else flag
        if not _is_known(flag, spelt):
            found.append(UnknownArgument(name, written[0], _nearest(flag, spelt)))
    return found


def _is_known(flag: str, known: set[str]) -> bool:
    """Listed, or a key of a listed one, or short for the only flag that begins so, as argparse takes it."""
    if flag in known or flag.partition(".")[0] in known:
        return True
    return flag.startswith("--") and "." not in flag and sum(item.startswith(flag) for item in known) == 1


def _dashed(flag: str) -> str:
    body = flag.lstrip("-")
    return flag[: len(flag) - len(body)] + body.replace("_", "-")


def _nearest(flag: str, known: set[str]) -> tuple[str, ...]:
    """Known flags that look like ``flag``: its short form, close spellings, then those that end alike."""
    bare = flag.lstrip("-")
    short = [f"-{bare}"] if f"-{bare}" in known else []
    close = difflib.get_close_matches(flag, sorted(known), n=3, cutoff=0.6)
    alike = sorted((item for item in known if _ends_alike(bare, item.lstrip("-"))), key=lambda item: (len(item), item))
    return tuple(dict.fromkeys([*short, *close, *alike]))[:3]


def _ends_alike(one: str, other: str) -> bool:
    return min(len(one), len(other)) > 3 and (one.endswith(other) or other.endswith(one))
