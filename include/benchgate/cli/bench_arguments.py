"""The command line of ``benchgate bench``."""

from __future__ import annotations

import argparse

from benchgate.cli.bench_options import API_KEY
from benchgate.cli.options import MOST_TOKENS, MOST_USERS, number, whole
from benchgate.client.config import ARRIVALS, ENDPOINTS, PROBES
from benchgate.client.progress import MODES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options; where other clients have another name for the same thing, that name works as well."""
    add = parser.add_argument
    add("--base-url", required=True, metavar="URL", help="the server, e.g. http://127.0.0.1:8000 (with or without /v1)")
    add("--model", metavar="ID", help="model name to send (default: the first that the server lists)")
    add("--endpoint", default="chat", choices=ENDPOINTS, help="chat or completions (default: %(default)s)")
    add("--api-key-env", metavar="NAME", help=f"variable that holds the API key (default: {API_KEY}, if it is set)")
    add("--ca-file", metavar="PEM", help="certificates to trust for https (default: the system's)")

    _what_is_sent(parser.add_argument_group("what is sent"))
    _load(parser.add_argument_group("load"))
    _result(parser.add_argument_group("result"))


def _what_is_sent(group: argparse._ArgumentGroup) -> None:
    add, tokens = group.add_argument, whole(at_most=MOST_TOKENS)
    add("--dataset", "--dataset-path", default="synthetic", metavar="synthetic|FILE", help="ShareGPT file or synthetic")
    add(
        "--prompt-tokens",
        "--random-input-len",
        "--isl",
        type=tokens,
        metavar="N",
        help="length of synthetic prompts",
    )
    add(
        "--max-tokens",
        "--output-tokens",
        "--osl",
        type=tokens,
        default=256,
        metavar="N",
        help="cap (default: %(default)s)",
    )
    add("--temperature", type=number(), default=0.0, metavar="T", help="default: %(default)s; negative: not sent")
    add("--ignore-eos", action="store_true", help="ask for max-tokens tokens always; breaks harmony models on chat")
    add("--extra-body", metavar="JSON", help="object merged into each request; null removes a field")
    add("--seed", type=whole(), default=1017, metavar="N", help="of prompts and arrivals (default: %(default)s)")
    add("--tokenizer", metavar="FILE", help="tokenizer.json for servers that neither tokenize nor send usage")
    add(
        "--tokenize-refused",
        metavar="WHY",
        help="the server's /tokenize failed before, and why: it is not asked again, and the notes say so",
    )
    add("--allow-truncated", action="store_true", help="use what is whole of a cut-off dataset file")


def _load(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--concurrency",
        "--max-concurrency",
        "--users",
        type=whole(at_most=MOST_USERS),
        metavar="N",
        help="users of a closed loop",
    )
    add("--request-rate", type=float, metavar="R", help="open loop: requests per second, counted from their arrival")
    add("--arrivals", default="poisson", choices=ARRIVALS, help="shape of an open loop (default: %(default)s)")
    add("--ramp-seconds", type=float, default=0.0, metavar="S", help="start users (or the rate) gradually")
    add("--num-prompts", "--num-requests", "--requests", type=whole(), metavar="N", help="measured requests")
    add("--max-seconds", "--duration", type=float, metavar="S", help="time cap; what is in flight then is cut_off")
    add("--warmup", "--num-warmups", type=whole(), metavar="N", help="requests before the window (default: one a user)")
    add(
        "--repeats",
        type=whole(at_least=1, at_most=1000),
        default=1,
        metavar="N",
        help="measure N times; results in DIR/r1, DIR/r2, ..",
    )
    add("--timeout", type=float, default=3600.0, metavar="S", help="longest request (default: %(default)g)")
    add(
        "--idle-timeout",
        type=float,
        default=300.0,
        metavar="S",
        help="longest silence in a stream after its first token",
    )
    add("--stop-on-error-rate", type=float, metavar="SHARE", help="end the run when more than this share failed")
    add("--processes", default="auto", metavar="N|auto", help="client processes (default: %(default)s)")
    add("--probe", default="auto", choices=PROBES, help="find out at the start where harmony faults come from")


def _result(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--output", "--result-dir", metavar="DIR", help="folder for summary.json and requests.parquet")
    add("--goodput", metavar="LIMITS", help="e.g. ttft:200,tpot:50 in ms: the share of requests that meet all")
    add(
        "--max-tokens-per-event",
        type=number(above=1),
        default=4.0,
        metavar="N",
        help="above: latencies are a burst, and null",
    )
    add("--min-latency-samples", type=whole(at_least=1), default=5, metavar="N", help="below: latencies are null")
    add("--progress", default="auto", choices=MODES, help="bar on a terminal, or JSON lines")
