"""Our client and its peers on the same server, the same prompts and the same load, one after another.

    python -m benchmarks.clients install --cache DIR          environments for the peers, outside of this project
    python -m benchmarks.clients load --cache DIR             accuracy and cost under load
    python -m benchmarks.clients faults --cache DIR           what each client counts when streams fail
    python -m benchmarks.clients write                        docs/clients.md out of the results

Server and client run on one core each. Results are appended to a file, so that a long comparison can be done in
parts. It sends load to a server of its own on the loopback interface only.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from benchmarks import prompts, report
from benchmarks.measures import Schedule, compare
from benchmarks.peers import CLIENTS, Client, Load
from benchmarks.peers.base import PeerError
from benchmarks.peers.ours import Ours
from benchmarks.reference_server.process import RunningServer, start
from benchmarks.running import cpu_s, run

ROOT = Path(__file__).resolve().parents[1]
MIXED = "mixed"
FAULTS = [
    *("steady", "role_first", "empty_first", "empty_between", "reasoning", "reasoning_content", "reasoning_only"),
    *("tool_calls", "burst", "usage_every_chunk", "no_usage", "usage_in_finish", "no_done", "joined_events"),
    *("close_after_reply", "crlf", "cr", "multiline", "sse_fields", "comments", "utf8_split", "byte_chunks"),
    *("byte_writes", "http10", "gzip_always", "big_event", "no_stream"),
    *("unlabelled", "plain_text", "early_hints", "head_bytes", "bom", "usage_null", "content_length", "trailers"),
    *("chunk_extensions", "done_then_close", "done_then_hang"),
    *("error_first", "error_mid", "error_before_done", "error_after_finish", "error_object", "error_named_event"),
    *("harmony_first", "harmony_mid", "cut", "cut_clean", "no_finish", "reset", "reset_mid", "close_unanswered"),
    *("empty_completion", "only_done", "bad_json", "bad_chunk", "http_400", "http_429", "http_500", "http_503"),
    *("error_in_200", "html_page", "finish_abort", "short_body", "stall", "stall_first", "stall_silent"),
]
QUIET_S = 12.0  # a client that sends nothing for so long, with requests left, hangs


def main(argv: Sequence[str] | None = None) -> int:
    """Run one part of the comparison."""
    args = _parser().parse_args(argv)
    try:
        return int(_ACTIONS[args.action](args))
    except PeerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    actions = parser.add_subparsers(dest="action", required=True)
    for name in _ACTIONS:
        sub = actions.add_parser(name)
        sub.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "clients.jsonl")
        if name == "write":
            sub.add_argument("--out", type=Path, default=ROOT / "docs" / "clients.md")
            continue
        sub.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "benchgate-peers")
        sub.add_argument("--clients", default=",".join(CLIENTS), help="comma separated (default: all that are there)")
        sub.add_argument("--cores", default="0,1", help="server's core, client's core (default: 0,1)")
        sub.add_argument(
            "--priority",
            action="store_true",
            help="real-time priority for server and client, so that others on the machine give way (needs root)",
        )
        sub.add_argument("--timeout", type=float, default=150.0, help="seconds a client may take")
        if name == "load":
            sub.add_argument("--streams", default=f"1,64,256,1024,{MIXED}", help=f"{MIXED}: 256 of mixed lengths")
            sub.add_argument("--waves", type=int, default=4, help="requests a stream")
            sub.add_argument("--repeats", type=int, default=1)
            sub.add_argument(
                "--tries", type=int, default=1, help="again, while others use the machine; the quietest counts"
            )
            sub.add_argument(
                "--quiet", type=float, default=10.0, help="%% of a core that others may use in a quiet run"
            )
            sub.add_argument("--tokens", type=int, default=128)
            sub.add_argument("--ttft-ms", type=float, default=200.0)
            sub.add_argument("--itl-ms", type=float, default=20.0)
    return parser


def _clients(args: argparse.Namespace) -> list[tuple[Client, str]]:
    """The clients that were asked for and are installed, with their versions."""
    found = []
    for name in args.clients.split(","):
        if name not in CLIENTS:
            raise PeerError(f"there is no client {name!r}; known are {', '.join(CLIENTS)}")
        client = CLIENTS[name](args.cache)
        version = client.installed()
        if version is None:
            print(f"{name}: not installed in {args.cache}, left out", file=sys.stderr)
        else:
            found.append((client, version))
    return found


def _install(args: argparse.Namespace) -> int:
    for name in args.clients.split(","):
        client = CLIENTS[name](args.cache)
        if client.installed() is None:
            client.install()
        print(f"{name} {client.installed()}")
    return 0


def _keep(args: argparse.Namespace, row: dict[str, object]) -> None:
    args.results.parent.mkdir(parents=True, exist_ok=True)
    with args.results.open("a") as file:
        file.write(json.dumps({"at": datetime.now(timezone.utc).isoformat(timespec="seconds"), **row}) + "\n")


def _server(args: argparse.Namespace, *options: str) -> RunningServer:
    return start(*options, prefix=(*_first(args), "taskset", "-c", args.cores.split(",")[0]))


def _first(args: argparse.Namespace) -> tuple[str, ...]:
    """What stands before every command. Round robin: a client of several processes shares its core fairly."""
    return ("chrt", "--rr", "20") if args.priority else ()


def _load(args: argparse.Namespace) -> int:
    clients = _clients(args)
    machine = report.machine()
    with tempfile.TemporaryDirectory(prefix="benchgate-clients-") as folder:
        for repeat in range(args.repeats):
            for name in args.streams.split(","):
                for client, version in clients:
                    one = _quietest(args, client, name, Path(folder))
                    what = {"client": client.name, "version": version, "load": name, "repeat": repeat}
                    _keep(args, {"kind": "load", **what, **one, "priority": args.priority, "machine": machine})
                    print(json.dumps({**what, **one}), flush=True)
    return 0


def _quietest(args: argparse.Namespace, client: Client, name: str, folder: Path) -> dict[str, object]:
    """One run that had the machine to itself; after so many tries the one that nearly had."""
    runs: list[dict[str, object]] = []
    for _ in range(args.tries):
        runs.append(_one_load(args, client, name, folder))
        if float(str(runs[-1].get("others_cpu_percent", 0.0))) <= args.quiet:
            break
    return min(runs, key=lambda one: float(str(one.get("others_cpu_percent", "inf"))))


def _one_load(args: argparse.Namespace, client: Client, name: str, folder: Path) -> dict[str, object]:
    mixed = name == MIXED
    streams = 256 if mixed else int(name)
    count = streams * args.waves if streams > 1 else 4 * args.waves
    tokens = 2 * args.tokens if mixed else args.tokens
    files = folder / f"prompts-{count}-{tokens}"
    if not files.exists():
        prompts.write(files, prompts.make(count), tokens)
    lengths = ["--tokens", f"{args.tokens // 4}:{tokens}"] if mixed else []
    server = _server(args, "--ttft-ms", str(args.ttft_ms), "--itl-ms", str(args.itl_ms), *lengths)
    try:
        load = Load(streams, count, tokens, files, server.base_url)
        out = Path(tempfile.mkdtemp(dir=folder)) / "out"
        out.mkdir()
        before = cpu_s(server.process.pid)
        ran = run(
            [*_first(args), *client.command(load, out)],
            client.environment(),
            core=int(args.cores.split(",")[1]),
            timeout_s=args.timeout,
            log=out.with_suffix(".log"),
            cwd=ROOT if isinstance(client, Ours) else folder,
        )
        server_cpu = cpu_s(server.process.pid) - before
        truth = server.truth()
    finally:
        server.stop()
    if ran.code != 0:
        ended = "was ended after its time" if ran.code is None else f"exit code {ran.code}"
        return {"failed": f"{ended}; {len(truth)} of {count} requests were sent"}
    try:
        reading = client.read(out)
    except (PeerError, KeyError, ValueError) as error:
        return {"failed": f"no result: {error}"}
    schedule = Schedule(args.ttft_ms / 1000, args.itl_ms / 1000)
    return asdict(compare(load, schedule, reading, ran, truth, server_cpu))


def _faults(args: argparse.Namespace) -> int:
    clients = _clients(args)
    with tempfile.TemporaryDirectory(prefix="benchgate-clients-") as folder:
        for client, version in clients:
            found = _fault_table(args, client, Path(folder))
            row = {"kind": "faults", "client": client.name, "version": version, "scenarios": found}
            _keep(args, {**row, "machine": report.machine()})
            print(f"{client.name}: {sum(one['counted'] == 'ok' for one in found.values())} counted as completed")
    return 0


def _fault_table(args: argparse.Namespace, client: Client, folder: Path) -> dict[str, dict[str, object]]:
    """Every scenario once, one after another in one run. Where the client hangs, again without what hung it."""
    names, hung = list(FAULTS), dict[str, dict[str, object]]()
    while names:
        found, at = _fault_run(args, client, names, folder)
        if at is None:
            return {name: found.get(name) or hung.get(name) or {"counted": "no row"} for name in FAULTS}
        print(f"{client.name}: hangs on {at}", flush=True)
        hung[at] = {"counted": "hangs"}
        names.remove(at)
    return hung


def _fault_run(
    args: argparse.Namespace, client: Client, names: Sequence[str], folder: Path
) -> tuple[dict[str, dict[str, object]], str | None]:
    """(what it counted, the scenario on which it hung)."""
    tokens = 16
    files = Path(tempfile.mkdtemp(dir=folder))
    # inference-perf skips the first prompt of a file: it is there twice for everyone
    prompts.write(files, prompts.make(len(names) + 1, scenarios=[names[0], *names]), tokens)
    out = Path(tempfile.mkdtemp(dir=folder)) / "out"
    out.mkdir()
    server = _server(args, "--ttft-ms", "60", "--itl-ms", "10", "--scenario-in-prompt")
    try:
        load = Load(1, len(names) + 1, tokens, files, server.base_url)
        ran = run(
            [*_first(args), *client.command(load, out), *client.patience()],
            client.environment(),
            core=int(args.cores.split(",")[1]),
            timeout_s=args.timeout,
            log=out.with_suffix(".log"),
            cwd=ROOT if isinstance(client, Ours) else folder,
            stuck=_Quiet(server, len(names) + 1),
        )
        truth = server.truth()
    finally:
        server.stop()
    if ran.code is None:
        return {}, truth[-1].scenario if truth else names[0]
    try:
        reading = client.read(out)
    except (PeerError, KeyError, ValueError, TypeError) as error:
        last = out.with_suffix(".log").read_text(errors="replace").strip().splitlines()[-1:] or [""]
        return {name: {"counted": "no result", "note": f"{error}: {last[0][:120]}"} for name in names}, None
    found: dict[str, dict[str, object]] = {}
    for number, name in enumerate([names[0], *names]):
        sent = [one for one in truth if one.scenario == name]
        row = client.row_of(number, sent, reading)
        if row is None:
            continue
        true = sent[-1] if sent else None
        found[name] = {
            "counted": "ok" if row.ok else "error",
            "tokens": row.tokens,
            "true_tokens": true.completion_tokens if true else None,
            "ttft_ms": row.ttft_ms,
            "true_ttft_ms": true.ttft_s * 1000 if true and true.ttft_s is not None else None,
            "note": row.note[:200],
        }
    return found, None


class _Quiet:
    """Whether the server has heard nothing new for long; longer when all was sent, and the client only has to end."""

    def __init__(self, server: RunningServer, requests: int) -> None:
        self.server = server
        self.requests = requests
        self.seen, self.since, self.looked = 0, time.monotonic(), 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self.looked < 1.0:
            return False
        self.looked = now
        lines = self.server.get("/metrics").decode().splitlines()
        tokens = next(line for line in lines if line.startswith("vllm:prompt_tokens_total")).split()[-1]
        sent = int(tokens) // prompts.WORDS_A_PROMPT
        if sent != self.seen:
            self.seen, self.since = sent, now
        return sent > 0 and now - self.since > (QUIET_S if sent < self.requests else 5 * QUIET_S)


def _write(args: argparse.Namespace) -> int:
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(report.render([json.loads(line) for line in args.results.read_text().splitlines()]))
    print(f"wrote {args.out}")
    return 0


_ACTIONS = {"install": _install, "load": _load, "faults": _faults, "write": _write}

if __name__ == "__main__":
    raise SystemExit(main())
