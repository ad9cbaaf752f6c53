"""Error rate and error groups.

Formula: error rate = errors / (completed + errors). Requests that the time cap cut off are in neither.
A group holds all errors of one kind, with the first message (cut, secrets masked when it was recorded) and how many
were near the cap.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.records import ErrorGroup
from benchgate.request_record import RequestRecord


def error_rate(completed: int, errors: int) -> float | None:
    """None when nothing finished."""
    finished = completed + errors
    return errors / finished if finished else None


def error_groups(records: Sequence[RequestRecord]) -> list[ErrorGroup]:
    """One group a kind, the most frequent first."""
    by_kind: dict[str, list[RequestRecord]] = {}
    for record in records:
        if record.is_error:
            by_kind.setdefault(record.status, []).append(record)
    groups = [
        ErrorGroup(
            kind=kind,
            count=len(group),
            near_cap=sum(bool(record.near_cap) for record in group),
            sample=next((record.error_message for record in group if record.error_message), ""),
        )
        for kind, group in by_kind.items()
    ]
    return sorted(groups, key=lambda group: (-group.count, group.kind))
