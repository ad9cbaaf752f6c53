"""What ``benchgate hosts`` shows of each host. Asking never changes anything, and one dead host hides no other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchgate import names
from benchgate.errors import BenchgateError
from benchgate.hosts import get_host
from benchgate.records import HostFacts
from benchgate.spec.hosts import HostSpec, Inventory

if TYPE_CHECKING:
    from benchgate.hosts.docker_engine import DockerEngine


@dataclass(frozen=True)
class HostReport:
    """One host now. What is unknown is None; lists are empty when there is nothing."""

    name: str
    kind: str
    reachable: bool
    problem: str | None = None  # why it is not, with the remedy
    facts: HostFacts | None = None
    client_image: bool | None = None  # whether the load generator can start there
    images: list[str] = field(default_factory=list)
    leases: list[str] = field(default_factory=list)  # placements that are held, and by whom
    stale: list[str] = field(default_factory=list)  # what housekeeping would remove


def report_hosts(
    inventory: Inventory, wanted: list[str], *, run_is_over: Callable[[str], bool], at_once: int = 16
) -> list[HostReport]:
    """Ask every wanted host, several at once: a host that does not answer costs its time limit only once."""
    with ThreadPoolExecutor(max_workers=min(at_once, max(len(wanted), 1))) as pool:
        return list(pool.map(lambda name: report_host(name, inventory, run_is_over=run_is_over), wanted))


def report_host(name: str, inventory: Inventory, *, run_is_over: Callable[[str], bool]) -> HostReport:
    """Ask one host."""
    spec = inventory.hosts[name]
    try:
        host = get_host(name, inventory)
        if spec.kind == "process":
            return HostReport(name, spec.kind, True, facts=host.facts())
        from benchgate.hosts.docker import DockerHost

        assert isinstance(host, DockerHost)
        try:
            return _docker_report(host.engine, spec, host.facts(), run_is_over)
        finally:
            host.engine.close()
    except BenchgateError as error:
        return HostReport(name, spec.kind, False, problem=str(error))


def _docker_report(
    engine: DockerEngine, spec: HostSpec, facts: HostFacts, run_is_over: Callable[[str], bool]
) -> HostReport:
    from benchgate.hosts import docker_containers as containers
    from benchgate.hosts import reaper

    with engine.doing("cannot list images"):
        images = tags_of(engine.api.images())
    stale = reaper.stale_containers(engine, run_is_over=run_is_over)
    gone = {item["Id"] for item in stale}
    held = [item for item in containers.ours(engine) if item["Labels"].get(names.LABEL_ROLE) == "server"]
    return HostReport(
        engine.host,
        spec.kind,
        True,
        facts=facts,
        client_image=spec.client_image in images,
        images=images,
        leases=[describe_lease(item) for item in held if item["Id"] not in gone],
        stale=[reaper.describe(item) for item in stale]
        + [f"{kind} {name}" for kind, name in reaper.stale_extras(engine, run_is_over=run_is_over)],
    )


def tags_of(images: list[dict[str, Any]]) -> list[str]:
    """Every name that the engine's images can be started by: tags, and digests where there is no tag."""
    found: set[str] = set()
    for image in images:
        tags = [tag for tag in image.get("RepoTags") or [] if tag != "<none>:<none>"]
        found.update(tags or [digest for digest in image.get("RepoDigests") or [] if "<none>" not in digest])
    return sorted(found)


def describe_lease(container: dict[str, Any]) -> str:
    """A held placement in words."""
    labels = container["Labels"]
    return (
        f"{labels.get(names.LABEL_PLACEMENT)}: arm {labels.get(names.LABEL_ARM)} of run {labels.get(names.LABEL_RUN)} "
        f"({container.get('Status', 'unknown')})"
    )
