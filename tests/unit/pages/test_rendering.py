"""Views into HTML and JSON: nothing becomes markup, nothing unknown becomes a number, everything is sent."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import pytest
from sqlalchemy.engine import Connection

from benchgate.pages import render as rendering
from benchgate.pages import words
from benchgate.pages.links import Links
from benchgate.pages.render import ASSETS, CONTENT_SECURITY_POLICY, as_json, asset, asset_version, render
from tests.unit.pages.every_page import page, views
from tests.unit.pages.fabricated import run_id_of

VOID = {"meta", "link", "br", "input", "img", "hr"}
SVG_EMPTY = {"line", "rect", "circle", "path", "polyline"}


class Tree(HTMLParser):
    """What a page consists of: open tags must close in order, ids must be unique."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes {self.open[-1]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def _tree(html: str) -> Tree:
    tree = Tree()
    tree.feed(html)
    tree.close()
    assert tree.open == []
    return tree


@pytest.fixture(params=[("kernels", run_id_of(4)), ("hostile", "manual__hostile")], ids=["kernels", "hostile"])
def pages(request: pytest.FixtureRequest, connection: Connection) -> list[tuple[str, Any, Tree]]:
    """Every page about a campaign."""
    return [(name, view, _tree(page(name, view))) for name, view in views(connection, *request.param)]


def test_no_page_has_a_script_a_style_or_a_handler_inside(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, _, tree in pages:
        for tag, attributes in tree.tags:
            assert tag not in ("style", "img", "iframe", "object", "embed", "base"), name
            assert tag != "script" or attributes.get("src"), name
            assert not [key for key in attributes if key.startswith("on") or key == "style"], (name, tag, attributes)


def test_no_link_leaves_the_server(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, _, tree in pages:
        for _, attributes in tree.tags:
            for key in ("href", "src", "action"):
                target = attributes.get(key)
                assert target is None or re.match(r"^(/[^/]|#|\?)", target), (name, target)


def test_ids_are_unique_and_every_reference_is_met(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, _, tree in pages:
        ids = [attributes["id"] for _, attributes in tree.tags if attributes.get("id")]
        assert len(ids) == len(set(ids)), (name, sorted(one for one in ids if ids.count(one) > 1))
        for _, attributes in tree.tags:
            for key in ("aria-labelledby", "aria-describedby", "for"):
                for wanted in (attributes.get(key) or "").split():
                    assert wanted in ids, (name, wanted)


def test_every_field_of_a_form_has_a_label(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, _, tree in pages:
        labelled = {attributes.get("for") for tag, attributes in tree.tags if tag == "label"}
        for tag, attributes in tree.tags:
            if tag in ("select", "input") and attributes.get("type") != "hidden":
                assert attributes.get("id") in labelled, (name, attributes)


def test_every_page_has_one_heading_a_language_and_a_title(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, _, tree in pages:
        tags = [tag for tag, _ in tree.tags]
        assert tags.count("h1") == 1, name
        assert tags.count("main") == 1, name
        assert ("html", {"lang": "en"}) in tree.tags


def test_every_view_is_json_without_a_number_that_is_none(pages: list[tuple[str, Any, Tree]]) -> None:
    for name, view, _ in pages:
        text = json.dumps(as_json(view), allow_nan=False)
        assert json.loads(text), name


def test_hostile_words_are_shown_as_they_are(connection: Connection) -> None:
    shown = {
        name: "".join(_tree(page(name, view)).text) for name, view in views(connection, "hostile", "manual__hostile")
    }

    for name in ("run", "launch", "cell", "not_run"):
        assert "<img src=x onerror=alert(1)><script>alert(2)</script>" in shown[name], name
        assert "{{7*7}}" in shown[name], name


def test_no_text_acts_on_the_text_around_it(pages: list[tuple[str, Any, Tree]]) -> None:
    acting = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
    for name, _, tree in pages:
        assert not acting.search("".join(tree.text)), name
        assert not [value for _, attributes in tree.tags for value in attributes.values() if acting.search(value or "")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mERROR\x1b[0m: no", "ERROR: no"),
        ("\x1b]0;title\x07rest", "rest"),
        ("a\x00b", "a\u27e8U+0000\u27e9b"),
        ("user\u202etxt.exe", "user\u27e8U+202E\u27e9txt.exe"),
        ("\ud800", "\u27e8U+D800\u27e9"),
        ("tab\tline\nend", "tab\tline\nend"),
        ("\u0634\u0631", "\u0634\u0631"),
        (7, 7),
        (None, None),
    ],
)
def test_what_cannot_be_seen_is_named(text: object, shown: object) -> None:
    assert words.visible(text) == shown


def test_a_list_shows_the_beginning_of_a_long_reason(connection: Connection) -> None:
    found = dict(views(connection, "hostile", "manual__hostile"))

    assert len("".join(_tree(page("campaigns", found["campaigns"])).text)) < 5_000
    assert "W" * 5_000 in page("run", found["run"])


def test_a_page_shows_the_beginning_of_a_long_text_and_keeps_the_rest_closed(connection: Connection) -> None:
    for name, view in views(connection, "hostile", "manual__hostile"):
        open_text = re.sub(r"<details.*?</details>", "", page(name, view), flags=re.DOTALL)
        assert "W" * words.LONG not in open_text, name


def test_an_unknown_number_is_a_dash(connection: Connection) -> None:
    cells = (view for name, view in views(connection, "hostile", "manual__hostile") if name == "cell")
    measured = next(view for view in cells if view.facts.get("client_name"))

    text = page("cell", measured)

    assert ">–<" in text
    assert "None" not in re.sub(r"<[^>]+>", " ", text)


def test_a_template_that_asks_for_what_is_not_there_fails_instead_of_showing_nothing() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("message", Links(), title="t", message="m", here="")


def test_the_policy_lets_nothing_run_or_load_that_is_not_ours() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in CONTENT_SECURITY_POLICY.split(";"))

    assert rules["default-src"] == "'none'"
    assert {rules[name] for name in ("script-src", "style-src", "connect-src", "form-action", "frame-ancestors")} == {
        "'self'"
    }
    assert "unsafe" not in CONTENT_SECURITY_POLICY


def test_style_and_script_ask_nobody_else() -> None:
    for name in ASSETS:
        text = asset(name).decode()
        assert "http" not in text.replace("https://www.w3.org", ""), name
        assert "@import" not in text
        assert "eval(" not in text
        assert len(asset_version(name)) == 12


def test_every_state_has_its_colours_in_both_themes() -> None:
    text = asset("pages.css").decode()

    for state in ("published", "unpublishable", "failed", "not_run", "running", "measured"):
        assert text.count(f"--{state}-fg: light-dark(") == text.count(f"--{state}-bg: light-dark(") == 1
    assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= set(re.findall(r"(--[\w-]+):", text))


def test_templates_are_packed_with_the_code() -> None:
    folder = Path(rendering.__file__).parent

    assert {file.suffix for file in (folder / "templates").iterdir()} == {".j2"}
    assert {file.name for file in (folder / "static").iterdir()} == set(ASSETS)
