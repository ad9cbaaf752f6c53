from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgate.client.loads.closed_loop import closed_loop
from benchgate.client.loads.open_loop import BURST, arrivals, open_loop
from benchgate.client.loads.stop import MIN_FOR_RATE, ErrorRateLimit, Stop
from benchgate.request_record import RequestRecord


def first(count: int, shape: str, rate: float, **options: float) -> list[float]:
    return list(itertools.islice(arrivals(shape, rate, seed=7, **options), count))  # type: ignore[arg-type]


def test_constant_arrivals_are_evenly_spaced() -> None:
    assert first(4, "constant", 2.0) == [0.0, 0.5, 1.0, 1.5]


def test_bursts_come_together_and_keep_the_mean_rate() -> None:
    times = first(4 * BURST, "burst", 4.0)
    assert sorted(Counter(times)) == [0.0, 2.0, 4.0, 6.0]
    assert set(Counter(times).values()) == {BURST}


def test_poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() -> None:
    times = first(20_000, "poisson", 10.0)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    mean = sum(gaps) / len(gaps)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert mean == pytest.approx(0.1, rel=0.05)
    assert spread == pytest.approx(0.1, rel=0.05)


@given(st.sampled_from(["poisson", "constant", "burst"]), st.floats(0.1, 500), st.floats(0, 20))
def test_arrivals_never_go_back_in_time(shape: str, rate: float, ramp: float) -> None:
    times = first(200, shape, rate, ramp_seconds=ramp)
    assert all(later >= earlier for earlier, later in itertools.pairwise(times))


def test_a_ramp_grows_to_the_rate() -> None:
    times = first(200, "constant", 10.0, ramp_seconds=10.0)
    assert sum(time < 10.0 for time in times) == pytest.approx(50, abs=1)  # half the rate on average
    assert sum(time < 5.0 for time in times) == pytest.approx(12.5, abs=1)
    assert sum(10.0 <= time < 15.0 for time in times) == pytest.approx(50, abs=1)


def test_a_closed_loop_has_one_request_a_user_in_flight_and_sends_each_once() -> None:
    running = most = 0
    sent: list[tuple[int, int | None]] = []

    async def send_one(index: int, record: RequestRecord) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        sent.append((index, record.user))
        running -= 1

    asyncio.run(closed_loop([0, 1, 2], iter(range(20)), send_one, Stop(), phase="measured"))
    assert most == 3
    assert sorted(index for index, _ in sent) == list(range(20))
    assert {user for _, user in sent} == {0, 1, 2}


def test_a_stop_ends_a_closed_loop_that_has_no_last_request() -> None:
    async def run() -> int:
        stop, count = Stop(), itertools.count()

        async def send_one(index: int, record: RequestRecord) -> None:
            await asyncio.sleep(0)
            if index == 30:
                stop.set("time_cap")

        await closed_loop([0, 1], count, send_one, stop, phase="measured")
        return next(count)

    assert asyncio.run(run()) < 40


def test_the_time_between_two_requests_of_a_user_counts_as_queueing() -> None:
    records: list[RequestRecord] = []

    async def send_one(index: int, record: RequestRecord) -> None:
        record.ended_at = 100.0 + index
        records.append(record)

    asyncio.run(closed_loop([0], iter(range(3)), send_one, Stop(), phase="measured"))
    assert [record.queued_at for record in records[1:]] == [100.0, 101.0]


def test_an_open_loop_does_not_wait_for_answers() -> None:
    records: list[RequestRecord] = []

    async def send_one(index: int, record: RequestRecord) -> None:
        records.append(record)
        await asyncio.sleep(0.2)

    async def run() -> None:
        begin = asyncio.get_running_loop().time()
        schedule = ((index, 0.01 * index) for index in range(10))
        await open_loop(schedule, send_one, Stop(), phase="measured", started_at=begin)

    asyncio.run(run())
    assert len(records) == 10
    assert records[9].intended_at == pytest.approx((records[0].intended_at or 0) + 0.09)
    assert all(record.queued_at == record.intended_at for record in records)


def test_the_error_rate_limit_needs_a_few_requests_first() -> None:
    limit = ErrorRateLimit(0.5)
    fired = [limit.note(is_error=True) for _ in range(MIN_FOR_RATE)]
    assert fired == [False] * (MIN_FOR_RATE - 1) + [True]


def test_the_error_rate_limit_holds_at_the_limit_itself() -> None:
    limit = ErrorRateLimit(0.5)
    assert not any(limit.note(is_error=bool(number % 2)) for number in range(100))
    assert limit.note(is_error=True)


def test_no_limit_never_fires() -> None:
    limit = ErrorRateLimit(None)
    assert not any(limit.note(is_error=True) for _ in range(100))


def test_the_first_reason_to_stop_counts() -> None:
    async def run() -> str | None:
        stop = Stop()
        stop.set("time_cap")
        stop.set("interrupt")
        await stop.sleep(60)
        return stop.reason

    assert asyncio.run(run()) == "time_cap"
