"""Values on their way in: both databases take them, and nothing that is not a number becomes one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate import secrets
from benchgate.errors import WarehouseError
from benchgate.warehouse import tables as t
from benchgate.warehouse.values import clean, clean_text, moment, row


@given(st.text(st.characters(codec=None), max_size=50))
def test_any_text_becomes_text_that_postgres_takes(text: str) -> None:
    cleaned = clean_text(text)

    assert "\x00" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


def test_secrets_are_masked_at_any_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())
    secrets.register("hunter2hunter2")

    assert clean({"a": ["--key", "hunter2hunter2"], "hf_abcdefgh123": 1}) == {"a": ["--key", "***"], "***": 1}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2**63])
def test_what_is_no_storable_number_is_unknown(value: float) -> None:
    assert clean(value) is None


@pytest.mark.parametrize("value", [True, False, 0, 1.5, None, -(2**63) + 1])
def test_what_is_one_stays(value: Any) -> None:
    assert clean(value) is value


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("2026-11-30T02:00:00Z", "2026-11-30T02:00:00.000000Z"),
        ("2026-11-30T03:00:00.5+01:00", "2026-11-30T02:00:00.500000Z"),
        ("2026-11-30T02:00:00", "2026-11-30T02:00:00.000000Z"),
    ],
)
def test_moments_are_utc_and_sort_as_text(text: str, stored: str) -> None:
    assert moment(text, "it") == stored


def test_a_time_that_is_none_names_itself() -> None:
    assert moment(None, "it") is None
    with pytest.raises(WarehouseError, match="launch x: ready_at is 'soon'"):
        moment("soon", "launch x: ready_at")


def test_a_row_has_every_column_and_no_other() -> None:
    made = row(t.seed, seed_id=1, run_id=2, host="h200", kind="image", name="vllm", source="registry")

    assert set(made) == set(t.seed.columns.keys())
    assert made["digest"] is None
    with pytest.raises(AssertionError, match="colour"):
        row(t.seed, colour="red")
