"""Views into HTML and JSON. Every value is escaped by the template engine; nothing in a view can become markup."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

import benchgate
from benchgate.analysis.measures import BY_NAME
from benchgate.analysis.reversals import factor
from benchgate.pages import charts, sketches, words
from benchgate.pages.grid import MEASURE_NAMES
from benchgate.pages.links import Links
from benchgate.report import tables

_HERE = Path(__file__).parent
ASSETS = {"pages.css": "text/css; charset=utf-8", "pages.js": "text/javascript; charset=utf-8"}
# nothing from elsewhere, nothing inline: a text that slipped through could not run, load or send anything
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)


@cache
def asset(name: str) -> bytes:
    """A style sheet or script of the pages, by a name of :data:`ASSETS`."""
    return (_HERE / "static" / name).read_bytes()


@cache
def asset_version(name: str) -> str:
    """Changes with the content, so that a browser may keep what it has."""
    return hashlib.sha256(asset(name)).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,  # for every template, whatever its name ends in
        undefined=jinja2.StrictUndefined,
        finalize=words.visible,
        auto_reload=False,  # templates as old as the code that fills them
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        words=words,
        charts=charts,
        sketches=sketches,
        measures=BY_NAME,
        cell_measures=MEASURE_NAMES,
        titles=tables.SHORT_TITLES,
        version=benchgate.__version__,
        factor=factor,
        visible=tables.visible_words,
        asset_version=asset_version,
    )
    environment.filters.update(
        moment=words.moment,
        clock=words.clock,
        short=words.short,
        fact=words.fact,
        day=words.day,
        duration=words.duration,
        number=tables.number,
        percent=tables.percent,
        load=lambda one: tables.load_words(one.users, one.request_rate),
        verdict=tables.verdict_words,
        plain=plain,
        upper_first=lambda text: text[:1].upper() + text[1:],
    )
    return environment


def render(template: str, links: Links, **values: Any) -> str:
    """One page."""
    return _environment().get_template(f"{template}.html.j2").render(links=links, **values)


def plain(value: Any) -> str:
    """A value of a JSON column as a person reads it; unknown is an en dash."""
    if value is None:
        return tables.UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return tables.number(value)
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def as_json(value: Any) -> Any:
    """A view as plain JSON values: the fields of its dataclasses and what they compute from them."""
    if is_dataclass(value) and not isinstance(value, type):
        computed = (name for name, kind in vars(type(value)).items() if isinstance(kind, property))
        names = [*(field.name for field in fields(value)), *computed]
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(as_json(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return value
