from __future__ import annotations

import io
import json

from benchgate.client.progress import ProgressLine, ProgressNow, bar, estimate


def test_json_progress_is_one_line_with_every_key() -> None:
    out = io.StringIO()
    ProgressLine("json", out=out).show(ProgressNow(3, 10, 812.345, 1, 2.04, 4.66))
    assert json.loads(out.getvalue()) == {
        "done": 3,
        "planned": 10,
        "tok_s": 812.3,
        "errors": 1,
        "elapsed_s": 2.0,
        "eta_s": 4.7,
    }
    assert out.getvalue().count("\n") == 1


def test_auto_is_silent_where_there_is_no_terminal() -> None:
    out, err = io.StringIO(), io.StringIO()
    line = ProgressLine("auto", out=out, err=err)
    line.show(ProgressNow(3, 10, 800.0, 0, 2.0, 4.0))
    line.close()
    assert (out.getvalue(), err.getvalue()) == ("", "")


def test_a_bar_shows_counts_and_time_left() -> None:
    assert bar(ProgressNow(5, 10, 812.0, 1, 12.0, 75.0), width=10) == (
        "[#####-----] 5/10  812 tok/s  1 error  0:12  left 1:15"
    )


def test_a_bar_without_a_number_of_requests_follows_the_clock() -> None:
    assert bar(ProgressNow(5, None, 0.0, 0, 30.0, 90.0), width=8).startswith("[##------] 5  ")


def test_the_estimate_is_whichever_ends_first() -> None:
    assert estimate(done=5, planned=10, elapsed_s=10.0, max_seconds=None) == 10.0
    assert estimate(done=5, planned=10, elapsed_s=10.0, max_seconds=12.0) == 2.0
    assert estimate(done=0, planned=10, elapsed_s=10.0, max_seconds=None) is None
    assert estimate(done=0, planned=None, elapsed_s=13.0, max_seconds=12.0) == 0.0
