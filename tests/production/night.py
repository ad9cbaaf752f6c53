"""One campaign run that something happens to, and what must hold at its end whatever it was."""

from __future__ import annotations

from typing import Any

from benchgate.hosts.docker_engine import DockerEngine
from tests.production.stack import Stack, left_behind, wait_until

RUN = "night-1"
REQUESTS = 6
ARMS = ("a", "b")
CELLS = len(ARMS) * 2
WORKLOAD = {
    "dataset": "synthetic",
    "prompt_tokens": 32,
    "max_tokens": 40,
    "users": [1],
    "requests": REQUESTS,
    "warmup_requests": 1,
    "max_seconds": 120,
}


def below_zero(value: Any, path: str = "") -> list[str]:
    """Durations of a page's JSON (``.._s``, ``.._ms``) that are negative."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in below_zero(inner, f"{path}.{key}")]
    if isinstance(value, list):
        return [found for number, inner in enumerate(value) for found in below_zero(inner, f"{path}[{number}]")]
    wrong = isinstance(value, (int, float)) and value < 0 and path.endswith(("_s", "_ms"))
    return [f"{path} = {value}"] if wrong else []


class Night:
    """One run of a campaign of two arms, each with two cells of about half a minute."""

    def __init__(self, stack: Stack, far: DockerEngine, name: str) -> None:
        self.stack, self.far, self.name = stack, far, name

    def start(self) -> Night:
        """Trigger it and wait until a cell is being measured."""
        self.stack.trigger(self.name, RUN)
        wait_until("a measurement", self.measures, timeout_s=300, every_s=1)
        return self

    def measures(self) -> bool:
        """Whether a load generator is at work on the host."""
        return any(name.endswith("-client") for name in left_behind(self.far))

    def end(self) -> str:
        """Wait for the run's end, check what holds whatever happened, and housekeep. Gives the run's state."""
        state = self.stack.finished(self.name, RUN, timeout_s=900)
        tasks = self.stack.tasks(self.name, RUN)
        cells = self.cells()
        assert len(cells) == CELLS, (tasks, cells)
        assert all(reason for end_state, reason in cells.values() if end_state != "published"), cells
        assert all(end in ("published", "unpublishable", "failed", "not_run") for end, _ in cells.values()), cells
        good = all(end == "published" for end, _ in cells.values())
        assert (state == "success") == good, (state, cells, tasks)
        told = self.stack.rows(f"select state, count(*) from campaign_run where campaign = '{self.name}' group by 1")
        assert told == [["success" if good else "failed", "1"]]
        self.every_request_is_there_once()
        self.nothing_took_less_than_no_time()
        usable = self.stack.rows(f"select cell from published_cell where campaign = '{self.name}'")
        assert len(usable) == self.published()
        self.housekeep()
        return state

    def cells(self) -> dict[str, tuple[str, str]]:
        """Cell -> how it ended and why."""
        rows = self.stack.rows(
            "select cell, end_state, coalesce(reason, '') from cell join campaign_run using (run_id) "
            f"where campaign = '{self.name}'"
        )
        assert len({cell for cell, _, _ in rows}) == len(rows)
        return {cell: (end_state, reason) for cell, end_state, reason in rows}

    def published(self) -> int:
        """How many cells may be used."""
        return sum(end == "published" for end, _ in self.cells().values())

    def every_request_is_there_once(self) -> None:
        """Of each cell that was measured."""
        rows = self.stack.rows(
            "select cell, completed, count(*) from cell join campaign_run using (run_id) join request using (cell_id) "
            f"where campaign = '{self.name}' and phase = 'measured' group by 1, 2"
        )
        assert all(row[1:] == [str(REQUESTS)] * 2 for row in rows), rows

    def nothing_took_less_than_no_time(self) -> None:
        """Neither in the warehouse nor on a page, whatever the clocks did."""
        (wrong,) = self.stack.rows(
            "select count(*) filter (where c.duration_s <= 0 or l.startup_s < 0 or c.ttft_p50_ms < 0), "
            "(select count(*) from request join cell using (cell_id) join campaign_run using (run_id) where "
            f"campaign = '{self.name}' and not (sent_at_ms <= first_token_at_ms and first_token_at_ms <= ended_at_ms)) "
            "from cell c join launch l using (launch_id) join campaign_run r on r.run_id = c.run_id "
            f"where campaign = '{self.name}'"
        )
        assert wrong == ["0", "0"]
        assert below_zero(self.stack.page(f"/benchgate/api/run/{self.name}/{RUN}")) == []

    def housekeep(self) -> None:
        """Trigger housekeeping; nothing of the run is left on the host after it."""
        run_id = f"after-{self.name}"
        self.stack.trigger("housekeeping", run_id)
        assert self.stack.finished("housekeeping", run_id) == "success"
        assert left_behind(self.far) == []
