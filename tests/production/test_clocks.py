"""Clocks that are set while a campaign runs. What is measured is timed by clocks that nobody sets; what is compared
between two machines is never a time of day.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.production.clocks import MACHINES, SITE
from tests.production.night import Night
from tests.production.shell import Operator, block_with
from tests.production.stack import Stack

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]


def set_all(stack: Stack, hours: float) -> None:
    for machine in MACHINES:
        stack.set_clock(machine, hours)


@pytest.fixture(autouse=True)
def right_again(stack: Stack) -> Iterator[None]:
    """Afterwards all clocks are right, and what docs/operator.md says to restart has been."""
    yield
    set_all(stack, 0)
    Operator(stack).types(block_with("restart airflow-dag-processor").text)


def test_a_site_whose_clock_jumps_ahead_measures_on(stack: Stack, night: Night) -> None:
    night.start()

    stack.set_clock(SITE, 2)

    assert night.end() == "success"


def test_all_clocks_jump_ahead(stack: Stack, night: Night) -> None:
    night.start()

    set_all(stack, 2)

    assert night.end() == "failed"  # Airflow gives up tasks whose tokens are of the old time
    assert night.published() > 0


def test_all_clocks_jump_back_and_are_set_right_a_minute_later(stack: Stack, night: Night) -> None:
    night.start()

    set_all(stack, -2)
    time.sleep(60)  # Airflow goes on with no run that began in the future
    set_all(stack, 0)

    assert night.end() == "failed"
    assert night.published() > 0
