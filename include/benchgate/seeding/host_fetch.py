"""A model of the Hub that a Docker host with egress downloads by itself, into the volume that a worker would fill.

The worker asks the hub what the files are and what their digests must be; a container of ours on the host, the one kind
that has a network, fetches what is missing; :mod:`benchgate.seeding.volume` gives it its place. No weights pass through
the worker.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from docker.errors import APIError

from benchgate.errors import SeedError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount
from benchgate.hosts.docker_archive import pack_bytes
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.meanwhile import meanwhile
from benchgate.records import SeedFact
from benchgate.seeding import volume as volumes
from benchgate.seeding.hub_listing import HubFile, Unreachable, current_commit, endpoint, files_of, hub_token, is_commit
from benchgate.seeding.places import Report, place
from benchgate.spec.campaign import ModelSpec
from benchgate.whole_file import write_whole

_AGENT = Path(__file__).with_name("host_fetch_agent.py")
_NETWORK = "bridge"  # the engine's default one: no network of ours leads out
_FETCH_S = 12 * 3600.0  # 400 GB at 10 MB/s
_SAY_EVERY_S = 5.0
_SHA256, _BLOB_ID = re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")
_REMEDIES = {
    "401": "is HF_TOKEN of this worker valid? it is the one that the host sends",
    "403": "accept the model's terms on the hub, and set HF_TOKEN",
    "404": "the hub lists this file and does not have it; if HF_ENDPOINT is a mirror, is it a whole one?",
    "space": volumes.FREE_SPACE,
    "disk": "look at the disk of the host",
    "name": "containers on the host do not find this name: see dns of its Docker Engine, or leave out fetch: host",
    "route": "may containers on the host's default bridge reach HF_ENDPOINT? if not, leave out fetch: host",
    "certificate": "the host's client_image has no CA for it: build it from a base that has, or leave out fetch: host",
    "content": "the hub, a mirror or something between altered it; run the seed step again: it fetches this file only",
    "broken": "run the seed step again: it goes on where it broke off",
}


@dataclass(frozen=True)
class Snapshot:
    """A model at one commit, as the hub lists it."""

    model: ModelSpec
    commit: str
    files: list[HubFile]


def snapshot_of(model: ModelSpec, *, token: str | None = None) -> Snapshot:
    """What must be fetched for a model. The list of a commit never changes: one that is pinned is asked for once.

    Raises:
        SeedError: no such model or revision, no permission, no answer, or files that cannot be verified.
    """
    token = hub_token(token)
    pinned = is_commit(model.revision)
    try:
        commit = model.revision if pinned else current_commit(model, token)
        memory = place("models", model.id.replace("/", "--"), f"files-{commit}.json")
        files = _recall(memory) if pinned else []
        if not files:
            files = files_of(model, commit, token)
            memory.parent.mkdir(parents=True, exist_ok=True)
            write_whole(memory, json.dumps([asdict(file) for file in files]))
    except Unreachable as error:
        raise SeedError(str(error), remedy="check HF_ENDPOINT and the network, or pin a commit hash") from None
    for file in files:
        if problem := _problem(file):
            raise SeedError(
                f"model {model.id}@{model.revision}: {endpoint()} {problem}", remedy="leave out fetch: host for it"
            )
    return Snapshot(model, commit, files)


def _recall(memory: Path) -> list[HubFile]:
    try:
        return [HubFile(**file) for file in json.loads(memory.read_text())]
    except (OSError, ValueError, TypeError):
        return []


def _problem(file: HubFile) -> str | None:
    """Why a file of a list is not one that a host may be asked to fetch."""
    path = PurePosixPath(file.path)
    if path.is_absolute() or ".." in path.parts or path.parts[:1] in ((), (".benchgate",)):
        return f"lists a file that has no place in a folder: {file.path!r}"
    if file.size is None:
        return f"does not say the size of {file.path}"
    if not (_SHA256.fullmatch(file.sha256 or "") or (file.sha256 is None and _BLOB_ID.fullmatch(file.blob_id or ""))):
        return f"does not say the digest of {file.path}"
    return None


def fetch_on_host(
    engine: DockerEngine,
    volume: str,
    snapshot: Snapshot,
    *,
    image: str,
    token: str | None = None,
    report: Report,
    run: str = containers.NO_RUN,
) -> SeedFact:
    """Let the host fetch what a volume lacks of a snapshot. An interrupted download goes on where it stopped.

    Args:
        engine: of the host.
        volume: made when it is not there.
        snapshot: from :func:`snapshot_of`.
        image: with python3, on the host (the client image).
        token: as in :func:`benchgate.seeding.hub_listing.hub_token`. It is in the environment of the container that
            fetches, for as long as that exists, and goes to no other address than the hub's own.
        report: takes lines of progress.
        run: the campaign run, so that a helper that a killed worker left behind is found.

    Raises:
        SeedError: a file cannot be had or is not what the hub says (both digests named), or there is no space.
        HostError: the engine does not answer, or the image is not there.
    """
    model, hub = snapshot.model, endpoint()
    url = f"{hub}/{model.id}/resolve/{snapshot.commit}"
    what = f"host {engine.host}: model {model.id}@{model.revision}"
    plan = {"url": url, "files": [asdict(file) for file in snapshot.files]}
    missing: list[str] = []
    report(f"{what}: the host fetches it from {hub}, commit {snapshot.commit}")
    with containers.on_behalf_of(run):
        volumes.ensure_volume(engine, volume)
        for _ in range(volumes.ATTEMPTS):
            answer = _run_agent(engine, volume, plan, image=image, token=hub_token(token), what=what, report=report)
            if "failed" in answer:
                raise _failure(answer["failed"], what, url)
            missing = [] if answer["in_place"] else volumes.put_in_place(engine, volume, answer["wanted"], image=image)
            if not missing:
                break
        else:
            raise SeedError(
                f"{what}: {len(missing)} files did not stay whole in volume {volume}, first {missing[0]}",
                remedy="look at the disk of the host, and for others who change this volume; then start again",
            )
    fetched = f"{answer['fetched']} files, {answer['bytes'] / 2**20:.1f} MiB fetched now"
    report(f"{what}: volume {volume} holds {len(snapshot.files)} files, verified there; {fetched}")
    return SeedFact(
        kind="model", name=model.id, digest=snapshot.commit, source=f"{hub}/{model.id}", note="fetched by the host"
    )


def _run_agent(
    engine: DockerEngine,
    volume: str,
    plan: dict[str, Any],
    *,
    image: str,
    token: str | None,
    what: str,
    report: Report,
) -> dict[str, Any]:
    name = f"{uuid.uuid4().hex[:12]}.json"
    body = helper_body(
        image,
        _AGENT.read_text(),
        [name],
        labels=containers.helper_labels("seeder"),
        mounts=[Mount(volume, volumes.SEED, read_only=False)],
        network=_NETWORK,
        env={"HF_TOKEN": token} if token else {},
    )
    with containers.temporary(engine, body, role="seeder") as container:
        with engine.connecting():
            try:  # below the root, since a new volume has no staging folder yet
                packed = pack_bytes({f"{volumes.STAGING}/{name}".removeprefix(f"{volumes.SEED}/"): _json(plan)})
                engine.api.put_archive(container, volumes.SEED, packed)
            except APIError as error:
                raise volumes.refused(engine, volume, error) from error
        with _telling(engine, container, what, report):
            result = containers.run_to_end(engine, container, timeout_s=_FETCH_S)
    return dict(json.loads(containers.checked(result, engine, f"fetching into volume {volume}")))


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _telling(engine: DockerEngine, container: str, what: str, report: Report) -> Any:
    """While inside, what the container said last is reported whenever it changed."""
    told = ""

    def tell() -> None:
        nonlocal told
        try:
            api = engine.api_with_timeout(engine.timeout_s)  # another thread's connection is not ours to use
            try:
                said = api.logs(container, stdout=False, stderr=True, tail=1).decode(errors="replace").strip()
            finally:
                api.close()
        except Exception:  # noqa: BLE001 - progress only: whoever waits for the end hears of the engine's errors
            return
        if said and said != told:
            told = said
            report(f"{what}: {said}")

    return meanwhile(tell, every_s=_SAY_EVERY_S, name="host-fetch-progress")


def _failure(failed: dict[str, str], what: str, url: str) -> SeedError:
    return SeedError(
        f"{what}: {failed['path']} cannot be fetched from {url}/{failed['path']}: {failed['said']}",
        remedy=_REMEDIES.get(failed["kind"], "ask for this address by hand on the host, to see what it answers"),
    )
