"""Options of ``benchgate bench`` that need more than a type: keys, certificates, JSON, limits."""

from __future__ import annotations

import argparse
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgate.client.config import OptionError

if TYPE_CHECKING:
    from benchgate.metrics.goodput import Limits

API_KEY = "OPENAI_API_KEY"


def api_key_of(name: str | None) -> str | None:
    """The API key in the variable ``name``; in the usual one when no name is given, where it may be missing.

    Raises:
        OptionError: the named variable is not set, or holds what no header can carry.
    """
    key = os.environ.get(name or API_KEY) or None
    if name is not None and key is None:
        raise OptionError(f"--api-key-env {name}: that variable is not set", remedy=f"export {name}=..")
    if key is not None and not all(" " < character < "\x7f" for character in key):
        raise OptionError(
            f"the API key in {name or API_KEY} holds blanks, line ends or other than ASCII", remedy="set the key alone"
        )
    return key


def ca_file_of(args: argparse.Namespace) -> str | None:
    if args.ca_file is None:
        return None
    if not Path(args.ca_file).is_file():
        raise OptionError(f"--ca-file {args.ca_file}: there is no such file")
    if not args.base_url.lower().startswith("https://"):
        raise OptionError("--ca-file is for https, and --base-url is not", remedy="leave it out, or write https://")
    return str(args.ca_file)


def processes_of(text: str) -> int | None:
    if text == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"--processes must be a number or auto, not {text!r}") from None


def extra_body_of(text: str | None) -> dict[str, object]:
    if text is None:
        return {}
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise OptionError(f"--extra-body is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise OptionError("--extra-body must be a JSON object", remedy='like {"top_p": 0.9}')
    return value


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not allowed in JSON")


def goodput_limits(text: str | None) -> Limits | None:
    """``ttft:200,tpot:50`` as limits in ms.

    Raises:
        OptionError: another form, or an unknown metric.
    """
    if text is None:
        return None
    from benchgate.metrics.goodput import Limits

    values: dict[str, float] = {}
    for part in text.replace(" ", ",").split(","):
        if not part:
            continue
        name, _, limit = part.partition(":")
        name = {"e2el": "e2e"}.get(name, name)
        try:
            value = float(limit)
        except ValueError:
            value = 0.0
        if name not in ("ttft", "tpot", "e2e") or not 0 < value < math.inf:
            raise OptionError(f"--goodput {part!r} is no limit", remedy="write ttft:200,tpot:50,e2e:5000 in ms")
        values[f"{name}_ms"] = value
    if not values:
        raise OptionError("--goodput names no limit", remedy="write ttft:200,tpot:50,e2e:5000 in ms")
    return Limits(**values)
