"""What pydantic found, said in the words of the file: path, line, what is allowed, and the near miss."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from benchgate.errors import SpecProblem
from benchgate.secrets import mask
from benchgate.spec.rules import RULE_ERROR
from benchgate.spec.yaml_document import Document, YamlPath

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list, for example [1, 8]",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
}


def problems_of(error: ValidationError, document: Document, model: type[BaseModel]) -> list[SpecProblem]:
    """One problem for every wrong place in the file, in file order.

    Rules that look across fields are left out: the loader applies them to the file itself, also when a field is wrong.
    """
    grouped: dict[YamlPath, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        if details["type"] != RULE_ERROR:
            grouped.setdefault(_path(details, document.value), []).append(details)
    problems = []
    for path, group in grouped.items():
        if len(group) > 1 and any(other[: len(path)] == path and other != path for other in grouped):
            continue  # a union refused as a whole; the entry inside it says why
        problems.append(document.problem(path, _message(group, path, model)))
    return problems


def near(word: str, allowed: Iterable[str]) -> str:
    """`` (did you mean ..?)`` when one of ``allowed`` is close to ``word``, else nothing."""
    options = list(allowed)
    folded = {option.lower().replace("-", "_"): option for option in options}
    close = difflib.get_close_matches(word.lower().replace("-", "_"), folded, n=1, cutoff=0.6)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def shown(value: object) -> str:
    """A value for a message: short, and without secrets."""
    if value is None:
        return "empty"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = mask(str(value))
    text = text if len(text) <= 60 else f"{text[:57]}.."
    return repr(text) if isinstance(value, str) else text.lower() if isinstance(value, bool) else text


def _path(details: ErrorDetails, data: object) -> YamlPath:
    """pydantic's location without what is not in the file: union members, ``[key]`` marks."""
    path: list[str | int] = []
    node = data
    for part in details["loc"]:
        known_key = isinstance(node, Mapping) and part in node
        if known_key or (isinstance(node, list) and isinstance(part, int) and part < len(node)):
            node = node[part]  # type: ignore[index]
        elif details["type"] == "missing":
            pass
        else:
            continue
        path.append(part)
    return tuple(path)


def _message(group: list[ErrorDetails], path: YamlPath, model: type[BaseModel]) -> str:
    details = group[0]
    kind, context, value = details["type"], details.get("ctx", {}), details.get("input")
    if len(group) > 1:
        wanted = list(dict.fromkeys(_EXPECTED.get(each["type"], each["msg"]) for each in group))
        return f"must be {', '.join(wanted[:-1])} or {wanted[-1]}; is {shown(value)}"
    if details["loc"] and details["loc"][-1] == "[key]":
        return "is not a usable name: letters, digits, '.', '_' and '-', beginning and ending with a letter or digit"
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        allowed = allowed_keys(model, path[:-1])
        return f"unknown key{near(str(path[-1]), allowed) or '.'} Allowed here: {', '.join(allowed)}"
    if kind == "literal_error":
        options = str(context.get("expected", "")).replace("'", "")
        return f"must be {options}; is {shown(value)}{near(str(value), options.replace(' or ', ', ').split(', '))}"
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}; is {shown(value)}{_hint(kind, value)}"
    limits = {
        "greater_than": ("gt", "greater than"),
        "greater_than_equal": ("ge", "at least"),
        "less_than": ("lt", "less than"),
        "less_than_equal": ("le", "at most"),
    }
    if kind in limits:
        key, words = limits[kind]
        return f"must be {words} {context[key]}; is {shown(value)}"
    if kind == "too_short":
        return f"needs at least {context['min_length']} {'entry' if context['min_length'] == 1 else 'entries'}"
    if kind == "string_pattern_mismatch":
        return f"is not in the expected form ({context['pattern']}); is {shown(value)}"
    return mask(details["msg"].removeprefix("Value error, "))


def _hint(kind: str, value: object) -> str:
    """What to write instead, where that is plain from the value."""
    if kind == "string_type" and isinstance(value, (int, float)):
        return "; put it in quotes"
    if kind in {"int_type", "float_type"} and isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return ""
        return "; write it without quotes"
    if kind == "bool_type" and isinstance(value, str) and value.lower() in {"on", "yes", "off", "no"}:
        return "; only true and false are booleans here"
    if kind == "list_type" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"; write [{value}]"
    return ""


def allowed_keys(model: type[BaseModel], path: YamlPath) -> list[str]:
    """The keys that ``model`` allows at ``path``; empty where any key is allowed."""
    kind: Any = model
    for part in path:
        kind = _inside(kind, part)
    found = _model_in(kind)
    return [field.alias or name for name, field in found.model_fields.items()] if found else []


def _inside(kind: Any, part: str | int) -> Any:
    """The type of the entry ``part`` of a value of type ``kind``."""
    for option in _options(kind):
        origin, arguments = typing.get_origin(option), typing.get_args(option)
        if isinstance(option, type) and issubclass(option, BaseModel) and part in option.model_fields:
            return option.model_fields[str(part)].annotation
        if origin is dict and isinstance(part, str):
            return arguments[1]
        if origin is list and isinstance(part, int):
            return arguments[0]
    return None


def _model_in(kind: Any) -> type[BaseModel] | None:
    return next((one for one in _options(kind) if isinstance(one, type) and issubclass(one, BaseModel)), None)


def _options(kind: Any) -> list[Any]:
    """The members of a union, unwrapped from ``Annotated``."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _options(typing.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return [option for member in typing.get_args(kind) for option in _options(member)]
    return [kind]
