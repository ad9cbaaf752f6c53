"""Draft models of an arm: their ids in its arguments become paths, and their revisions part of its fingerprint."""

from __future__ import annotations

from typing import Any

from benchgate import fingerprint
from benchgate.steps.server_request import with_draft_paths
from tests.support import runs

EAGLE = "nvidia/gpt-oss-120b-Eagle3"
PATHS = {EAGLE: "/models/eagle"}


def test_the_id_becomes_the_path_also_inside_a_mapping_or_a_list() -> None:
    args: dict[str, Any] = {
        "speculative-config": {"method": "eagle3", "model": EAGLE, "num_speculative_tokens": 3},
        "speculative-draft-model-path": EAGLE,
        "some-list": [EAGLE, 4],
        "max-model-len": 131072,
        "served": f"{EAGLE}-other",
    }

    assert with_draft_paths(args, PATHS) == {
        "speculative-config": {"method": "eagle3", "model": "/models/eagle", "num_speculative_tokens": 3},
        "speculative-draft-model-path": "/models/eagle",
        "some-list": ["/models/eagle", 4],
        "max-model-len": 131072,
        "served": f"{EAGLE}-other",
    }
    assert args["speculative-config"]["model"] == EAGLE  # the campaign's own is not changed


def test_another_draft_revision_is_another_arm_and_an_unknown_one_is_no_arm() -> None:
    planned = runs.ledger_of(runs.campaign()).launches[0]

    def of(**drafts: str | None) -> str | None:
        return fingerprint.fingerprint(runs.launch_record(planned, draft_revisions=drafts))

    assert of(eagle="a" * 40) != of(eagle="b" * 40)
    assert of(eagle="a" * 40) != of()
    assert of(eagle=None) is None
    assert fingerprint.missing(runs.launch_record(planned, draft_revisions={"eagle": None})) == ["draft_revisions"]
