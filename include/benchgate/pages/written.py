"""What the pages need of the campaign file as it was for a run: orders, the baseline, what comes before measuring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Written:
    """The campaign file, as far as it can be read. Everything is empty when it cannot."""

    arms: Sequence[str] = ()
    workloads: Sequence[str] = ()
    baseline: str | None = None
    description: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)  # arm -> why it is there
    needles: frozenset[str] = frozenset()  # arms whose launches are asked for needles before they are measured

    def by_arm(self, arm: str) -> tuple[int, str]:
        """Sort key: the file's order, then the name."""
        return (list(self.arms).index(arm) if arm in self.arms else len(self.arms), arm)

    def by_workload(self, workload: str) -> tuple[int, str]:
        """Sort key: the file's order, then the name."""
        known = list(self.workloads)
        return (known.index(workload) if workload in known else len(known), workload)


def read_written(text: str) -> Written:
    """Read a campaign file's text; a text that cannot be read (an imported run has none) gives an empty one."""
    try:
        value = yaml.load(text, Loader=_LOADER)  # noqa: S506  one of the two safe loaders
    except yaml.YAMLError:
        return Written()
    if not isinstance(value, dict):
        return Written()
    arms = _mapping(value.get("arms"))
    common = _mapping(value.get("gates")).get("needle") is not None
    own = {name: _mapping(arm).get("gates") for name, arm in arms.items()}
    asked = {n for n, gates in own.items() if (common if gates is None else _mapping(gates).get("needle") is not None)}
    notes = {name: str(note) for name, arm in arms.items() if (note := _mapping(arm).get("note"))}
    return Written(
        arms=tuple(arms),
        workloads=tuple(_mapping(value.get("workloads"))),
        baseline=str(value["baseline"]) if value.get("baseline") else None,
        description=str(value.get("description") or "").strip(),
        notes=notes,
        needles=frozenset(asked),
    )


def _mapping(value: object) -> dict[str, Any]:
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}
