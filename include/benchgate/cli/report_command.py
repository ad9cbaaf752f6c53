"""``benchgate report RUN``: a campaign run out of the warehouse as HTML, Markdown, CSV, Parquet or commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchgate.cli.options import output_file
from benchgate.errors import BenchgateError

FORMATS = ("text", "html", "markdown", "csv", "parquet", "reproduce", "llm-d")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add = parser.add_argument
    add("run", metavar="RUN", help="run key, or latest")
    add("--campaign", metavar="NAME", help="with latest: the newest run of this campaign")
    add("--format", choices=FORMATS, default="text", help="default: %(default)s, as the demo prints it")
    add("--output", type=Path, metavar="PATH", help="file to write (llm-d: folder, one file a published cell)")
    add("--published-only", action="store_true", help="csv and parquet: leave out cells that may not be quoted")
    add("--write", action="store_true", help="write findings and sources into the warehouse first")
    add("--url", help="SQLAlchemy URL of the warehouse (default: BENCHGATE_WAREHOUSE, or the file in BENCHGATE_HOME)")


def run(args: argparse.Namespace) -> int:
    """Read the run, make the report, write or print it."""
    _check(args)
    key = _run_key(args)
    if args.write:
        from benchgate.steps.reporting import write_findings

        write_findings(key, args.url)
    if args.format == "llm-d":
        return _llmd(key, args.url, args.output)
    if args.format == "parquet":
        from benchgate.report.export import read_rows, to_parquet

        rows = read_rows(key, args.url, published_only=args.published_only)
        with output_file(args.output, make_folder=False) as aside:
            to_parquet(rows, aside)
        return 0
    text = _text(args, key)
    if args.output is None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    else:
        with output_file(args.output, make_folder=False) as aside:
            aside.write_text(text, encoding="utf-8")
    return 0


def _check(args: argparse.Namespace) -> None:
    """What does not go together is told before anything is read or written."""
    if args.format in ("parquet", "llm-d") and args.output is None:
        kind = "a folder" if args.format == "llm-d" else "a file"
        raise BenchgateError(f"--format {args.format} is written into {kind}", remedy="give it with --output")
    if args.published_only and args.format not in ("csv", "parquet"):
        raise BenchgateError(f"--published-only is for csv and parquet, not for {args.format}", remedy="leave it out")
    if args.campaign is not None and args.run != "latest":
        raise BenchgateError("--campaign chooses among the newest runs", remedy="write latest, or leave --campaign out")
    if args.output is not None and args.output.is_dir() != (args.format == "llm-d") and args.output.exists():
        kind = "a file, and --format llm-d needs a folder" if args.format == "llm-d" else "a folder; name a file in it"
        raise BenchgateError(f"--output {args.output} is {kind}")


def _run_key(args: argparse.Namespace) -> str:
    """The key of the run that was asked for, so that ``latest`` means one run throughout."""
    from benchgate.analysis.read import read_run
    from benchgate.warehouse.connect import open_warehouse, reading, shown
    from benchgate.warehouse.migrate import require_current

    engine = open_warehouse(args.url)
    try:
        with reading(engine) as connection:
            require_current(connection, shown(engine.url))
            return read_run(connection, args.run, args.campaign).run
    finally:
        engine.dispose()


def _text(args: argparse.Namespace, key: str) -> str:
    if args.format == "csv":
        from benchgate.report.export import read_rows, to_csv

        return to_csv(read_rows(key, args.url, published_only=args.published_only))
    from benchgate.report.load import load_report

    report = load_report(key, args.url)
    if args.format == "html":
        from benchgate.report.html import render

        return render(report)
    if args.format == "markdown":
        from benchgate.report.markdown import to_markdown

        return to_markdown(report)
    if args.format == "reproduce":
        from benchgate.report.reproduce import to_reproduce
        from benchgate.steps.reporting import client_commands

        return to_reproduce(report, client_commands(report))
    from benchgate.report.terminal import summary_of

    return summary_of(report)


def _llmd(key: str, url: str | None, folder: Path) -> int:
    import yaml

    from benchgate.report.export import read_rows
    from benchgate.report.llmd import document, file_name

    rows = read_rows(key, url, published_only=True)

    for row in rows:
        with output_file(folder / file_name(row)) as aside:
            aside.write_text(yaml.safe_dump(document(row), sort_keys=False), encoding="utf-8")
    print(f"{len(rows)} published cells written to {folder}")
    return 0
