"""The few things done with containers, each in one place: create, remove, read how one ended, run a helper."""

from __future__ import annotations

import contextlib
import signal
import time
import uuid
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from docker.errors import APIError, NotFound

from benchgate import names, secrets
from benchgate.errors import HostError, LeaseHeld
from benchgate.hosts.docker_engine import DockerEngine, api_message
from benchgate.records import ExitInfo

OURS = {"label": f"{names.LABEL_OWNER}={names.OWNER}"}  # filter of every listing: nothing else is ever touched
_NAMED_WITHIN_S = 5.0  # a name is taken before the engine can describe its container
NO_RUN = "none"  # run label of helpers that no campaign run started (``benchgate hosts``)


def now_utc() -> str:
    """Now in UTC, ISO 8601, with microseconds: unique enough to tell our container from another of the same name."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds")


def exit_info(state: dict[str, Any]) -> ExitInfo:
    """How a container ended, from the ``State`` of inspect; all None while it runs or before it ever ran."""
    if state.get("Running") or state.get("Restarting") or state.get("Status") == "created":
        return ExitInfo()
    code = state.get("ExitCode")
    name = None
    if isinstance(code, int) and code > 128:
        with contextlib.suppress(ValueError):
            name = signal.Signals(code - 128).name
    return ExitInfo(exit_code=code, signal=name, oom_killed=state.get("OOMKilled"))


def describe_holder(name: str, container: dict[str, Any]) -> str:
    """Who holds a placement, in words, from the labels of the container that has its name."""
    labels = (container.get("Config") or {}).get("Labels") or {}
    status = (container.get("State") or {}).get("Status", "unknown")
    if labels.get(names.LABEL_OWNER) != names.OWNER:
        return f"container {name}, which Benchgate did not create ({status})"
    return (
        f"arm {labels.get(names.LABEL_ARM)} of run {labels.get(names.LABEL_RUN)} (campaign "
        f"{labels.get(names.LABEL_CAMPAIGN)}), container {name} ({status}), since {labels.get(names.LABEL_CREATED)}"
    )


def inspect(engine: DockerEngine, container: str) -> dict[str, Any] | None:
    """The engine's description of a container; None when it is gone."""
    with engine.doing(f"cannot look at container {container}"):
        try:
            return dict(engine.api.inspect_container(container))
        except NotFound:
            return None


def create(engine: DockerEngine, name: str, body: dict[str, Any]) -> str:
    """Create a container and return its id. The fixed name is the lease: the engine refuses a second one.

    If the answer never arrives, or the caller is interrupted, what was created is removed again.

    Raises:
        LeaseHeld: the name is taken; the message names the holder.
        HostError: the engine refused, for instance because the image or a mounted folder is not there.
    """
    try:
        with engine.connecting():
            return str(engine.api.create_container_from_config(body, name)["Id"])
    except APIError as error:
        if error.status_code == 409:
            holder = _holder(engine, name)
            who = describe_holder(name, holder) if holder else f"container {name}, which comes or goes at this moment"
            raise LeaseHeld(
                f"host {engine.host}: held by {who}",
                remedy="wait for it, or run `benchgate housekeeping` when its run is over",
            ) from error
        raise HostError(
            f"host {engine.host}: container {name} was refused: {api_message(error)}", remedy=create_remedy(str(error))
        ) from error
    except BaseException:
        with contextlib.suppress(HostError):
            left = inspect(engine, name)
            created = body["Labels"].get(names.LABEL_CREATED)
            if left and (left["Config"].get("Labels") or {}).get(names.LABEL_CREATED) == created:
                remove(engine, left["Id"])
        raise


def _holder(engine: DockerEngine, name: str) -> dict[str, Any] | None:
    """Who has a name that is taken: the engine knows the name a moment before it can say whose it is."""
    deadline = time.monotonic() + _NAMED_WITHIN_S
    while (found := inspect(engine, name)) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def create_remedy(text: str) -> str | None:
    """What to do about a refused create or start, by the engine's words."""
    lowered = text.lower()
    for part, remedy in (
        ("no such image", "pull or build the image on this host first"),
        ("could not select device driver", "install the NVIDIA container toolkit on the host and restart Docker"),
        ("bind source path does not exist", "create that folder on the host, or seed it"),
        ("port is already allocated", "stop what publishes that port, or give the placement another port"),
        ("no space left", "free disk space on the host: `docker system df` shows what takes it"),
        ("cpuset", "correct cpus of the placement: the host does not have these CPUs"),
        ("unknown device", "correct gpus of the placement: `nvidia-smi -L` on the host lists them"),
        ("executable file not found", "the image has no such program: check the image and the engine of the arm"),
    ):
        if part in lowered:
            return remedy
    return None


def start(engine: DockerEngine, name: str, container: str) -> None:
    """Start a created container."""
    try:
        with engine.connecting():
            engine.api.start(container)
    except APIError as error:
        raise HostError(
            f"host {engine.host}: container {name} did not start: {api_message(error)}",
            remedy=create_remedy(str(error)),
        ) from error


def remove(engine: DockerEngine, container: str) -> bool:
    """Kill and remove a container with its anonymous volumes; False when it was gone already."""
    with engine.doing(f"cannot remove container {container}", remedy="see the Docker log on the host"):
        try:
            engine.api.remove_container(container, v=True, force=True)
        except NotFound:
            return False
        except APIError as error:
            if error.status_code != 409:  # 409: somebody else's removal is in progress, which is as good
                raise
    return True


def ours(engine: DockerEngine, **labels: str) -> list[dict[str, Any]]:
    """All containers of Benchgate on the engine, running or not, narrowed to the given label values."""
    wanted = [OURS["label"], *(f"{name}={value}" for name, value in labels.items())]
    with engine.doing("cannot list containers"):
        return list(engine.api.containers(all=True, filters={"label": wanted}))


@dataclass(frozen=True)
class HelperResult:
    """What a helper container said."""

    exit_code: int
    stdout: bytes
    stderr: bytes


_run: ContextVar[str] = ContextVar("run", default=NO_RUN)


@contextlib.contextmanager
def on_behalf_of(run: str) -> Iterator[None]:
    """While inside, helper containers carry this campaign run, so that they go with it when the worker is killed."""
    before = _run.set(run)
    try:
        yield
    finally:
        _run.reset(before)


def helper_labels(role: str) -> dict[str, str]:
    """Labels of a helper container, so that the reaper finds one whose worker was killed."""
    return names.labels(campaign="", run=_run.get(), arm="", placement="", role=role, created=now_utc())


@contextlib.contextmanager
def temporary(engine: DockerEngine, body: dict[str, Any], *, role: str) -> Iterator[str]:
    """A container that exists only inside the ``with`` block; created, not started."""
    name = f"benchgate-{role}-{uuid.uuid4().hex[:12]}"
    container = create(engine, name, body)
    try:
        yield container
    finally:
        remove(engine, container)


def run_to_end(engine: DockerEngine, container: str, *, timeout_s: float) -> HelperResult:
    """Start a created container, wait for its end and read what it said.

    Raises:
        HostError: it did not end in time.
    """
    start(engine, "of a helper", container)
    api = engine.api_with_timeout(timeout_s)
    try:
        with engine.doing("a helper container failed"):
            code = int(api.wait(container)["StatusCode"])
            out = bytes(api.logs(container, stdout=True, stderr=False))
            err = bytes(api.logs(container, stdout=False, stderr=True))
    finally:
        api.close()
    return HelperResult(code, out, err)


def run_helper(
    engine: DockerEngine, body: dict[str, Any], *, role: str = "helper", timeout_s: float = 60.0
) -> HelperResult:
    """Run one of our short scripts in a container of its own, which is removed whatever happens."""
    with temporary(engine, body, role=role) as container:
        return run_to_end(engine, container, timeout_s=timeout_s)


def checked(result: HelperResult, engine: DockerEngine, what: str) -> bytes:
    """The output of a helper that must succeed."""
    if result.exit_code != 0:
        said = secrets.mask(result.stderr.decode(errors="replace").strip()[-500:])
        raise HostError(f"host {engine.host}: {what} failed with exit code {result.exit_code}: {said}")
    return result.stdout
