"""What a DAG and its tasks say about themselves in the Airflow UI."""

from __future__ import annotations

from benchgate.spec.campaign import CampaignSpec

TASK_NOTES = {
    "plan": "Writes the ledger: every launch and cell, before anything runs. Fails: the campaign, the inventory or the "
    "trigger's choices cannot be used; the message names file, line and field.",
    "pull_image": "Pulls the image and resolves its tag to a digest. Fails: the message tells apart no such tag, no "
    "login, no space, registry unreachable. Skipped runs say *nothing new to measure*; trigger with `force`.",
    "changed_image": "Asks before an image is measured that the campaign did not run last. No, or no answer in time, "
    "ends the run with nothing measured. Asked a second time: Airflow lost the answer, so give it again.",
    "regression": "Asks before regressions are announced. No, or no answer in time, keeps them back; they stay in the "
    "warehouse. Trigger `report` with the run to be asked again.",
    "seed_vocab": "Puts vocabularies in place, verified. Fails: both hashes, or the source that did not answer.",
    "seed_model": "Puts the model in place and verifies it. Fails: which file is missing or differs.",
    "seed_dataset": "Puts datasets in place. Fails: which file, and where it stops being valid.",
    "preflight": "Looks whether the host is fit for this launch. Fails: each finding names the thing and its remedy; "
    "what is ours and stale was removed already.",
    "start_server": "Takes the placement's lease and starts the server. Fails: who holds the placement, or what the "
    "host said; nothing is left behind.",
    "wait_ready": "Waits until health is answered and a chat came back. Fails: the failure kind and the root-cause "
    "line of the server's log; the whole log is in the artifacts.",
    "prove_kernel": "Reads the server's log: which version, kernel, KV pool. Fails: a fact the arm must prove is "
    "another one, or is not in the log.",
    "needle_check": "Asks planted facts back from this launch. Fails: which depth was lost and what was answered.",
    "measure": "Measures one cell. Fails: why there is no result. Errors of single requests do not fail the task: the "
    "gates judge them.",
    "stop_server": "Stops the server, keeps its log and how it ended, frees the lease.",
    "validate": "Great Expectations on the result tables: every broken rule becomes a verdict with its reason.",
    "load": "One transaction into the warehouse; loading again changes nothing.",
    "verdict": "Fails the run when something ended otherwise than the campaign expects, or when the run was marked as "
    "over before it was. See `did_not_run` and `unpublishable` for the reasons.",
}


def campaign_doc(campaign: CampaignSpec) -> str:
    """Markdown about a campaign: what it compares, on what, under which rules."""
    lines = [f"# {campaign.campaign}", "", campaign.description.strip(), ""]
    lines += [
        f"**Model** `{campaign.model.id}` at `{campaign.model.revision}`. "
        f"**Engine** {campaign.engine}" + (f", image `{campaign.image}`." if campaign.image else "."),
        "",
        "| arm | placement | what is different | must prove | expected |",
        "|---|---|---|---|---|",
    ]
    for name, arm in campaign.arms.items():
        different = ", ".join(f"`{key}={value}`" for key, value in {**arm.args, **arm.env}.items()) or "-"
        claims = ", ".join(f"`{key}={value}`" for key, value in arm.prove.items()) or "-"
        lines.append(f"| {name} | {arm.placement} | {_cell(different)} | {_cell(claims)} | {arm.expect} |")
    lines += ["", "| workload | dataset | prompt | cap | load | requests | at most |", "|---|---|---|---|---|---|---|"]
    for name, workload in campaign.workloads.items():
        if workload.users:
            load = f"{', '.join(map(str, workload.users))} users"
        else:
            load = f"{', '.join(f'{rate:g}' for rate in workload.request_rates or [])} requests/s"
        prompt = f"{workload.prompt_tokens} tokens" if workload.prompt_tokens else "as sampled"
        lines.append(
            f"| {name} | {workload.dataset} | {prompt} | {workload.max_tokens} tokens | {load} "
            f"| {workload.requests or 'no limit'} | {workload.max_seconds:g} s |"
        )
    lines += ["", f"Each cell is measured {campaign.repeats} times.", "", "**Published only if**", ""]
    gates = campaign.gates
    if gates.needle:
        lines.append(
            f"- this very launch finds {len(gates.needle.depths)} of {len(gates.needle.depths)} needles "
            f"at {gates.needle.context_tokens} tokens"
        )
    else:
        lines.append("- (no needle gate: nothing of this campaign can be published)")
    lines += [
        "- every fact under *must prove* stands in the server's own log",
        f"- at most {gates.error_rate.max:.1%} of its requests failed",
        "- the server was warm, and its token counters agree with the client's",
        "- its fingerprint is complete",
    ]
    if not campaign.swap_placements and len({arm.placement for arm in campaign.arms.values()}) > 1:
        lines += ["", "Arms stay on their placements: comparisons are *confounded by placement*."]
    if campaign.sources:
        lines += ["", f"Sources: {', '.join(f'[{source}]' for source in campaign.sources)}"]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
