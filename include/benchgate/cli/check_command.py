"""``python -m benchgate check``: is everything that people wrote usable, without Airflow and without any host."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchgate import settings
from benchgate.errors import BenchgateError, SpecError, SpecProblem
from benchgate.plan import build_ledger
from benchgate.spec.hosts import Inventory
from benchgate.spec.load import load_sources, read_campaign, read_inventory
from benchgate.spec.sources import Sources
from benchgate.spec.yaml_document import read_document


@dataclass
class _Findings:
    """What was found so far. Output goes to stderr one line a problem; good files are named on stdout."""

    problems: list[SpecProblem] = field(default_factory=list)
    warnings: list[SpecProblem] = field(default_factory=list)
    good: list[str] = field(default_factory=list)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``check``."""
    parser.add_argument(
        "files", nargs="*", type=Path, metavar="FILE", help="campaign, hosts or sources files; default: all in include/"
    )
    parser.add_argument("--hosts", type=Path, metavar="FILE", help="the inventory that campaigns are checked against")


def run(args: argparse.Namespace) -> int:
    """Check the files; 0 when every one is usable, 1 otherwise."""
    files: list[Path] = list(args.files) or _everything()
    if not files:
        print(f"no campaign files in {settings.campaigns_dir()}", file=sys.stderr)
        return 1
    kinds = {file: _kind(file) for file in files}
    findings = _Findings()
    inventories = [file for file in files if kinds[file] == "hosts"]
    inventory = _inventories(args.hosts, inventories, findings)
    sources = _sources([file for file in files if kinds[file] == "sources"], findings)
    _campaigns([file for file in files if kinds[file] == "campaign"], inventory, sources, findings)
    for line in findings.good:
        print(line)
    for warning in findings.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for problem in dict.fromkeys(findings.problems):
        print(problem, file=sys.stderr)
    return 1 if findings.problems else 0


def _everything() -> list[Path]:
    folder = settings.campaigns_dir()
    campaigns = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    others = [settings.hosts_file(), settings.include_dir() / "sources.yaml"]
    return [_near_here(file) for file in [*others, *campaigns] if file.exists()]


def _near_here(file: Path) -> Path:
    """A path as a person in this folder would write it."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file


def _kind(file: Path) -> str:
    """What a file is, by its top-level keys; a file that cannot be read is reported as the campaign it may be."""
    try:
        value = read_document(file).value
    except SpecError:
        return "campaign"
    keys = value if isinstance(value, dict) else {}
    if "campaign" in keys or "arms" in keys:
        return "campaign"
    return "hosts" if "hosts" in keys else "sources" if "sources" in keys or "references" in keys else "campaign"


def _inventories(chosen: Path | None, files: list[Path], findings: _Findings) -> Inventory | None:
    """Check every inventory; campaigns are held against the chosen one, else the first given, else the default."""
    default = settings.hosts_file()
    used = chosen or (files[0] if files else default if default.exists() else None)
    loaded: dict[Path, Inventory] = {}
    for file in dict.fromkeys([*files, *([used] if used else [])]):
        try:
            found = read_inventory(file)
        except SpecError as error:
            findings.problems += error.problems
            continue
        loaded[file] = found.spec
        if file in files:
            findings.warnings += found.warnings
            findings.good.append(f"{file}: {len(found.spec.hosts)} hosts, {len(found.spec.refs)} placements")
    if used is None:
        print(f"note: there is no inventory at {default}, so placements are not checked", file=sys.stderr)
    elif used not in loaded:
        print(f"note: {used} cannot be used, so placements are not checked", file=sys.stderr)
    return loaded.get(used) if used else None


def _sources(files: list[Path], findings: _Findings) -> Sources | None:
    default = settings.include_dir() / "sources.yaml"
    used = files[0] if files else default if default.exists() else None
    result: Sources | None = None
    for file in dict.fromkeys([*files, *([used] if used else [])]):
        try:
            sources = load_sources(file)
        except SpecError as error:
            if file in files:
                findings.problems += error.problems
            continue
        result = sources if file == used else result
        if file in files:
            cells = sum(len(reference.cells) for reference in sources.references)
            findings.good.append(f"{file}: {len(sources.sources)} sources, {cells} reference cells")
    return result


def _campaigns(files: list[Path], inventory: Inventory | None, sources: Sources | None, findings: _Findings) -> None:
    names: dict[str, Path] = {}
    for file in files:
        try:
            found = read_campaign(file, inventory, sources)
            campaign = found.spec
            ledger = build_ledger(campaign, campaign.campaign, "")
        except SpecError as error:
            findings.problems += error.problems
            continue
        except BenchgateError as error:
            findings.problems.append(SpecProblem(str(file), None, "", str(error)))
            continue
        findings.warnings += found.warnings
        if campaign.campaign in names and names[campaign.campaign].resolve() != file.resolve():
            line = read_document(file).line(("campaign",))
            message = f"{campaign.campaign!r} is also the name of {names[campaign.campaign]}; each campaign has its own"
            findings.problems.append(SpecProblem(str(file), line, "campaign", message))
            continue
        names[campaign.campaign] = file
        findings.good.append(
            f"{file}: campaign {campaign.campaign}: {len(ledger.launches)} launches, {len(ledger.cells)} cells"
        )
