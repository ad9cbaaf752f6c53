"""One operator for every step: it knows which step, and for which launch, cell or host. The steps hold the logic.

Only measuring on a Docker host has another, of the Docker provider: ``measure_in_container.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from airflow.sdk import BaseOperator

from benchgate.airflow.pages_link import PageLink

if TYPE_CHECKING:
    from airflow.sdk import Context


class StepTask(Protocol):
    """What a step wants to know of its task."""

    step: str
    campaign_file: str
    launch: str | None
    cell: str | None
    host: str | None
    run_key: str | None


class StepOperator(BaseOperator):
    """Run one step of a campaign run.

    :param step: name of a function in ``benchgate.airflow.task_steps``.
    :param campaign_file: path of the campaign's YAML file.
    :param launch: key of the launch the step is about, if any.
    :param cell: key of the cell the step is about, if any.
    :param host: name of the host the step is about, if any.
    """

    template_fields: Sequence[str] = ()
    operator_extra_links = (PageLink(),)
    ui_color = "#e8eef7"

    def __init__(
        self,
        *,
        step: str,
        campaign_file: str,
        launch: str | None = None,
        cell: str | None = None,
        host: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.campaign_file = campaign_file
        self.launch = launch
        self.cell = cell
        self.host = host
        self.run_key: str | None = None  # known once the task runs; on_kill needs it

    def execute(self, context: Context) -> Any:
        """Call the step; what it returns is a key or a small summary."""
        from benchgate.airflow import task_steps

        return task_steps.run(self, context)

    def on_kill(self) -> None:
        """The supervisor ends the process 5 s after this: end the load generator now, not the server."""
        from benchgate.airflow import task_steps

        task_steps.on_kill(self)
