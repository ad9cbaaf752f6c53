"""Clocks that are set while a campaign runs. What is measured is timed by clocks that nobody sets; what is compared
between two machines is never a time of day.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.production.clocks import CENTER, MACHINES, SITE
from tests.production.night import Night
from tests.production.shell import Operator, block_with
from tests.production.stack import Stack

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(autouse=True)
def right_again(stack: Stack) -> Iterator[None]:
    """Afterwards all clocks are right, and what docs/operator.md says to restart has been."""
    yield
    for machine in MACHINES:
        stack.set_clock(machine, 0)
    Operator(stack).types(block_with("restart airflow-dag-processor").text)


@pytest.mark.parametrize("hours", [2, -2])
def test_a_site_whose_clock_jumps_measures_on(stack: Stack, night: Night, hours: int) -> None:
    night.start()

    stack.set_clock(SITE, hours)

    assert night.end() == "success"


@pytest.mark.parametrize("hours", [2, -2])
def test_all_clocks_jump(stack: Stack, night: Night, hours: int) -> None:
    night.start()

    stack.set_clock(SITE, hours)
    stack.set_clock(CENTER, hours)

    # Airflow may give up tasks whose tokens have the old time; night.end() says that the run tells it
    night.end()
