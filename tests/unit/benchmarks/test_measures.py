"""A client's report put against the truth."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from benchmarks.measures import Schedule, compare, ideal_s, measured_only
from benchmarks.peers import Load, Reading
from benchmarks.reference_server.truth import RequestTruth
from benchmarks.running import Run

SECOND = 1_000_000_000


def request(index: int, received_s: float, marks_s: list[float], request_id: str | None = None) -> RequestTruth:
    return RequestTruth(
        index=index,
        connection=0,
        requests_before=index,
        scenario="steady",
        endpoint="chat",
        model="m",
        client_request_id=request_id,
        prompt_tokens=5,
        max_tokens=len(marks_s),
        received_ns=int(received_s * SECOND),
        body_ns=int(received_s * SECOND),
        completion_tokens=len(marks_s),
        token_ns=array("q", [int(mark * SECOND) for mark in marks_s]),
        event_tokens=[1] * len(marks_s),
    )


def test_warm_up_and_probes_are_left_out() -> None:
    kept = measured_only([request(0, 0, [1], "warmup-0"), request(1, 0, [1], "probe-0"), request(2, 0, [1], None)])

    assert [one.index for one in kept] == [2]


def test_the_ideal_load_fills_every_user_as_soon_as_it_is_free() -> None:
    schedule = Schedule(ttft_s=1.0, itl_s=0.0)

    assert ideal_s([1] * 4, 2, schedule) == 2.0
    assert ideal_s([1] * 5, 2, schedule) == 3.0
    assert ideal_s([1, 1, 11], 2, Schedule(1.0, 1.0)) == 12.0  # the long one starts when a user is free


def test_errors_are_reported_minus_true() -> None:
    # two users, two requests each of TTFT 1 s and 3 tokens a second apart, back to back: 6 s of ideal load
    truth = [
        request(0, 10.0, [11.0, 12.0, 13.0]),
        request(1, 10.0, [11.0, 12.0, 13.0]),
        request(2, 14.0, [15.0, 16.0, 17.0]),
        request(3, 14.0, [15.0, 16.0, 17.0]),
    ]
    run = Run(9.0, 0, 20.0, cpu=[(9.0, 0.0), (10.0, 5.0), (20.0, 15.0)], machine=[(10.0, 100.0), (20.0, 130.0)])
    reading = Reading(4, 0, 1010.0, 1200.0, 990.0, 12 / 7 * 0.9)

    found = compare(Load(2, 4, 3, Path(), ""), Schedule(1.0, 1.0), reading, run, truth, server_cpu_s=2.0)

    assert found.ttft_p50_error_ms == pytest.approx(10.0)
    assert found.ttft_p99_error_ms == pytest.approx(200.0)
    assert found.tpot_p50_error_percent == pytest.approx(-1.0)
    assert found.throughput_error_percent == pytest.approx(-10.0)
    assert found.share_of_ideal_percent == pytest.approx(100 * 6 / 7)
    assert found.startup_s == pytest.approx(1.0)
    assert found.cpu_us_per_token == pytest.approx(1e6 * 7 / 12)  # 1 s of CPU a second, 7 s, 12 tokens
    assert found.others_cpu_percent == pytest.approx(100 * (21 - 7 - 2) / 7)
    assert found.server_late_p99_ms == pytest.approx(0.0, abs=1e-3)


def test_what_a_client_does_not_report_has_no_error() -> None:
    truth = [request(0, 10.0, [11.0, 12.0])]
    run = Run(9.0, 0, 20.0, cpu=[(9.0, 0.0), (20.0, 0.1)], machine=[(9.0, 0.0), (20.0, 0.1)])

    reading = Reading(1, None, None, None, None, None)
    found = compare(Load(1, 1, 2, Path(), ""), Schedule(1.0, 1.0), reading, run, truth, 0.0)

    assert found.ttft_p50_error_ms is None
    assert found.throughput_error_percent is None
    assert found.cpu_us_per_token is None  # too little for the clock's ticks
