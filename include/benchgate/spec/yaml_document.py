"""YAML text into plain values, with the line of every key and entry, and without YAML's surprises.

Only ``true`` and ``false`` are booleans. ``1e3`` is a number. Dates, ``1:30`` and ``007`` stay text. Keys are always
the text that was written. Anchors, aliases and merge keys work, within a limit on what they unfold to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from benchgate.errors import SpecError, SpecProblem

MAX_BYTES = 256 * 1024
MAX_NODES = 20_000  # after aliases are unfolded
MAX_DEPTH = 40
YamlPath = tuple[str | int, ...]

_PLAIN = "tag:benchgate,plain"
_STR = "tag:yaml.org,2002:str"
_KNOWN_TAGS = {_PLAIN, _STR, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}
_INT = re.compile(r"[-+]?(0|[1-9][0-9_]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_AMBIGUOUS = {"yes", "no", "on", "off"}  # booleans in YAML 1.1, words in YAML 1.2


@dataclass
class Document:
    """One file: its plain value and where each part of it stands."""

    file: str
    value: object
    lines: dict[YamlPath, int] = field(default_factory=dict)
    problems: list[SpecProblem] = field(default_factory=list)

    def line(self, path: YamlPath) -> int | None:
        """The line of ``path``, or of the nearest part above it that was written."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path)

    def problem(self, path: YamlPath, message: str) -> SpecProblem:
        """A problem at ``path``, with its line and dotted field."""
        return SpecProblem(self.file, self.line(path), dotted(path), message)


def dotted(path: YamlPath) -> str:
    """``('workloads', 'short-chat', 'users', 0)`` as ``workloads.short-chat.users[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _never(path: YamlPath) -> bool:  # noqa: ARG001
    return False


def read_document(
    path: Path,
    *,
    written: Callable[[YamlPath], bool] = _never,
    unambiguous: Callable[[YamlPath], bool] = _never,
) -> Document:
    """Read one YAML file whose top level is a mapping.

    Args:
        path: the file; it is named in every problem as it is given here.
        written: paths below which every scalar is the text that stands in the file (environment values).
        unambiguous: paths below which an unquoted ``on``, ``off``, ``yes`` or ``no`` is refused, since both a
            boolean and a word would be valid there.

    Raises:
        SpecError: the file cannot be read as such YAML. Problems that leave the rest readable (a duplicate key) are
            in ``Document.problems`` instead, so that they are reported together with those of the content.
    """
    return read_text(str(path), _text(path), written=written, unambiguous=unambiguous)


def read_text(
    file: str,
    text: str,
    *,
    written: Callable[[YamlPath], bool] = _never,
    unambiguous: Callable[[YamlPath], bool] = _never,
) -> Document:
    """:func:`read_document` of what was read already; problems name it ``file``.

    Raises:
        SpecError: as there.
    """
    node = _compose(file, text)
    if not isinstance(node, yaml.MappingNode):
        raise SpecError([SpecProblem(file, node.start_mark.line + 1, "", "must be a mapping of keys at its top level")])
    document = Document(file, None, {(): node.start_mark.line + 1})
    document.value = _Reader(document, written, unambiguous).value(node, ())
    return document


def _text(path: Path) -> str:
    """The file as text; every way in which that fails is a SpecError."""
    file = str(path)

    def refused(message: str, line: int | None = None) -> SpecError:
        return SpecError([SpecProblem(file, line, "", message)])

    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise refused("there is no such file") from None
    except IsADirectoryError:
        raise refused("is a folder; give a YAML file") from None
    except (OSError, ValueError) as error:
        raise refused(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise refused(f"is larger than {MAX_BYTES // 1024} KiB, which no campaign needs; is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused(
            f"is not UTF-8: byte 0x{data[error.start]:02x} cannot stand there; save it as UTF-8", line
        ) from None


class _Loader(yaml.SafeLoader):
    """Marks unquoted scalars instead of guessing their type, so that our own rules decide."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: object) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if isinstance(implicit, tuple) and implicit[0] else _STR
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


def _compose(file: str, text: str) -> yaml.Node:
    """Text to nodes. PyYAML raises more than its own errors on odd input (chr() of a huge escape, deep nesting)."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = (error.problem or error.context or "is not valid YAML").replace("\n", " ")
        if "'\\t'" in said:
            said = "a tab cannot indent YAML; use spaces"
        elif error.context and error.problem:
            said = f"{said} ({error.context})"
        raise SpecError([SpecProblem(file, mark.line + 1 if mark else None, "", f"YAML: {said}")]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SpecError([SpecProblem(file, line, "", f"YAML: character {error.character!r} is not allowed")]) from None
    except RecursionError:
        raise SpecError([SpecProblem(file, None, "", f"is nested deeper than {MAX_DEPTH} levels")]) from None
    except (yaml.YAMLError, ValueError, OverflowError, IndexError, TypeError, AttributeError) as error:
        raise SpecError([SpecProblem(file, None, "", f"YAML: cannot be read ({error})")]) from None
    if node is None:
        raise SpecError([SpecProblem(file, None, "", "is empty")])
    return node


class _Reader:
    """Unfolds nodes into plain values and notes lines and problems in the document."""

    def __init__(
        self, document: Document, written: Callable[[YamlPath], bool], unambiguous: Callable[[YamlPath], bool]
    ) -> None:
        self.document = document
        self.written = written
        self.unambiguous = unambiguous
        self.nodes = 0

    def value(self, node: yaml.Node, path: YamlPath) -> object:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            limit = f"{MAX_NODES} values" if self.nodes > MAX_NODES else f"{MAX_DEPTH} levels"
            raise SpecError([SpecProblem(self.document.file, node.start_mark.line + 1, "", f"unfolds to over {limit}")])
        if node.tag not in _KNOWN_TAGS:
            self.complain(path, f"the tag {node.tag!r} is not used here; leave it out", node)
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self.document.lines[(*path, index)] = item.start_mark.line + 1
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self.scalar(str(node.value), node.tag, path)

    def mapping(self, node: yaml.MappingNode, path: YamlPath) -> dict[str, object]:
        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.complain(path, "a key must be a plain text", key_node)
                continue
            key = str(key_node.value)
            if key == "<<" and key_node.tag == _PLAIN:
                for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                    if not isinstance(source, yaml.MappingNode):
                        self.complain(path, "<< takes a mapping or a list of mappings", source)
                        continue
                    for name, value in self.mapping(source, path).items():
                        merged.setdefault(name, value)
                continue
            if key in first_lines:
                message = f"is written twice; the first is on line {first_lines[key]}"
                self.document.problems.append(SpecProblem(self.document.file, line, dotted((*path, key)), message))
                continue
            first_lines[key] = line
            self.forget((*path, key))
            self.document.lines[(*path, key)] = line
            own[key] = self.value(value_node, (*path, key))
        return {**merged, **own}

    def forget(self, path: YamlPath) -> None:
        """Drop the lines of a merged value that this mapping overrides."""
        if path in self.document.lines:
            depth = len(path)
            for known in [known for known in self.document.lines if known[:depth] == path]:
                del self.document.lines[known]

    def scalar(self, text: str, tag: str, path: YamlPath) -> object:
        if tag != _PLAIN:
            return text
        if self.written(path):
            return text or None
        if text.lower() in _AMBIGUOUS and self.unambiguous(path):
            meant = "true" if text.lower() in {"yes", "on"} else "false"
            self.complain(path, f'{text} means different things to YAML readers; write {meant}, or "{text}" in quotes')
        return plain_value(text)

    def complain(self, path: YamlPath, message: str, node: yaml.Node | None = None) -> None:
        line = node.start_mark.line + 1 if node is not None else self.document.line(path)
        self.document.problems.append(SpecProblem(self.document.file, line, dotted(path), message))


def plain_value(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar."""
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text in {"true", "True", "TRUE"}:
        return True
    if text in {"false", "False", "FALSE"}:
        return False
    if _INT.fullmatch(text):
        return (
            int(text.replace("_", ""), 0) if len(text) <= 20 else text
        )  # longer: a hash that happens to be all digits
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            return text  # 1e999: larger than a number can be, so it stays what was written
        whole = "." not in text and number.is_integer() and abs(number) < 2**53
        return int(number) if whole else number
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", "", 1))
    return text
