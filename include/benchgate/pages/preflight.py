"""What preflight found before a launch, as its task kept it."""

from __future__ import annotations

from dataclasses import dataclass

from benchgate.artifacts import RunStore
from benchgate.errors import DamagedArtifact
from benchgate.secrets import mask


@dataclass(frozen=True)
class Finding:
    """One thing that preflight looked at."""

    check: str
    ok: bool
    message: str
    remedy: str | None
    removed: tuple[str, ...]


def preflight_of(store: RunStore, launch: str) -> tuple[Finding, ...]:
    """What preflight found before a launch; empty when it was not kept (any more)."""
    try:
        written = store.read_json(store.launch_path(launch, "preflight.json"))
    except DamagedArtifact:
        return ()
    return tuple(
        Finding(
            check=str(one.get("check")),
            ok=bool(one.get("ok")),
            message=mask(str(one.get("message"))),
            remedy=None if one.get("remedy") is None else mask(str(one["remedy"])),
            removed=tuple(str(what) for what in one.get("removed") or ()),
        )
        for one in written or ()
        if isinstance(one, dict)
    )
