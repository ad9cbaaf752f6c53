"""Points at which a person must say yes. Off unless a campaign asks; no approval can publish what a gate refused.

One question has one answer. It is kept with the run under the name of its question before anything else is done, so
that a task that is tried again finds it instead of asking a second time.

Airflow itself loses an answer now and then: one that comes in the very moments in which the task's process ends to
wait for it. The scheduler then takes the end of that process for the end of the whole task, and fails it ("finished
with state success, but the task instance's state attribute is queued"). The task is tried again and asks again: a lost
answer is a question more, never a run that fails although somebody approved.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk.exceptions import AirflowSkipException

from benchgate.airflow.docs import TASK_NOTES
from benchgate.airflow.pages_link import PageLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from benchgate.records import Approval

APPROVE, REJECT = "Approve", "Reject"
_PATIENCE = timedelta(hours=20)  # a night's question that nobody answers must not hold the next night
_AGAIN = {"retries": 4, "retry_delay": timedelta(seconds=15)}


class _Question(HITLOperator):
    """A question with two answers; *no* unless somebody says *yes* in time."""

    point: Literal["changed_image", "regression"]
    operator_extra_links = (PageLink(),)

    def __init__(self, *, subject: str, **kwargs: Any) -> None:
        super().__init__(
            subject=subject,
            options=[APPROVE, REJECT],
            defaults=[REJECT],
            response_timeout=_PATIENCE,
            **{**_AGAIN, "doc_md": TASK_NOTES[self.point], **kwargs},
        )

    def given(self, answer: Any, *, note: str | None = None) -> Approval:
        """Airflow's answer as it is kept."""
        from benchgate.records import Approval

        user = answer.get("responded_by_user") or {}
        return Approval(
            point=self.point,
            approved=answer["chosen_options"] == [APPROVE],
            by=user.get("name") if isinstance(user, dict) else getattr(user, "name", None),
            at=answer["responded_at"].isoformat(),
            note=note,
        )


class ChangedImageApproval(_Question):
    """Ask before an image is measured that is not the one that the campaign last ran. Asks nothing otherwise.

    :param host: the host whose images were pulled just before.
    """

    point = "changed_image"
    template_fields: Sequence[str] = ("subject", "body")

    def __init__(self, *, host: str, **kwargs: Any) -> None:
        super().__init__(subject="Measure an image that changed?", **kwargs)
        self.host = host

    def execute(self, context: Context) -> Any:
        """Ask, with the old and the new digest of every tag that moved; go by the answer that was given already."""
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.names import run_key
        from benchgate.steps.approving import answer_to, changed_images
        from benchgate.steps.context import CampaignRun
        from benchgate.steps.images import last_used_digest

        run = CampaignRun(run_key(context["dag"].dag_id, context["run_id"]))
        known = answer_to(run.run, self._question(run))
        if known is not None:
            return self._go_by(known, run)
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

        run = CampaignRun(run_key(context["dag"].dag_id, context["run_id"]))
        return self._go_by(self.given(super().execute_complete(context, event), note=self.host), run)

    def _question(self, run: Any) -> str:
        """Its name: this task, about the digests that the host has now. Another digest is another question."""
        from benchgate.names import stable_id

        return f"{self.point}.{stable_id(self.task_id, *sorted(run.seeds(self.host).images.values()))}"

    def _go_by(self, answer: Approval, run: Any) -> str:
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.approving import keep_approval

        keep_approval(run.run, self._question(run), answer, warehouse_url())
        if not answer.approved:
            reason = f"the changed image was rejected by {answer.by or 'nobody in time'}"
            run.end_nothing_new(reason)
            raise AirflowSkipException(reason)
        return "approved"


class RegressionApproval(_Question):
    """Ask before regressions are announced, for the campaigns that want it. Gives the runs that may be announced.

    :param runs: keys of the runs that the report is about.
    """

    point = "regression"
    template_fields: Sequence[str] = ("subject", "body", "runs")

    def __init__(self, *, runs: Any, **kwargs: Any) -> None:
        super().__init__(subject="Announce what moved?", **kwargs)
        self.runs = runs

    def execute(self, context: Context) -> Any:
        """Ask only about runs whose campaign asks for it and that have something to announce."""
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.approving import answer_to
        from benchgate.steps.reporting import nightly_message

        asking = self._asking()
        known = next((one for run in asking if (one := answer_to(run, self._question(context)))), None)
        if known is not None:
            return self._go_by(known, asking, context)
        message = nightly_message(asking, warehouse_url()) if asking else None
        if message is None:
            return list(self.runs)
        self.body = message
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Keep who answered and when; what was rejected is not announced."""
        return self._go_by(self.given(super().execute_complete(context, event)), self._asking(), context)

    def _asking(self) -> list[str]:
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.approving import asks_before_announcing

        return [run for run in self.runs if asks_before_announcing(run, warehouse_url())]

    def _question(self, context: Context) -> str:
        """Its name: of this report. Another report of the same run asks again, so that a *no* can be thought over."""
        from benchgate.names import stable_id

        return f"{self.point}.{stable_id(context['dag'].dag_id, context['run_id'], self.task_id)}"

    def _go_by(self, answer: Approval, asking: Sequence[str], context: Context) -> list[str]:
        from benchgate.airflow.warehouse import warehouse_url
        from benchgate.steps.approving import keep_approval

        for run in asking:
            keep_approval(run, self._question(context), answer, warehouse_url())
        return [run for run in self.runs if answer.approved or run not in asking]
