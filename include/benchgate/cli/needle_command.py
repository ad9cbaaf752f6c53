"""``python -m benchgate needle``: the needle check against a server that is already running."""

from __future__ import annotations

import argparse
import json

from benchgate import secrets
from benchgate.cli.options import MOST_TOKENS, new_file, number, output_file, whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add = parser.add_argument
    add("--base-url", required=True, metavar="URL", help="for example http://localhost:8000")
    add("--model", required=True, metavar="ID", help="the served model name")
    tokens = whole(at_least=1, at_most=MOST_TOKENS)
    add("--context-tokens", type=tokens, default=4096, metavar="N", help="prompt plus answer room, in tokens (4096)")
    add(
        "--depths",
        type=_depths,
        default=[0.1, 0.5, 0.9],
        metavar="LIST",
        help="0 is the start, 1 the end (0.1,0.5,0.9)",
    )
    add("--max-tokens", type=tokens, default=256, metavar="N", help="answer room for each needle (256)")
    seconds = number(above=0, at_most=86_400)
    add("--max-seconds", type=seconds, default=600.0, metavar="S", help="time limit for each needle (600)")
    add("--seed", type=whole(), metavar="N", help="the same documents again (default: new ones every time)")
    add("--api-key-env", metavar="NAME", help="variable that holds the API key (default: OPENAI_API_KEY, if it is set)")
    add("--output", type=new_file, metavar="FILE", help="write the results as JSON to this file")
    add("--json", action="store_true", help="print JSON instead of a table")


def _depths(text: str) -> list[float]:
    try:
        depths = [float(part) for part in text.split(",")]
    except ValueError:
        depths = []
    if not depths or not all(0 <= depth <= 1 for depth in depths):
        raise argparse.ArgumentTypeError(f"must be numbers from 0 to 1, for example 0.1,0.5,0.9; not {text!r}")
    return depths


def run(args: argparse.Namespace) -> int:
    """0 when every needle was found, 1 otherwise."""
    import requests

    from benchgate.cli.bench_options import api_key_of
    from benchgate.client.wire.target import parse_target
    from benchgate.errors import BenchgateError
    from benchgate.needle.check import NeedleRequest, run_needle_check
    from benchgate.records import NeedleResult

    parse_target(args.base_url)  # tells what is no address
    session = requests.Session()
    key = api_key_of(args.api_key_env)
    if key:
        secrets.register(key)
        session.headers["Authorization"] = f"Bearer {key}"
    base = args.base_url.rstrip("/").removesuffix("/v1")

    def post(path: str, body: bytes, timeout: float) -> tuple[int, bytes]:
        try:
            answer = session.post(base + path, data=body, headers={"Content-Type": "application/json"}, timeout=timeout)
        except requests.RequestException as error:
            raise BenchgateError(in_words(error, timeout)) from None
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
            f"no server answers at {base}: {in_words(error, 10)}", remedy="start it, or correct --base-url"
        ) from None
    check = run_needle_check(
        NeedleRequest(args.model, args.context_tokens, args.depths, args.max_tokens, args.max_seconds, args.seed),
        post,
        on_result=show,
    )
    if args.output:
        with output_file(args.output) as aside:
            aside.write_text(check.model_dump_json(indent=1) + "\n")
    if args.json:
        print(json.dumps({"passed": check.passed, "found": check.found, **check.model_dump()}, indent=1))
    else:
        print(f"needle check {check.found}/{len(check.results)}: {'passed' if check.passed else 'FAILED'}")
    return 0 if check.passed else 1


def in_words(error: Exception, timeout: float) -> str:
    """What went wrong with a request, without the names of Python's classes."""
    import requests

    if isinstance(error, requests.Timeout):
        return f"timed out after {timeout:g} s"
    if isinstance(error, requests.exceptions.SSLError):
        return f"its certificate or protocol was refused: {_last_cause(error)}"
    if isinstance(error, requests.ConnectionError):
        return _last_cause(error)
    return " ".join(str(error).split())


def _last_cause(error: BaseException) -> str:
    """The innermost reason, as the system says it (``Connection refused``)."""
    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    while isinstance(reason, BaseException) and isinstance(reason.__cause__, OSError):
        reason = reason.__cause__
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return " ".join(str(reason).split()).rpartition(">: ")[2] or "the connection failed"
