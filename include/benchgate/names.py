"""The one place that builds keys, ids, container names and labels."""

from __future__ import annotations

import hashlib
import re

LABEL_PREFIX = "io.benchgate"
LABEL_OWNER = f"{LABEL_PREFIX}.owner"  # "benchgate": what is not labelled so is never touched
LABEL_CAMPAIGN = f"{LABEL_PREFIX}.campaign"
LABEL_RUN = f"{LABEL_PREFIX}.run"
LABEL_ARM = f"{LABEL_PREFIX}.arm"
LABEL_PLACEMENT = f"{LABEL_PREFIX}.placement"
LABEL_CREATED = f"{LABEL_PREFIX}.created"  # UTC, ISO 8601
LABEL_ROLE = f"{LABEL_PREFIX}.role"  # server | client | seeder
OWNER = "benchgate"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")

_CELL_KEY = re.compile(r"([^@/]+)@([^@/]+)/([^@/]+)/([^@/]+)/(?:u(\d+)|q([0-9.e+-]+))/r(\d+)")


def slug(text: str) -> str:
    """``text`` as one safe path segment or container-name part: unsafe runs become one ``-``."""
    return _UNSAFE.sub("-", text).strip("-.") or "x"


def run_key(campaign: str, run_id: str) -> str:
    """The id of a campaign run, unique over all campaigns; used as artifact folder and warehouse key."""
    return f"{slug(campaign)}.{slug(run_id)}"


def launch_key(arm: str, host: str, placement: str) -> str:
    """The stable name of a launch within a run: the same every night, so that a cell has a history."""
    return f"{arm}@{host}/{placement}"


def load_label(users: int | None, request_rate: float | None) -> str:
    """``u64`` for 64 closed-loop users, ``q2.5`` for 2.5 requests/s in an open loop."""
    return f"u{users}" if users is not None else f"q{request_rate:g}"


def cell_key(launch: str, workload: str, users: int | None, request_rate: float | None, repeat: int) -> str:
    """The stable name of a cell within a run. ``repeat`` counts from 1."""
    return f"{launch}/{workload}/{load_label(users, request_rate)}/r{repeat}"


def parse_cell_key(cell: str) -> tuple[str, str, str, str, int | None, float | None, int]:
    """The parts of a :func:`cell_key`: arm, host, placement, workload, users, request rate, repeat.

    Raises:
        ValueError: ``cell`` was not made by :func:`cell_key`.
    """
    match = _CELL_KEY.fullmatch(cell)
    if match is None:
        raise ValueError(f"{cell!r} is no cell key: arm@host/placement/workload/load/repeat")
    arm, host, placement, workload, users, rate, repeat = match.groups()
    return arm, host, placement, workload, int(users) if users else None, float(rate) if rate else None, int(repeat)


def launch_group(arm: str, host: str, placement: str) -> str:
    """Task group of a launch in its campaign's DAG."""
    return slug(f"{arm}--{host}--{placement}").replace(".", "-")


def measure_task(workload: str, load: str, repeat: int) -> str:
    """Task, within its launch's group, that measures a cell; ``load`` is its :func:`load_label`."""
    return f"measure_{workload}_{load.replace('.', '_')}_r{repeat}"


def stable_id(*parts: str) -> int:
    """A positive 63-bit id that depends only on ``parts``: loading the same run twice meets the same rows.

    BLAKE2b over the parts with a separator that cannot occur in them; collisions are negligible at warehouse sizes.
    """
    digest = hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def lease_name(host: str, placement: str) -> str:
    """The fixed name of the server that occupies a placement: creating it twice is refused by the host, atomically."""
    return f"benchgate-{slug(host)}-{slug(placement)}"


def client_name(host: str, placement: str) -> str:
    """Container name of the load generator that measures the server on a placement."""
    return f"{lease_name(host, placement)}-client"


def model_volume(model: str, digest: str | None) -> str:
    """Volume that a Docker host keeps a model in; ``digest`` is that of its content, with or without ``sha256:``."""
    return f"benchgate-model-{slug(model)}-{slug((digest or 'x').split(':')[-1][:12])}"


def model_target(model: str) -> str:
    """Where a server in a container finds a model that was seeded."""
    return f"/models/{slug(model)}"


def labels(*, campaign: str, run: str, arm: str, placement: str, role: str, created: str) -> dict[str, str]:
    """Labels of everything that Benchgate creates on a host; the reaper knows its own by them."""
    return {
        LABEL_OWNER: OWNER,
        LABEL_CAMPAIGN: campaign,
        LABEL_RUN: run,
        LABEL_ARM: arm,
        LABEL_PLACEMENT: placement,
        LABEL_ROLE: role,
        LABEL_CREATED: created,
    }
