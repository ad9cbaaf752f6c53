"""What is seen of a cell while it is measured."""

from __future__ import annotations

import json
from pathlib import Path

from benchgate.artifacts import RunStore
from benchgate.steps.watching import ClientWatch, in_words

LINE = json.dumps({"done": 2, "planned": 8, "tok_s": 61.5, "errors": 1, "elapsed_s": 3.0, "eta_s": 9.2})


def watch_of(tmp_path: Path) -> tuple[ClientWatch, list[str], list[str]]:
    said: list[str] = []
    windows: list[str] = []
    store = RunStore("c.r", str(tmp_path))
    watch = ClientWatch("k", store, store.path("progress.json"), said.append, lambda: windows.append("begun"))
    return watch, said, windows


def test_progress_is_kept_for_the_pages_and_said_now_and_then(tmp_path: Path) -> None:
    watch, said, _ = watch_of(tmp_path)

    for _ in range(5):
        watch(LINE)

    assert said == ["2/8 requests, 62 tok/s, 1 errors, 9 s left"]
    assert json.loads((tmp_path / "c.r" / "progress.json").read_text())["cell"] == "k"


def test_the_first_progress_line_tells_once_that_the_window_begins(tmp_path: Path) -> None:
    watch, _, windows = watch_of(tmp_path)

    watch("warming up")
    assert windows == []
    watch(LINE)
    watch(LINE)

    assert windows == ["begun"]


def test_what_a_client_that_fails_says_is_kept(tmp_path: Path) -> None:
    watch, said, windows = watch_of(tmp_path)

    for line in ("{not json", "", "  ", '{"other": 1}', "error: no server answers"):
        watch(line)

    assert watch.tail == ["{not json", '{"other": 1}', "error: no server answers"]
    assert said == []
    assert windows == []


def test_unknown_progress_is_left_out_of_the_words() -> None:
    assert in_words({"done": 3, "planned": None, "tok_s": None, "errors": None, "eta_s": None}) == (
        "3 requests, 0 tok/s, 0 errors"
    )
