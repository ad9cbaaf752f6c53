"""``benchgate import``: read result files of other clients; show them, or put them into the warehouse."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchgate.cli.options import name, number, run_name, whole
from benchgate.errors import BenchgateError
from benchgate.names import slug

if TYPE_CHECKING:
    from benchgate.importers.campaign_run import Source
    from benchgate.records import Percentiles
    from benchgate.report.tables import Table

FORMATS = ("auto", "vllm", "sglang", "aiperf", "guidellm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``benchgate import``."""
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[ARM=]FILE",
        help="result files of vllm bench serve, SGLang bench_serving, AIPerf or GuideLLM; several arms in one call "
        "are one run, so that they can be compared; one arm and load several times are repeats",
    )
    parser.add_argument("--format", choices=FORMATS, default="auto", help="which client wrote them (default: auto)")
    parser.add_argument("--json", action="store_true", help="print the summaries as JSON")
    store = parser.add_argument_group("into the warehouse (without --campaign the files are only shown)")
    store.add_argument("--campaign", type=name, help="campaign that the results belong to")
    store.add_argument("--arm", type=name, help="arm of files that name none (default: the file's name)")
    store.add_argument(
        "--workload", type=name, default="imported", help="workload that was measured (default: imported)"
    )
    store.add_argument(
        "--run", type=run_name, metavar="ID", help="run id (default: made of the date and the files' content)"
    )
    store.add_argument("--host", type=name, default="elsewhere", help="host that served (default: elsewhere)")
    store.add_argument("--placement", type=name, default="unknown", help="placement on that host")
    store.add_argument("--engine", default="unknown", help="vllm, sglang, llamacpp, ..")
    store.add_argument("--model", help="model, where the files do not name it")
    store.add_argument("--users", type=whole(at_least=1), help="users, where the files do not say")
    store.add_argument("--request-rate", type=number(above=0), help="requests per second, where the files do not say")
    store.add_argument("--client-version", help="version of the client, where the files do not say")
    store.add_argument("--simulated", action="store_true", help="the server was no real engine")
    store.add_argument("--url", help="warehouse; default is BENCHGATE_WAREHOUSE, or the SQLite file in BENCHGATE_HOME")


def run(args: argparse.Namespace) -> int:
    """Read every file before anything is written; a file that cannot be used stops the whole import."""
    from benchgate.importers.read import read_result

    sources = []
    for arm, path in map(_named, args.files):
        result = read_result(path, args.format)
        sources.append(_source(arm or args.arm or slug(Path(path).stem)[:64], result))
    if args.json:
        print(json.dumps(_as_json(sources), indent=1))
    else:
        print(_table(sources).text(), end="")
    if args.campaign:
        _load(args, sources)
    return 0


def _named(text: str) -> tuple[str | None, str]:
    """``marlin=result.json`` -> (marlin, result.json). A file whose own name has a ``=`` is taken as it is."""
    arm, sign, path = text.partition("=")
    if not sign or Path(text).exists():
        return None, text
    if not arm or not path:
        raise BenchgateError(f"{text!r} is neither a file nor ARM=FILE")
    try:
        return name(arm), path
    except argparse.ArgumentTypeError as error:
        raise BenchgateError(f"the arm of {text!r} {error}") from None


def _source(arm: str, result: object) -> Source:
    from benchgate.importers.campaign_run import Source
    from benchgate.importers.model import ImportedRun

    assert isinstance(result, ImportedRun)
    return Source(arm, result)


def _load(args: argparse.Namespace, sources: Sequence[Source]) -> None:
    from benchgate.importers.campaign_run import Target, write_run
    from benchgate.warehouse.bundle import read_bundle
    from benchgate.warehouse.load import load_run
    from benchgate.warehouse.migrate import migrate

    target = Target(
        campaign=args.campaign,
        workload=args.workload,
        host=args.host,
        placement=args.placement,
        engine=args.engine,
        model=args.model,
        users=args.users,
        request_rate=args.request_rate,
        client_version=args.client_version,
        simulated=args.simulated,
        run_id=args.run,
    )
    store, gates = write_run(sources, target)
    migrate(args.url)
    report = load_run(read_bundle(store, gates), args.url)
    if args.json:
        return
    print(
        f"loaded {report.cells} cells and {report.requests} requests as {report.run}"
        if report.changed
        else f"{report.run} was in the warehouse already, unchanged"
    )


def _table(sources: Sequence[Source]) -> Table:
    from benchgate.report.tables import UNKNOWN, Table, load_words, number

    def cell(values: Percentiles | None, name: str) -> str:
        return number(getattr(values, name) if values else None)

    rows, notes = [], []
    for source in sources:
        for one in source.run.cells:
            summary = one.summary
            known = summary.users is not None or summary.request_rate is not None
            rows.append(
                (
                    source.arm,
                    load_words(summary.users, summary.request_rate) if known else UNKNOWN,
                    str(summary.completed),
                    UNKNOWN if summary.errors is None else str(summary.errors),
                    number(summary.prefill_tok_s),
                    number(summary.decode_tok_s),
                    cell(summary.ttft_ms, "p50"),
                    cell(summary.ttft_ms, "p99"),
                    cell(summary.tpot_ms, "p50"),
                    cell(summary.e2e_ms, "p50"),
                    UNKNOWN if one.requests is None else str(len(one.requests)),
                    f"{summary.client_name} {summary.client_version or '(version unknown)'}",
                    summary.metric_definition,
                )
            )
            reason = (
                f"latencies {summary.latency_verdict}: {summary.latency_reason}" if summary.latency_reason else None
            )
            said = [*([reason] if reason else []), *(f"{g.kind} x {g.count}: {g.sample}" for g in summary.error_groups)]
            notes += [f"{source.arm}: {note}" for note in [*said, *summary.notes]]
    columns = (
        *("arm", "load", "ok", "errors", "prefill tok/s", "decode tok/s"),
        *("TTFT p50 ms", "p99", "TPOT p50 ms", "E2E p50 ms", "rows", "client", "definition"),
    )
    numeric = frozenset(range(2, 11))
    return Table("imported results", columns, tuple(rows), tuple(dict.fromkeys(notes)), numeric)


def _as_json(sources: Sequence[Source]) -> list[dict[str, object]]:
    return [
        {
            "arm": source.arm,
            "file": source.run.path,
            "format": source.run.format,
            "model": cell.model,
            "endpoint": cell.endpoint,
            "request_rows": None if cell.requests is None else len(cell.requests),
            "summary": cell.summary.model_dump(mode="json"),
        }
        for source in sources
        for cell in source.run.cells
    ]
