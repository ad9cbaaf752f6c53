"""What a planned cell measures, as one hash: two nights with equal ones and the same image would measure the same."""

from __future__ import annotations

import hashlib
import json

from benchgate.names import parse_cell_key
from benchgate.spec.campaign import CampaignSpec

_NAMED_BY_THE_CELL = {"users", "request_rates"}  # its own load; further levels are further cells


def measurement_of(campaign: CampaignSpec, cell: str) -> str:
    """A SHA-256 over all that a campaign says of a cell: model, arguments, proofs, gates, workload, place and repeat.

    The image is not in it (its digest is compared), nor is what changes no measurement: schedule, notes, baseline.

    Args:
        campaign: what a person wrote.
        cell: key of a cell; its arm and workload are the campaign's.
    """
    arm, _host, _placement, workload, *_ = parse_cell_key(cell)
    said = {
        "cell": cell,
        "engine": campaign.engine_of(arm),
        "models": [model.model_dump(mode="json") for model in campaign.models_of(arm)],
        "args": campaign.args_of(arm),
        "env": campaign.env_of(arm),
        "shm_size_gib": campaign.shm_size_gib,
        "prove": campaign.arms[arm].prove,
        "gates": campaign.gates_of(arm).model_dump(mode="json"),
        # an arm that failed as it was meant to is done with; once it is meant to run, it is not
        "meant_to_run": campaign.arms[arm].expect != "did_not_run",
        "workload": campaign.workloads[workload].model_dump(mode="json", exclude=_NAMED_BY_THE_CELL),
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
