"""Any page of any log, without holding the log."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchgate.artifacts import RunStore
from benchgate.pages import server_log
from benchgate.pages.server_log import LINES_A_PAGE, LogPage, read_log

LAUNCH = "a@h/p"


@pytest.fixture
def store(benchgate_home: Path) -> RunStore:
    return RunStore("run")


def _keep(store: RunStore, text: bytes) -> None:
    store.write_bytes(store.launch_path(LAUNCH, "server.log.gz"), gzip.compress(text))


def _read(store: RunStore, **asked: object) -> LogPage:
    page = read_log(store, LAUNCH, **asked)  # type: ignore[arg-type]
    assert page is not None
    return page


def _numbered(lines: int) -> bytes:
    return b"".join(b"line %d\n" % number for number in range(1, lines + 1))


def test_a_log_that_was_not_kept_is_none(store: RunStore) -> None:
    assert read_log(store, LAUNCH) is None


def test_an_empty_log_is_a_page_without_lines(store: RunStore) -> None:
    _keep(store, b"")

    page = _read(store)

    assert (page.lines, page.total, page.pages) == ((), 0, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(lines=st.integers(0, 3 * LINES_A_PAGE + 1), asked=st.integers(1, 9))
def test_the_pages_of_a_log_are_its_lines_in_order(store: RunStore, lines: int, asked: int) -> None:
    _keep(store, _numbered(lines))

    page = _read(store, page=asked)

    assert page.total == lines
    assert page.page == min(asked, page.pages)
    start = (page.page - 1) * LINES_A_PAGE
    expected = list(range(start + 1, min(start + LINES_A_PAGE, lines) + 1))
    assert [line.number for line in page.lines] == expected
    assert [line.text for line in page.lines] == [f"line {number}" for number in expected]


@pytest.mark.parametrize("line", [1, LINES_A_PAGE, LINES_A_PAGE + 1, 2 * LINES_A_PAGE + 7])
def test_a_line_is_shown_on_its_page_and_marked(store: RunStore, line: int) -> None:
    _keep(store, _numbered(3 * LINES_A_PAGE))

    page = _read(store, line=line)

    assert page.marked == line
    assert line in [one.number for one in page.lines]


def test_a_search_finds_lines_in_any_case_with_their_numbers(store: RunStore) -> None:
    _keep(store, b"INFO ok\nRuntimeError: no\ninfo again\n" * 2)

    page = _read(store, search="runtimeerror")

    assert [line.number for line in page.lines] == [2, 5]
    assert page.total == 6


def test_a_search_with_too_many_answers_says_that_there_are_more(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_log, "MOST_MATCHES", 3)
    _keep(store, _numbered(5))

    assert _read(store, search="line").more_matches
    assert not _read(store, search="line 1").more_matches


def test_a_log_whose_file_ends_early_shows_what_is_there(store: RunStore) -> None:
    whole = gzip.compress(b"\n".join(str(number * 7919).encode() for number in range(20_000)))
    store.write_bytes(store.launch_path(LAUNCH, "server.log.gz"), whole[: len(whole) // 2])

    page = _read(store)

    assert page.damaged
    assert len(page.lines) == LINES_A_PAGE


def test_a_file_that_is_no_log_is_damaged_and_not_an_error(store: RunStore) -> None:
    store.write_bytes(store.launch_path(LAUNCH, "server.log.gz"), b"not gzip at all")

    assert _read(store).damaged


def test_a_line_without_end_is_cut(store: RunStore) -> None:
    _keep(store, b"x" * 100_000 + b"\nnext\n")

    first, second = _read(store).lines

    assert first.cut
    assert len(first.text) == server_log.LONGEST_LINE
    assert (second.number, second.text) == (2, "next")


def test_bytes_that_are_no_text_and_secrets_are_not_shown(store: RunStore) -> None:
    _keep(store, b"\xff\xfe token hf_abcdefghijklmnop\n")

    assert "hf_abcdefghijklmnop" not in _read(store).lines[0].text
