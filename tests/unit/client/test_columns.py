from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.columns import flags, integers, lists_of_singles, numbers, texts

INCLUDE = Path(__file__).resolve().parents[3] / "include"


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_integers_come_back(values: list[int | None]) -> None:
    assert integers(values).to_pylist() == values


@given(st.lists(st.none() | st.floats(allow_nan=False), max_size=40))
def test_numbers_come_back(values: list[float | None]) -> None:
    assert numbers(values).to_pylist() == values


@given(st.lists(st.none() | st.booleans(), max_size=40))
def test_flags_come_back(values: list[bool | None]) -> None:
    assert flags(values).to_pylist() == values


@given(st.lists(st.none() | st.text(st.characters(blacklist_categories=("Cs",))), max_size=40))
def test_texts_come_back(values: list[str | None]) -> None:
    assert texts(values).to_pylist() == values


@given(st.lists(st.lists(st.floats(0, 1000, width=32), max_size=10), max_size=20))
def test_lists_come_back_in_single_precision(values: list[list[float]]) -> None:
    column = lists_of_singles(values, 2.0)
    assert column.to_pylist() == [pytest.approx([number * 2 for number in one]) for one in values]
    column.validate(full=True)


def test_writing_the_request_file_does_not_import_pandas(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from benchgate.client.requests_file import write_requests\n"
        "from benchgate.request_record import ClientFacts, RequestRecord\n"
        f"write_requests(Path({str(tmp_path / 'r.parquet')!r}), [RequestRecord(1)], ClientFacts('c', '0'))\n"
        "sys.exit('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(INCLUDE)}, check=False)
    assert done.returncode == 0
