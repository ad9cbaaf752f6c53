"""``python -m benchmarks.reference_server --port 8000 --scenario steady``."""

from __future__ import annotations

import argparse
import resource
import signal
import sys
from pathlib import Path

from benchmarks.reference_server import scenarios, truth
from benchmarks.reference_server.scenarios import replay
from benchmarks.reference_server.schedule import ScheduleError, Settings
from benchmarks.reference_server.server import Options, ReferenceServer

EPILOG = """A request may choose for itself: by its model name (stall, or steady:ttft_ms=50,itl_ms=5,tokens=8, or
replay:CAPTURE), or by a field "simulate" of its body: {"scenario", "ttft_ms", "itl_ms", "tokens", "offsets_ms",
"tokens_per_event", "finish_reason", "at_token", "text"}. GET /truth says what was written when; DELETE /truth
forgets it."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reference_server", description=__doc__, epilog=EPILOG)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free port; the first line printed names it")
    parser.add_argument("--scenario", default="steady", help="for requests that name none; --list shows all")
    parser.add_argument("--list", action="store_true", help="print every scenario and capture, and exit")
    parser.add_argument("--ttft-ms", default="200", help="a number, or LOW:HIGH drawn by the prompt's text")
    parser.add_argument("--itl-ms", default="20", help="a number, or LOW:HIGH")
    parser.add_argument("--tokens", help="a number, or LOW:HIGH, at most max_tokens; without it, max_tokens")
    parser.add_argument("--truth", type=Path, help="write the truth here at the end (.json or .parquet)")
    parser.add_argument("--max-model-len", type=int, default=Options.max_model_len)
    parser.add_argument("--api-key", help="refuse requests without this key")
    parser.add_argument("--accept-delay-ms", type=float, default=0.0, help="slow accept")
    parser.add_argument("--backlog", type=int, default=Options.backlog, help="length of the accept queue")
    parser.add_argument("--scenario-in-prompt", action="store_true", help='a prompt may say "scenario=NAME"')
    parser.add_argument("--idle-close-ms", type=float, help="close kept-alive connections that are idle this long")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    args = _parser().parse_args(argv)
    if args.list:
        for name, scenario in scenarios.BY_NAME.items():
            print(f"{name:26} {(scenario.__doc__ or '').splitlines()[0]}")
        print("\n".join(f"replay:{name}" for name in replay.names()))
        return 0
    try:
        if not scenarios.known(args.scenario):
            raise ScheduleError(f"there is no scenario {args.scenario!r}; --list shows all")
        given = {"scenario": args.scenario, "ttft_ms": args.ttft_ms, "itl_ms": args.itl_ms}
        settings = Settings().changed(given | ({"tokens": args.tokens} if args.tokens else {}))
        options = Options(
            settings,
            args.max_model_len,
            args.api_key,
            args.accept_delay_ms,
            args.backlog,
            args.idle_close_ms,
            args.scenario_in_prompt,
        )
        server = ReferenceServer(args.host, args.port, options)
    except (ScheduleError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # one file a stream
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    host = f"[{args.host}]" if ":" in args.host else args.host
    print(f"simulated server on http://{host}:{server.port}", flush=True)
    server.run()
    if args.truth:
        truth.write(args.truth, server.truth)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
