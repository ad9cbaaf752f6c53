"""Every scenario by name. A scenario is a function from a request to timed writes; its docstring says what it does."""

from __future__ import annotations

from benchmarks.reference_server.reply import Reply, Request, Scenario
from benchmarks.reference_server.scenarios import answers, faults, replay, tokens, unusual, wire
from benchmarks.reference_server.schedule import ScheduleError

BY_NAME: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (*tokens.SCENARIOS, *wire.SCENARIOS, *unusual.SCENARIOS, *faults.SCENARIOS, *answers.SCENARIOS)
}


def known(name: str) -> bool:
    """Whether ``name`` is a scenario or a capture to replay."""
    return name in BY_NAME or name.startswith("replay:")


def answer(name: str, request: Request) -> Reply:
    """The scenario's answer; raises :class:`ScheduleError` for a name that does not exist."""
    if name.startswith("replay:"):
        return replay.replay(request, name.removeprefix("replay:"))
    if name not in BY_NAME:
        raise ScheduleError(f"there is no scenario {name!r}; known are {', '.join(BY_NAME)}")
    return BY_NAME[name](request)
