"""Files that cannot be used: the message names the file, the key, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchgate.errors import BenchgateError
from benchgate.importers import ResultError, read_result

FILES = Path(__file__).parents[2] / "fixtures" / "importers"


def changed(tmp_path: Path, source: str, change: Callable[[dict[str, Any]], object]) -> Path:
    values = json.loads((FILES / source).read_text())
    change(values)
    target = tmp_path / Path(source).name
    target.write_text(json.dumps(values))
    return target


def message(path: Path, format: str = "auto") -> str:
    with pytest.raises(ResultError) as raised:
        read_result(path, format)
    text = str(raised.value)
    assert str(path) in text
    return text


def test_missing_file(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "nothing.json")


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text("")

    assert "is empty" in message(tmp_path / "e.json")


@pytest.mark.parametrize(
    "source", ["vllm/detailed.json", "sglang/plain.jsonl", "aiperf/profile_export_aiperf.json", "guidellm/sweep.json"]
)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_called_so(source: str, share: float, tmp_path: Path) -> None:
    whole = (FILES / source).read_text()
    target = tmp_path / "cut.json"
    target.write_text(whole[: int(len(whole) * share)])

    assert "line" in message(target) or "column" in message(target)


def test_a_cut_last_line_names_its_line(tmp_path: Path) -> None:
    line = (FILES / "sglang/plain.jsonl").read_text().strip()
    target = tmp_path / "two.jsonl"
    target.write_text(line + "\n" + line[:200])

    assert f"{target}:2" in message(target)
    assert "cut off" in message(target)


def test_a_foreign_file_says_what_it_looks_like(tmp_path: Path) -> None:
    target = tmp_path / "package.json"
    target.write_text('{"name": "x", "version": "1"}')

    assert "its keys are name, version" in message(target)


def test_our_own_summary_needs_no_import(tmp_path: Path) -> None:
    target = tmp_path / "summary.json"
    target.write_text('{"client_name": "benchgate", "metric_definition": "1"}')

    assert "our own client" in message(target)


def test_a_list_is_no_result(tmp_path: Path) -> None:
    target = tmp_path / "list.json"
    target.write_text("[1, 2]")

    assert "not the object" in message(target)


def test_a_binary_file_is_an_error_and_not_a_traceback(tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    target.write_bytes(b"\xff\xfe\x00PAR1")

    assert "cannot be read" in message(target)


def test_insisting_on_the_wrong_format_names_the_right_one() -> None:
    assert "looks like one of vllm" in message(FILES / "vllm" / "plain.json", "aiperf")


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(ResultError, match="auto, vllm, sglang, aiperf, guidellm"):
        read_result(FILES / "vllm" / "plain.json", "jmeter")


def test_a_folder_without_aiperf_export(tmp_path: Path) -> None:
    assert "profile_export_aiperf.json" in message(tmp_path)


@pytest.mark.parametrize(
    ("source", "change", "says"),
    [
        ("vllm/plain.json", lambda v: v.pop("duration"), "duration: is missing"),
        ("vllm/plain.json", lambda v: v.update(duration=None), "duration: holds no number"),
        ("vllm/plain.json", lambda v: v.update(completed="9"), "completed: is '9', not a number"),
        ("vllm/plain.json", lambda v: v.update(completed=8.5), "completed: is 8.5, not a whole number"),
        ("vllm/plain.json", lambda v: v.update(p99_ttft_ms=-1), "p99_ttft_ms: is -1, which cannot be"),
        ("vllm/plain.json", lambda v: v.update(date="yesterday"), "date: is 'yesterday', not a time"),
        ("vllm/plain.json", lambda v: v.update(completed=True), "completed: is True"),
        ("vllm/detailed.json", lambda v: v["ttfts"].pop(), "ttfts: has 11 entries, 12 requests"),
        ("vllm/detailed.json", lambda v: v["itls"].__setitem__(0, "x"), "itls[0]: is 'x', not a list"),
        ("vllm/detailed.json", lambda v: v["output_lens"].__setitem__(3, "x"), "output_lens[3]: is 'x'"),
        ("vllm/plain.json", lambda v: v.update(completed=13), "completed: is 13, more than the 12 of num_prompts"),
        ("sglang/detailed.jsonl", lambda v: v.update(completed=13), "completed: is 13, more than the 12 requests"),
        ("sglang/detailed.jsonl", lambda v: v["itls"].__setitem__(1, [0.1, "x"]), "itls[1][1]: is 'x', not a number"),
        (
            "guidellm/sweep.json",
            lambda v: v["benchmarks"][0].update(start_time=1e20),
            "start_time: is 1e+20, not a time",
        ),
        (
            "guidellm/sweep.json",
            lambda v: v["benchmarks"][0].update(duration=None, start_time=20, end_time=10),
            "end_time: lies before start_time",
        ),
        ("aiperf/profile_export_aiperf.json", lambda v: v.pop("benchmark_duration"), "benchmark_duration: is missing"),
        ("aiperf/profile_export_aiperf.json", lambda v: v.pop("request_count"), "request_count: is missing"),
        (
            "aiperf/profile_export_aiperf.json",
            lambda v: v["time_to_first_token"].update(unit="s"),
            "time_to_first_token.unit: is 's', expected ms",
        ),
        ("guidellm/sweep.json", lambda v: v["benchmarks"][1].pop("metrics"), "benchmarks[1].metrics: is missing"),
        (
            "guidellm/sweep.json",
            lambda v: v["benchmarks"][0]["metrics"]["request_totals"].update(successful="many"),
            "benchmarks[0].metrics.request_totals.successful: is 'many'",
        ),
    ],
)
def test_a_bad_value_is_named_with_its_key(
    source: str, change: Callable[[dict[str, Any]], object], says: str, tmp_path: Path
) -> None:
    assert says in message(changed(tmp_path, source, change))


def test_not_a_number_is_unknown(tmp_path: Path) -> None:
    target = changed(tmp_path, "vllm/plain.json", lambda v: v.update(p99_tpot_ms=float("nan")))

    summary = read_result(target).cells[0].summary

    assert summary.tpot_ms is not None
    assert summary.tpot_ms.p99 is None


def test_a_broken_row_file_of_aiperf_names_its_line(tmp_path: Path) -> None:
    for name in ("profile_export_aiperf.json", "profile_export.jsonl"):
        (tmp_path / name).write_text((FILES / "aiperf" / name).read_text())
    rows = tmp_path / "profile_export.jsonl"
    rows.write_text(rows.read_text()[:-300])

    with pytest.raises(ResultError, match=r"profile_export\.jsonl:12"):
        read_result(tmp_path)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (b"\xff\xfe\x00\x00", r"profile_export\.jsonl: cannot be read"),
        (b"{}\n[1]\n", r"profile_export\.jsonl:2: holds \[1\], not an object"),
        (b"{}\n" + b"[" * 100_000 + b"\n{}\n", r"profile_export\.jsonl:2: column 1: is no JSON"),
        (b"{}\n", r"profile_export\.jsonl: line 1\.metadata: is missing"),
    ],
    ids=["no text", "no object", "brackets without end", "no metadata"],
)
def test_rows_of_aiperf_that_are_none_are_refused(rows: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "profile_export_aiperf.json").write_text((FILES / "aiperf" / "profile_export_aiperf.json").read_text())
    (tmp_path / "profile_export.jsonl").write_bytes(rows)

    with pytest.raises(ResultError, match=says):
        read_result(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    "source",
    ["vllm/detailed.json", "sglang/detailed.jsonl", "aiperf/profile_export_aiperf.json", "guidellm/sweep.json"],
)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_replaced_by_anything_is_read_or_refused_and_never_crashes(
    source: str, data: st.DataObject, tmp_path: Path
) -> None:
    values = json.loads((FILES / source).read_text())
    place: Any = values
    while True:  # walk to a random place in the document
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[key] = data.draw(JSON)
    target = tmp_path / Path(source).name
    target.write_text(json.dumps(values))

    try:
        outcome = str(read_result(target).cells[0].summary.client_name)
    except BenchgateError as error:
        outcome = str(error)

    assert outcome in ("vllm-bench", "sglang-bench", "aiperf", "guidellm") or str(target) in outcome


@pytest.mark.parametrize("key", ["num_prompts", "endpoint_type", "total_token_throughput"])
def test_the_key_that_is_missing_is_named(key: str, tmp_path: Path) -> None:
    target = changed(tmp_path, "vllm/detailed.json", lambda values: values.pop(key))

    assert f"nearest to one of vllm, but {key} is missing" in message(target)
    assert f"is no result of vllm: {key} is missing" in message(target, "vllm")


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e308", "-1", "1" + "0" * 5000])
def test_a_number_that_nothing_can_measure_is_refused(number: str, tmp_path: Path) -> None:
    text = (FILES / "vllm/detailed.json").read_text()
    duration = json.loads(text)["duration"]
    target = tmp_path / "huge.json"
    target.write_text(text.replace(f'"duration": {duration!r}', f'"duration": {number}'))

    assert "duration" in message(target) or "cannot be read" in message(target)


def test_brackets_without_end_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"a":' + "[" * 100_000)

    assert "cannot be read" in message(tmp_path / "deep.json")
