"""The fingerprint of an arm: a hash of all that makes it that arm. Incomplete facts give no fingerprint."""

from __future__ import annotations

import hashlib
import json

from benchgate.records import LaunchRecord


def parts(launch: LaunchRecord) -> dict[str, object]:
    """The named parts of the fingerprint; None marks a part that is not known.

    Parts that cannot exist are left out: an image on a process host, a GPU and driver on a placement without GPUs,
    a vocabulary where the model needs none, draft models of an arm that has none.
    """
    host = launch.host_facts
    known: dict[str, object] = {
        "engine": launch.engine,
        "engine_version": launch.engine_version,
        "model_id": launch.model_id,
        "model_revision": launch.model_revision,
        "args": launch.args,
        # the values too: VLLM_MXFP4_USE_MARLIN=0 and =1 are two arms
        "env": launch.env,
        "env_names": sorted(launch.env_names),
    }
    if launch.image is not None:
        known["image_digest"] = launch.image_digest
    if launch.draft_revisions:
        known["draft_revisions"] = launch.draft_revisions if all(launch.draft_revisions.values()) else None
    if launch.needs_vocab:
        known["vocab_sha256"] = launch.vocab_sha256
    if launch.gpus:
        known["gpu_model"] = host.gpu_model if host else None
        known["gpu_count"] = len(launch.gpus)
        known["driver"] = host.driver if host else None
    else:
        known["cpu_model"] = host.cpu_model if host else None
        known["cpu_count"] = host.cpu_count if host else None
    return known


def missing(launch: LaunchRecord) -> list[str]:
    """Names of the parts that are not known yet."""
    return [name for name, value in parts(launch).items() if value is None]


def fingerprint(launch: LaunchRecord) -> str | None:
    """``fp1:`` and 32 hex digits of a SHA-256 over the parts in canonical JSON; None while any part is missing."""
    if missing(launch):
        return None
    canonical = json.dumps(parts(launch), sort_keys=True, separators=(",", ":"), default=str)
    return f"fp1:{hashlib.sha256(canonical.encode()).hexdigest()[:32]}"
