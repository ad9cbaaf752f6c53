"""YAML becomes plain values without surprises, and every way in which a file is unreadable is a SpecError."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchgate.errors import SpecError
from benchgate.spec.load import load_campaign, load_inventory, load_sources
from benchgate.spec.yaml_document import MAX_BYTES, MAX_NODES, dotted, plain_value, read_document
from tests.unit.spec.writing import FIXTURES, one, problems


def document(tmp_path: Path, text: str, **options: object):
    file = tmp_path / "f.yaml"
    file.write_text(text)
    return read_document(file, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("True", True),
        ("FALSE", False),
        ("on", "on"),
        ("yes", "yes"),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("+12", 12),
        ("-3", -3),
        ("1_000", 1000),
        ("0x10", 16),
        ("0o17", 15),
        ("007", "007"),
        ("1e3", 1000),
        ("2.5e-1", 0.25),
        ("1.0", 1.0),
        ("0.85", 0.85),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("2026-11-30", "2026-11-30"),
        ("0.31.0", "0.31.0"),
        ("3/3", "3/3"),
        ("1e999", "1e999"),
        ("9" * 30, "9" * 30),
        (".inf", math.inf),
        ("-.inf", -math.inf),
    ],
)
def test_an_unquoted_scalar_means_what_it_looks_like(text, value):
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


def test_a_million_written_with_an_exponent_is_a_whole_number():
    assert plain_value("1e6") == 1_000_000
    assert isinstance(plain_value("1e6"), int)
    assert isinstance(plain_value("1.0e6"), float)


def test_a_huge_exponent_costs_nothing():
    assert plain_value("1e999999999") == "1e999999999"


def test_keys_are_the_text_that_was_written(tmp_path):
    assert document(tmp_path, "on: 1\n2: x\nnull: y\n").value == {"on": 1, "2": "x", "null": "y"}


def test_quoted_scalars_stay_text(tmp_path):
    assert document(tmp_path, "a: '1'\nb: \"true\"\nc: |\n  3\n").value == {"a": "1", "b": "true", "c": "3\n"}


def test_lines_are_those_of_the_key_or_the_list_entry(tmp_path):
    found = document(tmp_path, "# head\na:\n  b: 1\n  c:\n    - 1\n    - {d: 2}\n")
    assert found.line(("a",)) == 2
    assert found.line(("a", "b")) == 3
    assert found.line(("a", "c", 1)) == 6
    assert found.line(("a", "c", 1, "d")) == 6
    assert found.line(("a", "missing", "deeper")) == 2
    assert found.line(()) == 2


def test_a_duplicate_key_names_both_lines_and_the_rest_is_still_read(tmp_path):
    found = document(tmp_path, "a: 1\nb: 2\na: 3\n")
    assert found.value == {"a": 1, "b": 2}
    assert str(found.problems[0]).endswith(":3: a: is written twice; the first is on line 1")


def test_anchors_and_merge_keys_work(tmp_path):
    found = document(tmp_path, "base: &b {x: 1, y: 2}\nthird: {<<: *b, y: 3}\nboth: {<<: [*b, {z: 9}]}\n")
    assert found.value["third"] == {"x": 1, "y": 3}
    assert found.value["both"] == {"x": 1, "y": 2, "z": 9}
    assert not found.problems


def test_a_merged_value_that_is_overridden_has_the_line_of_its_own(tmp_path):
    found = document(tmp_path, "base: &b\n  x: {k: 1}\nown:\n  <<: *b\n  x:\n    k: 2\n")
    assert found.value["own"] == {"x": {"k": 2}}
    assert found.line(("own", "x", "k")) == 6


def test_an_alias_bomb_is_refused_before_it_unfolds(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    problem = one(problems(read_document, tmp_path / "bomb.yaml", "\n".join(lines)))
    assert f"over {MAX_NODES} values" in problem.message


def test_an_anchor_that_contains_itself_is_refused(tmp_path):
    assert "levels" in one(problems(read_document, tmp_path / "f.yaml", "a: &a\n  b: *a\n")).message


@pytest.mark.parametrize("text", ["[" * 5000, "a: " + "{a: " * 2000, "- " * 3000])
def test_deep_nesting_is_refused(tmp_path, text):
    problems(read_document, tmp_path / "f.yaml", text)


def test_a_huge_file_is_refused_without_being_parsed(tmp_path):
    problem = one(problems(read_document, tmp_path / "f.yaml", "a: " + "x" * MAX_BYTES))
    assert "larger than 256 KiB" in problem.message


@pytest.mark.parametrize("text", ["", "   \n", "# only a comment\n", "---\n"])
def test_an_empty_file_says_so(tmp_path, text):
    assert one(problems(read_document, tmp_path / "f.yaml", text)).message in {
        "is empty",
        "must be a mapping of keys at its top level",
    }


def test_bytes_that_are_not_utf8_name_their_line(tmp_path):
    problem = one(problems(read_document, tmp_path / "f.yaml", b"a: 1\nb: caf\xe9\n"))
    assert problem.line == 2
    assert "0xe9" in problem.message


def test_utf16_is_refused_as_not_utf8(tmp_path):
    assert "not UTF-8" in one(problems(read_document, tmp_path / "f.yaml", "a: 1".encode("utf-16"))).message


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read_document(file).value == {"a": 1, "b": 2}
    assert read_document(file).line(("b",)) == 2


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "YAML:"),
        ("a: 1\n\tb: 2\n", 2, "a tab cannot indent YAML"),
        ("a: 1\nb: 'x\n", 3, "YAML:"),
        ("a: 1\n b: 2\n", 2, "YAML:"),
        ("a: *nowhere\n", 1, "undefined alias"),
        ("a: 1\n---\nb: 2\n", 2, "single document"),
        ("a: 1\nb: \x07\n", 2, "is not allowed"),
        ('a: "\\UFFFFFFFF"\n', None, "YAML:"),
        ("a: !!python/object:os.system {}\n", 1, "tag"),
        ("? [a, b]\n: 1\n", 1, "a key must be a plain text"),
        ("- a\n- b\n", 1, "must be a mapping of keys"),
        ("just words\n", 1, "must be a mapping of keys"),
    ],
)
def test_text_that_is_not_such_yaml_names_the_line(tmp_path, text, line, says):
    file = tmp_path / "f.yaml"
    file.write_text(text)
    try:
        found = read_document(file).problems
    except SpecError as error:
        found = error.problems
    assert len(found) == 1
    assert found[0].line == line
    assert says in found[0].message


def test_a_missing_file_a_folder_and_a_hopeless_name_are_told(tmp_path):
    for path in (tmp_path / "none.yaml", tmp_path, Path("bad\0name"), tmp_path / ("x" * 300)):
        with pytest.raises(SpecError) as caught:
            read_document(path)
        assert len(caught.value.problems) == 1


def test_written_paths_keep_their_text(tmp_path):
    text = "env: {A: 0, B: 1.10, C: true, D: on, E: 1e3, F: 'x', G: }\nn: 1.10\n"
    found = document(tmp_path, text, written=lambda path: path[:1] == ("env",))
    assert found.value == {
        "env": {"A": "0", "B": "1.10", "C": "true", "D": "on", "E": "1e3", "F": "x", "G": None},
        "n": 1.1,
    }


def test_ambiguous_words_are_refused_only_where_asked(tmp_path):
    text = "args: {a: on, b: 'off', c: [no]}\nnote: yes\n"
    found = document(tmp_path, text, unambiguous=lambda path: path[:1] == ("args",))
    assert [problem.field for problem in found.problems] == ["args.a", "args.c[0]"]
    assert 'write true, or "on" in quotes' in found.problems[0].message


def test_dotted_paths_read_as_people_write_them():
    assert dotted(("workloads", "short-chat", "users", 0)) == "workloads.short-chat.users[0]"
    assert dotted(()) == ""


WORDS = (FIXTURES / "yaml-pieces.txt").read_text().split()
YAML_LIKE = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from([*WORDS, ": ", "\n", "  ", "- ", "\t", "%YAML 1.1\n", "---\n"]), max_size=60).map("".join),
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=YAML_LIKE, load=st.sampled_from([load_campaign, load_inventory, load_sources]))
def test_no_text_raises_anything_but_a_spec_error(tmp_path, text, load):
    file = tmp_path / "any.yaml"
    file.write_text(text, encoding="utf-8", errors="replace")
    try:
        load(file)
    except SpecError as error:
        found = error.problems
    else:
        found = []
    assert all(problem.message and "\n" not in str(problem) for problem in found)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.binary(max_size=200))
def test_no_bytes_raise_anything_but_a_spec_error(tmp_path, data):
    file = tmp_path / "any.yaml"
    file.write_bytes(data)
    with pytest.raises(SpecError):
        load_campaign(file)
