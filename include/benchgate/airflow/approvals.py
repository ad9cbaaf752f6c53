"""Points at which a person must say yes. Off unless a campaign asks; no approval can publish what a gate refused."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk.exceptions import AirflowSkipException

from benchgate.airflow.pages_link import PageLink

if TYPE_CHECKING:
    from airflow.sdk import Context

APPROVE, REJECT = "Approve", "Reject"
_PATIENCE = timedelta(hours=20)  # a night's question that nobody answers must not hold the next night


class ChangedImageApproval(HITLOperator):
    """Ask before an image is measured that is not the one that the campaign last ran. Asks nothing otherwise.

    :param host: the host whose images were pulled just before.
    """

    template_fields: Sequence[str] = ("subject", "body")
    operator_extra_links = (PageLink(),)

    def __init__(self, *, host: str, **kwargs: Any) -> None:
        super().__init__(
            subject="Measure an image that changed?",
            options=[APPROVE, REJECT],
            defaults=[REJECT],
            response_timeout=_PATIENCE,
            **kwargs,
        )
        self.host = host

    def execute(self, context: Context) -> Any:
        """Ask, with the old and the new digest of every tag that moved."""
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.names import run_key
        from benchgate.steps.approving import changed_images
        from benchgate.steps.context import CampaignRun
        from benchgate.steps.images import last_used_digest

        run = CampaignRun(run_key(context["dag"].dag_id, context["run_id"]))
        changed = changed_images(run, self.host, lambda name, image: last_used_digest(name, image, warehouse_url()))
        if not changed:
            self.log.info("no image changed on %s: nothing to ask", self.host)
            return "not asked"
        self.body = "\n".join(
            f"- `{image}` on {self.host} was `{old}` and is `{new}`" for image, (old, new) in changed.items()
        )
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Keep who answered and when; a *no* ends the run as one that had nothing it may measure."""
        from benchgate.names import run_key
        from benchgate.steps.context import CampaignRun

        answer = super().execute_complete(context, event)
        key = run_key(context["dag"].dag_id, context["run_id"])
        approval = keep_answer(key, "changed_image", answer, note=self.host)
        if not approval.approved:
            reason = f"the changed image was rejected by {approval.by or 'nobody in time'}"
            CampaignRun(key).end_nothing_new(reason)
            raise AirflowSkipException(reason)
        return "approved"


class RegressionApproval(HITLOperator):
    """Ask before regressions are announced, for the campaigns that want it. Gives the runs that may be announced."""

    template_fields: Sequence[str] = ("subject", "body", "runs")

    def __init__(self, *, runs: Any, **kwargs: Any) -> None:
        super().__init__(
            subject="Announce these regressions?",
            options=[APPROVE, REJECT],
            defaults=[REJECT],
            response_timeout=_PATIENCE,
            **kwargs,
        )
        self.runs = runs

    def execute(self, context: Context) -> Any:
        """Ask only about runs whose campaign asks for it and that have something to announce."""
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.reporting import nightly_message

        asking = self._asking()
        message = nightly_message(asking, warehouse_url()) if asking else None
        if message is None:
            return list(self.runs)
        self.body = message
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Keep who answered and when; what was rejected is not announced."""
        answer = super().execute_complete(context, event)
        asking = self._asking()
        rejected = {run for run in asking if not keep_answer(run, "regression", answer).approved}
        return [run for run in self.runs if run not in rejected]

    def _asking(self) -> list[str]:
        from benchgate.steps.context import CampaignRun

        return [run for run in self.runs if CampaignRun(run).campaign.approvals.regression]


def keep_answer(
    run: str, point: Literal["changed_image", "regression"], answer: Any, *, note: str | None = None
) -> Any:
    """Keep a person's answer with the run and in the warehouse; gives the record."""
    from benchgate.airflow.warehouse import warehouse_url
    from benchgate.records import Approval
    from benchgate.steps.approving import keep_approval

    user = answer.get("responded_by_user") or {}
    approval = Approval(
        point=point,
        approved=answer["chosen_options"] == [APPROVE],
        by=user.get("name") if isinstance(user, dict) else getattr(user, "name", None),
        at=answer["responded_at"].isoformat(),
        note=note,
    )
    keep_approval(run, approval, warehouse_url())
    return approval
