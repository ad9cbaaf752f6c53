"""docs/clients.md, out of measured results only. A number that was not measured is a dash."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
DASH = "–"
TEXT = Path(__file__).with_name("clients_page.md")
BUSY = 10.0  # % of a core used by others: a run above it is named
EARLY_MS = 10.0  # a TTFT this much before the first token was written is another event's
# Scenarios of which every token arrives: counting them as anything but a success, or with other tokens, is wrong.
COMPLETE = {
    *("steady", "role_first", "empty_first", "empty_between", "reasoning", "reasoning_content", "reasoning_only"),
    *("tool_calls", "burst", "usage_every_chunk", "no_usage", "usage_in_finish", "no_done", "joined_events"),
    *("close_after_reply", "crlf", "cr", "multiline", "sse_fields", "comments", "utf8_split", "byte_chunks"),
    *("byte_writes", "http10", "gzip_always", "big_event", "no_stream"),
    *("unlabelled", "plain_text", "early_hints", "head_bytes", "bom", "usage_null", "content_length", "trailers"),
    *("chunk_extensions", "done_then_close", "done_then_hang"),
}


def machine() -> dict[str, str]:
    """What the comparison ran on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = sum(line.startswith("processor") for line in lines)
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": str(cores),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def render(rows: Sequence[Row]) -> str:
    """The page: the text beside this file, with the tables of the results.

    Loads of kind ``load_elsewhere`` were measured on another machine and stand apart from the comparison.
    """
    elsewhere = [row for row in rows if row["kind"] == "load_elsewhere"]
    rows = [row for row in rows if row["kind"] != "load_elsewhere"]
    loads = [row for row in rows if row["kind"] == "load"]
    faults = {row["client"]: row for row in rows if row["kind"] == "faults"}  # the last of each
    return TEXT.read_text().format(
        machine=_machine_words(rows),
        versions=_versions(rows),
        accuracy=_accuracy(loads),
        cost=_cost(loads),
        floor=_floor([row for row in rows if row["kind"] == "floor"]),
        floor_c=_floor_c([row for row in rows if row["kind"] == "floor_c"]),
        elsewhere=_elsewhere(elsewhere),
        runs=_runs(loads),
        faults=_faults(faults),
        score=_score(faults),
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*out, *("| " + " | ".join(line) + " |" for line in lines)])


def _machine_words(rows: Sequence[Row]) -> str:
    seen = {tuple(sorted(row["machine"].items())) for row in rows}
    return "; ".join(", ".join(f"{name} {value}" for name, value in one) for one in sorted(seen))


def _versions(rows: Sequence[Row]) -> str:
    found = dict.fromkeys(f"{row['client']} {row['version']}" for row in rows if "client" in row)
    days = sorted({row["at"][:10] for row in rows})
    return f"{', '.join(found)}; measured {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else "")


def _names(rows: Sequence[Row], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _loads(rows: Sequence[Row]) -> list[str]:
    return sorted(_names(rows, "load"), key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0))


def _median(rows: Sequence[Row], client: str, load: str, key: str) -> float | None:
    values = [row[key] for row in rows if (row["client"], row["load"]) == (client, load) and row.get(key) is not None]
    return statistics.median(values) if values else None


def _number(value: float | None, digits: int, *, sign: bool = False) -> str:
    if value is None:
        return DASH
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def _across(rows: Sequence[Row], client: str, key: str, digits: int, *, sign: bool = False) -> str:
    return " / ".join(_number(_median(rows, client, load, key), digits, sign=sign) for load in _loads(rows))


def _accuracy(rows: Sequence[Row]) -> str:
    head = ["client", "TTFT p50, ms", "TTFT p99, ms", "TPOT p50, %", "throughput, %", "its own verdict"]
    lines = []
    for client in _names(rows, "client"):
        said = [row["said"] for row in rows if row["client"] == client and row.get("said")]
        failed = [f"{row['load']}: {row['failed']}" for row in rows if row["client"] == client and row.get("failed")]
        lines.append(
            (
                client,
                _across(rows, client, "ttft_p50_error_ms", 2, sign=True),
                _across(rows, client, "ttft_p99_error_ms", 2, sign=True),
                _across(rows, client, "tpot_p50_error_percent", 3, sign=True),
                _across(rows, client, "throughput_error_percent", 2, sign=True),
                "; ".join(dict.fromkeys([*said, *failed])) or DASH,
            )
        )
    return f"At {' / '.join(_loads(rows))} streams:\n\n" + _table(head, lines)


def _cost(rows: Sequence[Row]) -> str:
    head = ["client", "CPU, us a token", "share of the ideal load, %", "start-up, s", "peak memory, MiB"]
    lines = [
        (
            client,
            _across(rows, client, "cpu_us_per_token", 1),
            _across(rows, client, "share_of_ideal_percent", 1),
            _across(rows, client, "startup_s", 2),
            _across(rows, client, "peak_mib", 0),
        )
        for client in _names(rows, "client")
    ]
    return f"At {' / '.join(_loads(rows))} streams:\n\n" + _table(head, lines)


def _floor_c(rows: Sequence[Row]) -> str:
    used = sorted(row["cpu_us_per_token"] for row in rows)
    return f"{used[0]:.0f} to {used[-1]:.0f} us ({len(used)} runs)" if used else DASH


def _floor(rows: Sequence[Row]) -> str:
    """What a receiver that parses nothing needs, and how late it reads."""
    keys = ("ttft_p50_error_by_kernel_ms", "ttft_p50_error_by_own_ms", "cpu_us_per_token")
    lines = []
    for load in _loads(rows):
        values = [statistics.median(row[key] for row in rows if row["load"] == load) for key in keys]
        lines.append((load, _number(values[0], 2, sign=True), _number(values[1], 2, sign=True), _number(values[2], 1)))
    head = ["streams", "TTFT p50 error by the kernel's time, ms", "by its own time, ms", "CPU, us a token"]
    return _table(head, lines) if lines else "It was not run here."


def _elsewhere(rows: Sequence[Row]) -> str:
    """Our client alone, on a machine that nobody else used."""
    if not rows:
        return "It was not measured elsewhere."
    return f"Machine: {_machine_words(rows)}.\n\n{_accuracy(rows)}\n\n{_cost(rows)}"


def _runs(rows: Sequence[Row]) -> str:
    """How many runs there were, and who else used the machine meanwhile."""
    lines = []
    for client in _names(rows, "client"):
        own = [row for row in rows if row["client"] == client and "failed" not in row]
        if not own:
            continue
        counts = sorted({sum(row["load"] == load for row in own) for load in _loads(own)})
        first = sum(bool(row.get("priority")) for row in own)
        others = [row["others_cpu_percent"] for row in own]
        share = f"{min(others):.0f} to {max(others):.0f} % of a core" if max(others) > BUSY else DASH
        lines.append((client, " or ".join(map(str, counts)), f"{first} of {len(own)}", share))
    late = [row["server_late_p99_ms"] for row in rows if row.get("server_late_p99_ms") is not None]
    text = "Where there are several runs, the median is shown."
    if late:
        text += f" The server itself wrote up to {max(late):.1f} ms late (p99, worst run); the truth is when it wrote."
    head = ["client", "runs of each load", "with real-time priority", "used by others meanwhile"]
    return text + "\n\n" + _table(head, lines)


def _faults(found: dict[str, Row]) -> str:
    clients = list(found)
    scenarios = list(dict.fromkeys(name for row in found.values() for name in row["scenarios"]))
    lines = [
        [f"`{name}`", *(_cell(name, found[client]["scenarios"].get(name)) for client in clients)] for name in scenarios
    ]
    return _table(["scenario", *clients], lines)


def is_right(name: str, one: Row) -> bool | None:
    """Whether a client counted a scenario as it was; None when it gave no row to judge."""
    counted = one["counted"]
    if counted in ("no row", "no result"):
        return None
    if name not in COMPLETE:
        return bool(counted == "error")
    if counted != "ok":
        return False
    if one.get("tokens") not in (None, one.get("true_tokens")):  # no count is no wrong count
        return False
    reported, true = one.get("ttft_ms"), one.get("true_ttft_ms")
    return reported is None or true is None or reported > true - EARLY_MS


def _cell(name: str, one: Row | None) -> str:
    if one is None:
        return DASH
    counted = str(one["counted"])
    if counted == "ok":
        tokens = DASH if one.get("tokens") is None else one["tokens"]
        counted = f"ok, {tokens} of {one.get('true_tokens')}"
        reported, true = one.get("ttft_ms"), one.get("true_ttft_ms")
        if reported is not None and true is not None and reported <= true - EARLY_MS:
            counted += f", TTFT {reported:.0f} not {true:.0f} ms"
    right = is_right(name, one)
    return f"**{counted}**" if right is False else counted


def _score(found: dict[str, Row]) -> str:
    parts = []
    for client, row in found.items():
        judged = [is_right(name, one) for name, one in row["scenarios"].items()]
        known = [one for one in judged if one is not None]
        parts.append(f"{client} {sum(known)} of {len(known)}")
    return ", ".join(parts)
