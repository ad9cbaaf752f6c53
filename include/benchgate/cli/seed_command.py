"""``python -m benchgate seed FILE``: fetch and verify on this machine what a campaign's servers need."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial

from benchgate import settings
from benchgate.errors import SeedError
from benchgate.records import SeedFact
from benchgate.spec.campaign import CampaignSpec, ModelSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, and which host it is for."""
    parser.add_argument("file", metavar="FILE", help="campaign file")
    parser.add_argument("--host", help="only what the arms on this host of the inventory need")
    parser.add_argument("--fresh", action="store_true", help="read every verified file again, however large")
    parser.add_argument("--quiet", action="store_true", help="no lines of progress")


def run(args: argparse.Namespace) -> int:
    """Seed one thing after another; every failure is told, and none hides the others."""
    from benchgate.spec.load import load_campaign, load_inventory

    inventory = load_inventory(settings.hosts_file()) if settings.hosts_file().exists() else None
    campaign = load_campaign(args.file, inventory)
    if args.host is not None:
        known = sorted({_host(campaign, arm) for arm in campaign.arms})
        if args.host not in known:
            raise SeedError(f"no arm of {args.file} runs on host {args.host!r}", remedy=f"hosts: {', '.join(known)}")
    facts, failures = _seed_all(campaign, args)
    _print(facts)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    if campaign.image is not None or any(arm.image for arm in campaign.arms.values()):
        print("Images are pulled by the run itself, on the host that starts them.")
    return 1 if failures else 0


def _seed_all(campaign: CampaignSpec, args: argparse.Namespace) -> tuple[list[SeedFact], list[SeedError]]:
    from benchgate.seeding import seed_model
    from benchgate.seeding.dataset import seed_dataset
    from benchgate.seeding.verify import reading_again
    from benchgate.seeding.vocab import seed_vocab

    def report(line: str) -> None:
        if not args.quiet:
            print(line, file=sys.stderr, flush=True)

    facts: list[SeedFact] = []
    failures: list[SeedError] = []
    models = _models(campaign, args.host)
    jobs: list[Callable[[], SeedFact | None]] = [
        *(partial(seed_vocab, name, report) for name in _vocabularies(models)),
        *(partial(seed_model, model, report) for model in models),
        *(partial(seed_dataset, name, report) for name in _datasets(campaign)),
    ]
    with reading_again(args.fresh):
        for work in jobs:
            try:
                fact = work()
            except SeedError as error:
                failures.append(error)
                continue
            if fact is not None:
                facts.append(fact)
    return facts, failures


def _host(campaign: CampaignSpec, arm: str) -> str:
    return str(campaign.arms[arm].placement).partition("/")[0]


def _models(campaign: CampaignSpec, host: str | None) -> list[ModelSpec]:
    arms = [arm for arm in campaign.arms if host is None or _host(campaign, arm) == host]
    found: list[ModelSpec] = []
    for arm in arms:
        found += [model for model in campaign.models_of(arm) if model not in found]
    return found


def _vocabularies(models: list[ModelSpec]) -> list[str]:
    return list(dict.fromkeys(name for model in models for name in model.vocab))


def _datasets(campaign: CampaignSpec) -> list[str]:
    return list(dict.fromkeys(workload.dataset for workload in campaign.workloads.values()))


def _print(facts: list[SeedFact]) -> None:
    for fact in facts:
        print(f"{fact.kind:8} {fact.name}")
        print(f"         digest {fact.digest or 'unknown'}")
        print(f"         path   {fact.path}")
        print(f"         source {fact.source}")
        if fact.note:
            print(f"         note   {fact.note}")
