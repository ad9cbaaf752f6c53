"""``python -m benchgate demo``: the demo campaign through Airflow on this machine."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from benchgate.errors import BenchgateError, SpecError

if TYPE_CHECKING:
    from benchgate.spec.campaign import CampaignSpec

CHOICES = ("arms", "workloads", "users", "repeats", "image", "force")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--campaign", help="name of the campaign to run (default: demo, or demo-docker with --docker)")
    parser.add_argument(
        "--docker",
        action="store_true",
        help="in containers of a Docker Engine, two arms at once; builds the images that it needs",
    )
    parser.add_argument("--conf", default="{}", help='choices of the trigger as JSON, e.g. \'{"arms": ["threads-1"]}\'')


def run(args: argparse.Namespace) -> int:
    """0 when the run ended as its campaign expects."""
    from benchgate.airflow.demo import run_demo

    campaign = args.campaign or ("demo-docker" if args.docker else "demo")
    conf = _choices(args.conf)
    _check(campaign, conf)
    if args.docker:
        # whoever asks for the demo wants to see it run, also when this image was measured before
        return run_demo(campaign, {"force": True, **conf}, docker=True)
    return run_demo(campaign, conf)


def _choices(text: str) -> dict[str, object]:
    try:
        conf = json.loads(text)
    except ValueError as error:
        raise BenchgateError(f"--conf is no JSON: {error}") from None
    if not isinstance(conf, dict):
        raise BenchgateError("--conf must be a JSON object")
    unknown = [name for name in conf if name not in CHOICES]
    if unknown:
        raise BenchgateError(
            f"--conf: there is no choice {', '.join(unknown)}", remedy=f"choices: {', '.join(CHOICES)}"
        )
    return conf


def _check(name: str, conf: dict[str, object]) -> None:
    """Whether there is such a campaign and its choices fit, before Airflow takes a minute to say so."""
    from benchgate import settings
    from benchgate.plan import Selection, check_selection
    from benchgate.spec.load import load_campaign

    found: dict[str, CampaignSpec] = {}
    for file in sorted([*settings.campaigns_dir().glob("*.yaml"), *settings.campaigns_dir().glob("*.yml")]):
        try:
            campaign = load_campaign(file)
        except SpecError as error:
            if file.stem == name:
                raise
            print(f"warning: {error}", file=sys.stderr)
            continue
        found[campaign.campaign] = campaign
    if name not in found:
        raise BenchgateError(f"there is no campaign {name!r}", remedy=f"there are: {', '.join(found) or 'none'}")
    chosen = {key: conf[key] for key in ("arms", "workloads", "users", "repeats") if conf.get(key) is not None}
    check_selection(found[name], Selection(**chosen))  # type: ignore[arg-type]  # it reads what it is given
