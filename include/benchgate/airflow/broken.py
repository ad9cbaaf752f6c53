"""A campaign file that cannot be used must be seen, and must not hide the others.

Airflow drops every DAG of a file that raises while it is imported. A DAG whose own validation fails, however, becomes
an import error of the file while its other DAGs live on: that is what stands in for the broken campaigns.
"""

from __future__ import annotations

from airflow.sdk import DAG

from benchgate.errors import SpecError, SpecProblem


class BrokenCampaigns(DAG):
    """Stands for every campaign file that could not be loaded."""

    def __init__(self, problems: list[SpecProblem]) -> None:
        super().__init__(dag_id="benchgate_broken_campaigns", schedule=None)
        self._problems = problems

    def validate(self) -> None:
        """Refuse to be a DAG, with every problem of every broken file."""
        raise SpecError(self._problems)
