"""How values are written, and where addresses lead."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.pages import words
from benchgate.pages.links import Links
from benchgate.pages.render import plain

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-11-30T02:00:00.000000Z", "2026-11-30 02:00 UTC"),
        (datetime(2026, 11, 30, 4, 0, tzinfo=timezone(timedelta(hours=2))), "2026-11-30 02:00 UTC"),
        (datetime(2026, 11, 30, 2, 0), "2026-11-30 02:00 UTC"),
        (None, "–"),
        ("soon", "soon"),
    ],
)
def test_a_moment_reads_the_same_from_both_databases(value: object, text: str) -> None:
    assert words.moment(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(date(2026, 11, 30), "2026-11-30"), ("2026-11-30", "2026-11-30"), (None, None)]
)
def test_a_day_reads_the_same_from_both_databases(value: object, text: str | None) -> None:
    assert words.day(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0, "0 s"), (59.6, "1 min 00 s"), (250, "4 min 10 s"), (11100, "3 h 05 min")]
)
def test_a_duration_is_unknown_or_in_units_a_person_uses(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_a_clock_that_was_set_back_leaves_a_duration_unknown() -> None:
    assert words.seconds_between("2026-11-30T02:00:00Z", "2026-11-30T02:00:05Z") == 5
    assert words.seconds_between("2026-11-30T02:00:00Z", "2026-11-30T01:59:59Z") is None


def test_a_state_nobody_foresaw_is_shown_as_it_is() -> None:
    assert words.state_words("half_done") == "half done"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0, "0"), (False, "no"), (0.0, "0"), ([], "[]"), ({"a": None}, '{"a": null}')]
)
def test_unknown_is_never_written_as_zero(value: object, text: str) -> None:
    assert plain(value) == text


def test_a_large_number_is_told_in_thousands() -> None:
    assert (plain(2_610_000), plain(9900), plain(True)) == ("2,610,000", "9,900", "yes")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("decode_tok_s", "decode tok/s"),
        ("weights_gib", "weights, GiB"),
        ("startup_s", "startup, s"),
        ("moe_kernel", "MoE kernel"),
        ("kv_tokens", "KV tokens"),
        ("Run key", "Run key"),
        ("_s", ", s"),
        ("", ""),
    ],
)
def test_a_fact_is_labelled_with_its_unit(name: str, label: str) -> None:
    assert words.fact(name) == label


@given(NAMES, NAMES, NAMES)
def test_a_part_of_an_address_never_becomes_more_than_one(campaign: str, run: str, task: str) -> None:
    address = Links("/airflow").task(campaign, run, task)

    parts = address.split("/")
    assert parts[1:3] == ["airflow", "dags"]
    assert [unquote(parts[i]) for i in (3, 5, 7)] == [campaign, run, task]
    assert len(parts) == 8


def test_a_key_keeps_its_shape_in_an_address() -> None:
    address = Links().cell("kernels", "scheduled__2026-11-30T02:00:00+00:00", "a@h/p/w/u1/r1")

    assert address == "/benchgate/run/kernels/scheduled__2026-11-30T02%3A00%3A00%2B00%3A00/cell/a@h/p/w/u1/r1"


def test_a_line_of_a_log_is_found_on_its_page() -> None:
    assert Links().log("c", "r", "a@h/p", line=412) == "/benchgate/run/c/r/log/a@h/p?line=412#L412"


def test_a_query_without_a_value_is_left_out() -> None:
    assert Links().page("compare", campaign="c", run=None, arm="") == "/benchgate/compare?campaign=c"


def test_the_page_of_a_task_opens_in_airflows_frame_below_its_own_path() -> None:
    assert Links("/a").task_page("c", "r", "g.t") == "/a/plugin/benchgate/a/benchgate/run/c/r/task/g.t"


def test_every_page_has_its_json() -> None:
    links = Links("/a")

    assert links.api(links.log("c", "r", "l", line=3)) == "/a/benchgate/api/run/c/r/log/l?line=3"
