"""A volume on a Docker Engine, filled from a folder of the worker over the Docker API: for hosts without egress.

Each file is sent once, verified on the host by its sha256, and put in its place with a rename; a fill that was
interrupted goes on with the files that are still missing. Servers mount the volume read-only.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound

from benchgate import names
from benchgate.errors import HostError, SeedError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount
from benchgate.hosts.docker_archive import pack_bytes, pack_file
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.seeding.verify import SeedFile, seed_tree

_AGENT = Path(__file__).with_name("volume_agent.py")
SEED = "/seed"
STAGING = f"{SEED}/.benchgate/in"
_VERIFY_S = 3600.0  # 100 GB at 30 MB/s; a slower disk makes no benchmark host
_SEND_S = 600.0  # no progress of one transfer for this long
_SAY_EVERY_S = 5.0
ATTEMPTS = 3
FREE_SPACE = "free disk space on the host: `docker system df` shows what takes it"


@dataclass(frozen=True)
class VolumeState:
    """What a volume holds: whole files by path, and verified content that waits for its place."""

    manifest: dict[str, dict[str, Any]]
    arrived: frozenset[str]

    def holds(self, file: SeedFile) -> bool:
        """Whether the file is in its place, whole."""
        return self.manifest.get(file.relpath) == entry_of(file)


def entry_of(file: SeedFile) -> dict[str, Any]:
    """A file as the manifest of a volume names it."""
    return {"size": file.size, "sha256": file.sha256}


def missing_files(files: Iterable[SeedFile], state: VolumeState) -> list[SeedFile]:
    """What must still be sent; of equal contents only one."""
    wanted: dict[str, SeedFile] = {}
    for file in sorted(files, key=lambda file: file.relpath):
        if not state.holds(file) and file.sha256 not in state.arrived:
            wanted.setdefault(file.sha256, file)
    return list(wanted.values())


def fill_volume(
    engine: DockerEngine,
    volume: str,
    folder: Path,
    *,
    image: str,
    report: Callable[[str], None],
    run: str = containers.NO_RUN,
) -> list[SeedFile]:
    """Make the files of ``folder`` part of the volume; returns them. What is there already is not sent again.

    Files that the volume holds besides stay: a volume may be filled from several folders.

    Args:
        folder: a verified seed on the worker, a folder or one file.
        image: an image with python3 that is on the host (the client image).
        run: the campaign run, so that a helper that a killed worker left behind is found.

    Raises:
        SeedError: there is nothing to send, no space, or a file did not arrive whole; nothing half-written is visible.
        HostError: the engine does not answer, or the image is not there.
    """
    with containers.on_behalf_of(run):
        return _fill(engine, volume, folder, image=image, report=report)


def _fill(
    engine: DockerEngine, volume: str, folder: Path, *, image: str, report: Callable[[str], None]
) -> list[SeedFile]:
    files = list(seed_tree(folder))
    if not files:
        raise SeedError(f"host {engine.host}: volume {volume}: {folder} holds no files to send")
    base = folder.parent if folder.is_file() else folder
    ensure_volume(engine, volume)
    missing: list[str] = []
    for _ in range(ATTEMPTS):
        state = volume_state(engine, volume, image=image)
        if all(state.holds(file) for file in files):
            report(f"{engine.host}: volume {volume} holds {len(files)} files, {_size(files)}, verified")
            return files
        missing = _send(engine, volume, base, files, state, image=image, report=report)
        if not missing:
            report(f"{engine.host}: volume {volume} filled: {len(files)} files, {_size(files)}, verified there")
            return files
    raise SeedError(
        f"host {engine.host}: volume {volume}: {len(missing)} files did not arrive whole, first {missing[0]}",
        remedy="does the folder change while it is sent? look at the disk of the host, then start again",
    )


def volume_state(engine: DockerEngine, volume: str, *, image: str) -> VolumeState:
    """Look into a volume. One that does not exist holds nothing."""
    try:
        with engine.doing(f"cannot look at volume {volume}"):
            engine.api.inspect_volume(volume)
    except HostError as error:
        if isinstance(error.__cause__, NotFound):
            return VolumeState({}, frozenset())
        raise
    body = _body(image, volume, ["state"])
    result = containers.run_helper(engine, body, role="seeder", timeout_s=_VERIFY_S)
    answer = json.loads(containers.checked(result, engine, f"looking into volume {volume}"))
    return VolumeState(answer["manifest"], frozenset(answer["arrived"]))


def _send(
    engine: DockerEngine,
    volume: str,
    base: Path,
    files: list[SeedFile],
    state: VolumeState,
    *,
    image: str,
    report: Callable[[str], None],
) -> list[str]:
    """Send what is missing through a container that has not started yet; starting it verifies and puts in place."""
    to_send = missing_files(files, state)

    def put(api: Any, container: str, token: str) -> None:
        _put_all(api, container, base, to_send, token, _Reporter(engine.host, volume, to_send, report))

    return put_in_place(engine, volume, {file.relpath: entry_of(file) for file in files}, image=image, put=put)


def put_in_place(
    engine: DockerEngine,
    volume: str,
    wanted: dict[str, dict[str, Any]],
    *,
    image: str,
    put: Callable[[Any, str, str], None] = lambda *_: None,
) -> list[str]:
    """Verify what arrived in a volume and give it its place; returns the paths whose content did not arrive whole.

    Args:
        wanted: size and sha256 of each path.
        put: sends content into the container, which has not started yet, under names that hold the given token.
    """
    token = uuid.uuid4().hex[:12]
    plan = f"{token}.json"
    api = engine.api_with_timeout(_SEND_S)
    try:
        with containers.temporary(engine, _body(image, volume, ["commit", plan]), role="seeder") as container:
            with engine.connecting():
                try:
                    put(api, container, token)
                    api.put_archive(container, STAGING, pack_bytes({plan: json.dumps(wanted).encode()}))
                except APIError as error:
                    raise refused(engine, volume, error) from error
            result = containers.run_to_end(engine, container, timeout_s=_VERIFY_S)
    finally:
        api.close()
    answer = json.loads(containers.checked(result, engine, f"verifying volume {volume}"))
    return list(answer["missing"])


def _put_all(api: Any, container: str, base: Path, files: list[SeedFile], token: str, tell: _Reporter) -> None:
    for file in files:
        name = f"{file.sha256}.{file.size}.{token}.up"
        api.put_archive(container, STAGING, tell.passing(pack_file(name, base / file.relpath, file.size)))
    tell.done()


class _Reporter:
    """Says now and then how much was sent."""

    def __init__(self, host: str, volume: str, files: list[SeedFile], report: Callable[[str], None]) -> None:
        self._prefix = f"{host}: volume {volume}"
        self._report = report
        self._total = sum(file.size for file in files)
        self._count = len(files)
        self._sent = 0
        self._said_at = time.monotonic()
        if files:
            report(f"{self._prefix}: sending {len(files)} files, {_size(files)}")

    def passing(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        """The chunks, counted as they go by."""
        for chunk in chunks:
            self._sent += len(chunk)
            if time.monotonic() - self._said_at >= _SAY_EVERY_S:
                self._said_at = time.monotonic()
                self._report(f"{self._prefix}: {self._sent / 2**20:.0f} of {self._total / 2**20:.0f} MiB sent")
            yield chunk

    def done(self) -> None:
        """Everything was sent."""
        if self._count:
            self._report(f"{self._prefix}: sent; verifying on the host")


def ensure_volume(engine: DockerEngine, volume: str) -> None:
    """Make the volume; one of that name is used as it is."""
    with engine.doing(f"cannot create volume {volume}"):
        engine.api.create_volume(volume, labels={names.LABEL_OWNER: names.OWNER, names.LABEL_ROLE: "seed"})


def _body(image: str, volume: str, command: list[str]) -> dict[str, Any]:
    return helper_body(
        image,
        _AGENT.read_text(),
        command,
        labels=containers.helper_labels("seeder"),
        mounts=[Mount(volume, SEED, read_only=False)],
    )


def refused(engine: DockerEngine, volume: str, error: APIError) -> SeedError:
    """What it means that the engine took nothing for a volume."""
    text = str(error.explanation or error)
    remedy = None
    if "no space left" in text:
        remedy = FREE_SPACE
    return SeedError(f"host {engine.host}: volume {volume} cannot be filled: {text}", remedy=remedy)


def _size(files: list[SeedFile]) -> str:
    total = sum(file.size for file in files)
    return f"{total / 2**30:.1f} GiB" if total >= 2**30 else f"{total / 2**20:.1f} MiB"
