"""The trigger form of a campaign: choices come from the campaign, a bad value is refused in the form."""

from __future__ import annotations

from airflow.sdk import Param

from benchgate.spec.campaign import CampaignSpec


def campaign_params(campaign: CampaignSpec) -> dict[str, Param]:
    """Params of a campaign's DAG. Empty choices mean everything that the campaign plans."""
    users = sorted({level for workload in campaign.workloads.values() for level in workload.users or []})
    params = {
        "arms": _choice("Arms", list(campaign.arms), "Which arms to start. None chosen: all of them."),
        "workloads": _choice("Workloads", list(campaign.workloads), "What to measure. None chosen: all."),
    }
    if users:
        params["users"] = _choice("Users", users, "Concurrent streams to measure with. None chosen: all.")
    params["repeats"] = Param(
        None,
        type=["null", "integer"],
        minimum=1,
        maximum=20,
        title="Repeats",
        description_md=f"How often each cell is measured. Empty: {campaign.repeats}, as the campaign says.",
    )
    if campaign.image is not None:
        params["image"] = Param(
            None,
            type=["null", "string"],
            maxLength=500,
            pattern=r"^[a-zA-Z0-9][\w./:@-]*$",
            title="Image",
            description_md=f"Another tag or digest in place of `{campaign.image}` for this run.",
        )
    params["force"] = Param(
        False,
        type=["boolean", "null"],
        title="Measure even if nothing is new",
        description_md="Measure although earlier runs measured all of it on this very image.",
    )
    return params


def _choice(title: str, options: list[str] | list[int], text: str) -> Param:
    """A list to choose from. The form sends every choice as text, and null when the last one is taken away again."""
    return Param(
        None,
        type=["null", "array"],
        items={"enum": list(dict.fromkeys([*options, *map(str, options)]))},
        uniqueItems=True,
        examples=options,
        title=title,
        description_md=text,
    )
