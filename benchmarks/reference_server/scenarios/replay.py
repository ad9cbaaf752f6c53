"""Real captures, replayed with the times at which each line arrived: ``replay:FILE`` where FILE is a capture's name.

A capture is a JSON file with ``status``, ``headers`` and ``sse_timeline_ms_bytes`` ([ms, bytes of the line] for every
line that is not empty) beside the body's bytes in ``NAME.body.sse``; a body without times is sent at a steady pace.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.reference_server import frames
from benchmarks.reference_server.reply import CLOSE, STREAM_HEAD, Reply, Request, Step
from benchmarks.reference_server.schedule import ScheduleError

CAPTURES = Path(__file__).parents[3] / "tests" / "fixtures" / "streams"


def names(folder: Path = CAPTURES) -> list[str]:
    """The captures that can be replayed."""
    return sorted(path.name.removesuffix(".body.sse") for path in folder.glob("*.body.sse"))


def bearing(event: bytes) -> tuple[int, str | None]:
    """(1, channel) if an event of a capture carries text, else (0, None). The token count is the usage's business."""
    payload = b"\n".join(line[5:].strip() for line in event.splitlines() if line.startswith(b"data:"))
    try:
        choices = json.loads(payload).get("choices") or []
    except (ValueError, AttributeError):
        return 0, None
    for choice in choices:
        delta = choice.get("delta") or {}
        for channel in ("content", "reasoning", "reasoning_content"):
            if delta.get(channel):
                return 1, channel
        for call in delta.get("tool_calls") or []:
            if (call.get("function") or {}).get("arguments"):
                return 1, "tool"
        if choice.get("text"):
            return 1, "content"
    return 0, None


def _usage_tokens(body: bytes) -> int | None:
    """completion_tokens of the last usage in a body."""
    found = None
    for line in body.splitlines():
        if line.startswith(b"data: {"):
            usage = json.loads(line[6:]).get("usage") or {}
            found = usage.get("completion_tokens", found)
    return found


def replay(request: Request, name: str, folder: Path = CAPTURES) -> Reply:
    """The capture ``name``, each event at the time at which its last line arrived."""
    if name not in names(folder):
        raise ScheduleError(f"there is no capture {name!r}; known are {', '.join(names(folder))}")
    body = (folder / f"{name}.body.sse").read_bytes()
    meta_file = folder / f"{name}.meta.json"
    times: list[float] = []
    if meta_file.exists():
        times = [ms / 1000 for ms, _ in json.loads(meta_file.read_text()).get("sse_timeline_ms_bytes") or []]
    schedule = request.schedule
    gap = schedule.offsets_s[1] - schedule.offsets_s[0] if len(schedule.offsets_s) > 1 else 0.0
    steps, line = [Step(0.0, STREAM_HEAD)], 0
    for i, event in enumerate(part + b"\n\n" for part in body.split(b"\n\n") if part.strip()):
        line += sum(1 for text in event.splitlines() if text.strip())
        at = times[min(line, len(times)) - 1] if times else schedule.ttft_s + i * gap
        tokens, channel = bearing(event)
        steps.append(Step(at, frames.http_chunk(event), tokens, channel))
    whole = body.rstrip().endswith(b"data: [DONE]")
    if whole:
        steps.append(Step(steps[-1].offset_s, frames.LAST_CHUNK))
    return Reply(steps, "keep" if whole else CLOSE, completion_tokens=_usage_tokens(body))
