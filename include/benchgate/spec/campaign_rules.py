"""Rules across the fields of a campaign."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from benchgate.names import load_label
from benchgate.spec.rules import Complaint, Path, as_map, looks_secret, near_miss

_SECRET_NAME = re.compile(
    r"(^|_)(TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|CREDENTIALS)$|API_?KEY$|ACCESS_KEY$|PRIVATE_KEY$"
    r"|(^|_)SECRET_",
    re.IGNORECASE,
)
_SECRET_ARG = {"api_key", "hf_token", "admin_api_key", "ssl_keyfile_password"}
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHORT = 3  # letters behind one dash: -O, -tp, -ngl
# what the placement and the model decide; an argument that says otherwise would measure something else
_DECIDED = {
    "host": "the host decides on which address a server listens",
    "port": "the placement's port is used",
    "model": "write it as model: {id: ..}",
    "model_path": "write it as model: {id: ..}",
    "served_model_name": "the model's id is the served name",
}
DATASETS = ("synthetic", "sharegpt")
_PRESETS = {"@hourly", "@daily", "@weekly", "@monthly", "@quarterly", "@yearly"}


def campaign_complaints(data: object) -> list[Complaint]:
    """What is wrong across the fields of a campaign."""
    campaign = as_map(data)
    return [
        *_schedule(campaign.get("schedule")),
        *_arms(campaign),
        *_error_rate_workloads(campaign),
        *_loads(as_map(campaign.get("workloads"))),
        *_secret_names(campaign),
        *(found for path, block in _server_blocks(campaign) for found in _environment(path, block, campaign)),
        *(found for path, block in _server_blocks(campaign) for found in _arguments(path, block, campaign)),
        *_needles(campaign),
    ]


def _schedule(schedule: object) -> Iterator[Complaint]:
    if not isinstance(schedule, str):
        return
    if schedule.startswith("@"):
        if schedule not in _PRESETS:
            yield Complaint(("schedule",), f"must be cron or one of {', '.join(sorted(_PRESETS))}; is {schedule!r}")
        return
    from croniter import CroniterError, croniter  # here, so that models are cheap to import

    example = 'five fields are expected, for example "0 2 * * *" for every night at 2'
    try:
        if len(schedule.split()) != 5:
            yield Complaint(("schedule",), f"{schedule!r} is not cron: {example}")
        elif croniter(schedule).get_next() is None:
            yield Complaint(("schedule",), f"{schedule!r} never comes")
    except (CroniterError, ValueError, KeyError, OverflowError) as error:
        never = "find next" in str(error) or "failed to find" in str(error)
        yield Complaint(("schedule",), f"{schedule!r} {'never comes' if never else f'is not cron: {error}; {example}'}")


def _arms(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    arms = as_map(campaign.get("arms"))
    for name, arm in arms.items():
        if isinstance(arm, Mapping) and arm.get("placement") is None:
            yield Complaint(("arms", name, "placement"), "is missing; write host/placement, for example h200/quad-a")
    baseline = campaign.get("baseline")
    if isinstance(baseline, str) and arms and baseline not in arms:
        yield Complaint(("baseline",), f"{baseline!r} is not an arm{near_miss(baseline, arms)} Arms: {', '.join(arms)}")


def _error_rate_workloads(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    workloads = as_map(campaign.get("workloads"))
    for prefix, gates in _gate_blocks(campaign):
        named = as_map(gates.get("error_rate")).get("workloads")
        for index, name in enumerate(named if isinstance(named, list) else []):
            if isinstance(name, str) and name not in workloads:
                message = f"unknown workload {name!r}{near_miss(name, workloads)} Workloads: {', '.join(workloads)}"
                yield Complaint((*prefix, "error_rate", "workloads", index), message)


def _loads(workloads: Mapping[str, object]) -> Iterator[Complaint]:
    """Two equal loads would be one cell under one name, measured twice."""
    for name, workload in workloads.items():
        for key in ("users", "request_rates"):
            seen: dict[str, int] = {}
            levels = as_map(workload).get(key)
            for index, level in enumerate(levels if isinstance(levels, list) else []):
                if isinstance(level, bool) or not isinstance(level, (int, float)) or not math.isfinite(level):
                    continue  # the schema says what is wrong with it
                label = load_label(int(level), None) if key == "users" else load_label(None, float(level))
                if label in seen:
                    yield Complaint(("workloads", name, key, index), f"{level} is already there; use repeats instead")
                seen[label] = index
        dataset = as_map(workload).get("dataset")
        if isinstance(dataset, str) and dataset not in DATASETS and not _is_json_path(dataset):
            message = f"{dataset!r} is neither {', nor '.join(DATASETS)}, nor the path of a JSON file"
            yield Complaint(("workloads", name, "dataset"), message + near_miss(dataset, DATASETS).removesuffix("."))
        if as_map(workload).get("ignore_eos") is True and as_map(workload).get("endpoint", "chat") == "chat":
            message = "breaks harmony models (gpt-oss) on the chat endpoint"
            yield Complaint(("workloads", name, "ignore_eos"), message, warning=True)


def _is_json_path(dataset: str) -> bool:
    return "/" in dataset or dataset.endswith((".json", ".jsonl"))


def _secret_names(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    listed = campaign.get("secrets")
    names = listed if isinstance(listed, list) else []
    for index, name in enumerate(names):
        if isinstance(name, str) and not _ENV_NAME.fullmatch(name):
            # what stands here may be the secret itself, so it is not repeated
            yield Complaint(
                ("secrets", index), "is not the name of an environment variable; write the name, not the value"
            )
        elif isinstance(name, str) and name in names[:index]:
            yield Complaint(("secrets", index), f"{name} is already listed")


def _environment(path: Path, block: Mapping[str, object], campaign: Mapping[str, object]) -> Iterator[Complaint]:
    secrets = campaign.get("secrets")
    secrets = secrets if isinstance(secrets, list) else []
    for name, value in as_map(block.get("env")).items():
        here = (*path, "env", name)
        if not _ENV_NAME.fullmatch(name):
            yield Complaint(here, "is not the name of an environment variable")
        elif name in secrets:
            yield Complaint(here, "is in secrets as well; leave it out here")
        elif value and (_SECRET_NAME.search(name) or looks_secret(value)):
            yield Complaint(here, f"is a secret; write `secrets: [{name}]` and set it in Airflow or in the environment")
        elif name == "TIKTOKEN_ENCODINGS_BASE":
            if value in (None, ""):
                yield Complaint(here, "is empty, which the vocabulary loader takes for a wrong path; leave it out")
            elif isinstance(value, str) and "://" in value:
                plain = value.removeprefix("file://")
                hint = f"; write {plain}" if value.startswith("file://") and plain.startswith("/") else ""
                yield Complaint(here, f"must be a plain path, not a URL: a server would not find the vocabulary{hint}")


def _arguments(path: Path, block: Mapping[str, object], campaign: Mapping[str, object]) -> Iterator[Complaint]:
    spellings = {_plain(name): name for name in as_map(campaign.get("args"))} if path else {}
    for name, value in as_map(block.get("args")).items():
        here, plain, bare = (*path, "args", name), _plain(name), name.lstrip("-")
        if name.startswith("-") and bare:
            short = len(bare) <= _SHORT and not name.startswith("--")
            instead = "write the argument's long name, without dashes"
            message = f"is a short form; {instead}" if short else f"is written without the leading dashes: {bare}"
            yield Complaint(here, message)
        elif not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
            yield Complaint(
                here, "is not an argument's name; give each argument its own key and its value after the colon"
            )
        elif plain in _DECIDED:
            yield Complaint(here, f"is not an argument of an arm: {_DECIDED[plain]}")
        elif spellings.get(plain, name) != name:
            yield Complaint(here, f"is also written {spellings[plain]}; use one spelling")
        elif (plain in _SECRET_ARG and value) or looks_secret(value):
            yield Complaint(here, "is a secret; give it by an environment variable that is listed in secrets")
        spellings.setdefault(plain, name)


def _needles(campaign: Mapping[str, object]) -> Iterator[Complaint]:
    """Said, not refused: a campaign may be meant to show what is not published."""
    common = as_map(campaign.get("gates")).get("needle")
    for name, arm in as_map(campaign.get("arms")).items():
        gates = as_map(arm).get("gates")
        needle = as_map(gates).get("needle") if isinstance(gates, Mapping) else common
        if needle is None and as_map(arm).get("expect", "published") == "published":
            message = "has no needle gate, so nothing of it can be published; add gates.needle or say what to expect"
            yield Complaint(("arms", name), message, warning=True)


def _plain(argument: str) -> str:
    return argument.lstrip("-").replace("-", "_").lower()


def _server_blocks(campaign: Mapping[str, object]) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Where ``args`` and ``env`` may stand: the campaign itself and each arm."""
    yield (), campaign
    for name, arm in as_map(campaign.get("arms")).items():
        yield ("arms", name), as_map(arm)


def _gate_blocks(campaign: Mapping[str, object]) -> Iterator[tuple[Path, Mapping[str, object]]]:
    yield ("gates",), as_map(campaign.get("gates"))
    for name, arm in as_map(campaign.get("arms")).items():
        yield ("arms", name, "gates"), as_map(as_map(arm).get("gates"))
