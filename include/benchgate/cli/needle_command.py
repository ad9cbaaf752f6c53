"""``python -m benchgate needle``: the needle check against a server that is already running."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchgate import secrets


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--base-url", required=True, help="for example http://localhost:8000")
    parser.add_argument("--model", required=True, help="the served model name")
    parser.add_argument("--context-tokens", type=int, default=4096, help="prompt plus answer room, in tokens")
    parser.add_argument("--depths", default="0.1,0.5,0.9", help="where the facts stand: 0 is the start, 1 the end")
    parser.add_argument("--max-tokens", type=int, default=256, help="answer room for each needle")
    parser.add_argument("--max-seconds", type=float, default=600, help="time limit for each needle")
    parser.add_argument("--seed", type=int, help="the same documents again (default: new ones every time)")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", help="environment variable that holds the API key")
    parser.add_argument("--output", type=Path, help="write the results as JSON to this file")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """0 when every needle was found, 1 otherwise."""
    import requests

    from benchgate.errors import BenchgateError
    from benchgate.needle.check import NeedleRequest, run_needle_check
    from benchgate.records import NeedleResult

    try:
        depths = [float(part) for part in args.depths.split(",")]
        if not all(0 <= depth <= 1 for depth in depths):
            raise ValueError
    except ValueError:
        raise BenchgateError(
            f"--depths {args.depths!r} is not a list of numbers from 0 to 1", remedy="for example --depths 0.1,0.5,0.9"
        ) from None
    session = requests.Session()
    key = os.environ.get(args.api_key_env)
    if key:
        secrets.register(key)
        session.headers["Authorization"] = f"Bearer {key}"
    base = args.base_url.rstrip("/").removesuffix("/v1")

    def post(path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        answer = session.post(base + path, data=body, headers={"Content-Type": "application/json"}, timeout=timeout)
        return answer.status_code, answer.content

    def show(result: NeedleResult) -> None:
        if not args.json:
            tokens = "?" if result.context_tokens is None else result.context_tokens
            said = result.answered or f"{result.error_kind}: {result.error_message}"
            mark = "found" if result.found else "NOT FOUND"
            print(f"depth {result.depth:<5g} {tokens:>8} tokens  {mark:<9}  expected {result.expected}  {said[:120]!r}")

    try:
        session.get(base + "/v1/models", timeout=10)
    except requests.RequestException as error:
        raise BenchgateError(
            f"no server answers at {base}: {type(error).__name__}", remedy="start it, or correct --base-url"
        ) from None
    check = run_needle_check(
        NeedleRequest(args.model, args.context_tokens, depths, args.max_tokens, args.max_seconds, args.seed),
        post,
        on_result=show,
    )
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(check.model_dump_json(indent=1))
    if args.json:
        print(json.dumps({"passed": check.passed, "found": check.found, **check.model_dump()}, indent=1))
    else:
        print(f"needle check {check.found}/{len(check.results)}: {'passed' if check.passed else 'FAILED'}")
    return 0 if check.passed else 1
