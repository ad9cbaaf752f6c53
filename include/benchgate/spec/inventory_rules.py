"""Rules between the hosts and placements of an inventory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from benchgate.names import lease_name
from benchgate.spec.image_reference import image_problem
from benchgate.spec.rules import Complaint, Path, as_map, looks_secret
from benchgate.spec.safety_rules import address_problem, engine_url_problem

# As nvidia-smi and Docker name a GPU or a part of one: by its index or its UUID. (`all` is judged apart.)
_GPU = re.compile(r"\d+(:\d+)?|(GPU|MIG)-[0-9A-Za-z/-]+")
_QUEUE = re.compile(r"[^\s,\x00-\x1f\x7f-][^\s,\x00-\x1f\x7f]*")
_LOOPBACK = re.compile(r"tcp://(localhost|127\.[0-9.]+|\[::1\])(:|/|$)")


def inventory_complaints(data: object) -> list[Complaint]:
    """What is wrong between the hosts and placements of an inventory."""
    complaints: list[Complaint] = []
    leases: dict[str, str] = {}
    engines: dict[tuple[str, object], str] = {}
    for host_name, host in as_map(as_map(data).get("hosts")).items():
        path: Path = ("hosts", host_name)
        complaints += _host_paths(path, as_map(host))
        complaints += _queue(path, as_map(host).get("queue"))
        if engine := _engine(as_map(host)):
            if engine in engines:
                message = (
                    f"is also the engine of {engines[engine]}: their leases do not exclude each other, so that arms of "
                    "both measure on one machine at once; make it one host with all placements"
                )
                key = "docker_url" if as_map(host).get("docker_url") else "docker_conn_id"
                complaints.append(Complaint((*path, key), message, warning=True))
            engines.setdefault(engine, str(host_name))
        complaints += _fetching(path, as_map(host))
        complaints += _placements(path, as_map(host))
        for placement in as_map(as_map(host).get("placements")):
            lease, ref = lease_name(host_name, placement), f"{host_name}/{placement}"
            if lease in leases:
                message = f"would hold the same lease as {leases[lease]} ({lease}); rename one"
                complaints.append(Complaint((*path, "placements", placement), message))
            leases[lease] = ref
    return complaints


def _engine(host: Mapping[str, object]) -> tuple[str, object] | None:
    """What names one Docker Engine. An address of this machine is another engine on the workers of another queue."""
    url, connection = host.get("docker_url"), host.get("docker_conn_id")
    if isinstance(url, str):
        local = url.startswith("unix://") or _LOOPBACK.match(url)
        return url.rstrip("/"), host.get("queue") if local else None
    return (f"connection {connection}", None) if isinstance(connection, str) else None


def _queue(path: Path, queue: object) -> Iterator[Complaint]:
    # workers are told their queues in one text, with commas between: no worker would ever take such a one
    if isinstance(queue, str) and not _QUEUE.fullmatch(queue):
        yield Complaint(
            (*path, "queue"),
            f"must be the name of one queue, without spaces and commas, for example site-a; is {queue!r}",
        )


def _host_paths(path: Path, host: Mapping[str, object]) -> Iterator[Complaint]:
    url = host.get("docker_url")
    if isinstance(url, str):
        if looks_secret(url):
            yield Complaint((*path, "docker_url"), "holds a password; use docker_conn_id or an ssh key")
        elif problem := engine_url_problem(url):
            yield Complaint((*path, "docker_url"), problem)
        elif url.startswith("tcp://") and not host.get("tls") and not _LOOPBACK.match(url):
            message = "is not encrypted: who can reach it commands that machine; give tls, or use ssh://"
            yield Complaint((*path, "docker_url"), message, warning=True)
    address = host.get("address")
    if isinstance(address, str) and (problem := address_problem(address)):
        yield Complaint((*path, "address"), problem)
    client = host.get("client_image")
    if isinstance(client, str) and (problem := image_problem(client)):
        yield Complaint((*path, "client_image"), problem)
    local = host.get("kind") == "process" or (isinstance(url, str) and url.startswith("unix://"))
    for key in ("hub_cache", "vocab_dir"):
        value = host.get(key)
        if not isinstance(value, str):
            continue
        if not value.startswith(("/", "~/")):
            yield Complaint((*path, key), f"must be an absolute path on the host, or begin with ~/; is {value!r}")
        elif value.startswith("~/") and not local and not host.get("home"):
            yield Complaint(
                (*path, key), "begins with ~, and this host is remote: say what that is with home: /home/NAME"
            )


def _fetching(path: Path, host: Mapping[str, object]) -> Iterator[Complaint]:
    if host.get("fetch") != "host":
        return
    if host.get("kind") == "process":
        yield Complaint(
            (*path, "fetch"), "host is for Docker hosts; a process host is this machine, which fetches anyway"
        )
    elif host.get("egress") is False:
        yield Complaint((*path, "fetch"), "a host without egress cannot fetch: leave fetch out, and this worker does")


def _placements(path: Path, host: Mapping[str, object]) -> Iterator[Complaint]:
    placements = {name: as_map(value) for name, value in as_map(host.get("placements")).items()}
    process = host.get("kind") == "process"
    for name, placement in placements.items():
        here, gpus = (*path, "placements", name), _texts(placement.get("gpus"))
        if placement.get("port") == 0 and not process:
            yield Complaint((*here, "port"), "0 (any free port) is for process hosts; a container has its own ports")
        for index, gpu in enumerate(gpus):
            if gpu in gpus[:index]:
                yield Complaint((*here, "gpus", index), f"GPU {gpu} is already listed")
            if gpu != "all" and not _GPU.fullmatch(gpu):
                yield Complaint((*here, "gpus", index), f"must be an index (0, 1, ..), a UUID or all; is {gpu!r}")
            if gpu == "all" and len(gpus) > 1:
                yield Complaint((*here, "gpus", index), "all stands alone")
            elif gpu == "all" and process:
                yield Complaint((*here, "gpus", index), "all is for Docker hosts; a process host needs the indexes")
        for other, theirs in placements.items():
            if other == name:
                break
            shared = shared_gpus(gpus, _texts(theirs.get("gpus")))
            if shared:
                what = "all GPUs" if shared == ["all"] else f"GPU {', '.join(shared)}"
                message = f"shares {what} with {other}: their arms run one after the other, never at once"
                yield Complaint((*here, "gpus"), message, warning=True)
                continue
            # a container has ports of its own: only equal ports that somebody wrote can clash, once published
            default = 0 if process else None
            port, their_port = placement.get("port", default), theirs.get("port", default)
            if port and port == their_port:
                message = f"{port} is also the port of {other}; give each its own" + (
                    ", or 0 for any free one" * process
                )
                yield Complaint((*here, "port"), message)


def shared_gpus(one: list[str], other: list[str]) -> list[str]:
    """GPUs that two placements of one host have in common; ``["all"]`` when one of them takes all."""
    if one and other and "all" in (*one, *other):
        return ["all"]
    return [gpu for gpu in one if gpu in other]


def _texts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list) else []
