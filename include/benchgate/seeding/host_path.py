"""A model that lies on a Docker host already, named by its content: read there, by a container of ours.

Nothing is copied. What was read once is not read again while each file's size and time of change stay the same; the
worker remembers that, since the host's folder is not ours to write to.
"""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from benchgate import settings
from benchgate.errors import HostError, SeedError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.base import Mount
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine
from benchgate.names import slug
from benchgate.records import SeedFact
from benchgate.seeding.places import Report
from benchgate.seeding.verify import NOTE, SeedFile, tree_digest
from benchgate.whole_file import PART, write_whole

_AGENT = Path(__file__).with_name("host_path_agent.py")
_READ_S = 2 * 3600.0  # 400 GB at 60 MB/s
_LONGEST_ARGUMENT = 100_000  # the kernel takes 131072 bytes; a longer memory is not passed, and all is read again

Known = dict[str, list[int | str]]


def verified_on_host(
    engine: DockerEngine, fact: SeedFact, *, image: str, sha256: str | None, report: Report, run: str
) -> SeedFact:
    """The fact of a model at a path of the host, with the digest of what lies there.

    Args:
        engine: of the host.
        fact: names the path.
        image: with python3, on the host (the client image).
        sha256: what the campaign pins: of the file, or over the folder's names and contents.
        report: takes what a person should read.
        run: the campaign run, so that a helper that a killed worker left behind is found.

    Raises:
        SeedError: nothing is there, it cannot be read, or its content is not the pinned one.
    """
    path = str(fact.path)
    what = f"model {fact.name} at {path} on host {engine.host}"
    memory = settings.state_dir() / "host-paths" / f"{slug(engine.host)}-{slug(path)}.json"
    known = _recall(memory)
    report(f"{what}: reading it there")
    with containers.on_behalf_of(run):
        found = _look(engine, path, known, image=image, what=what)
    memory.parent.mkdir(parents=True, exist_ok=True)
    write_whole(memory, json.dumps(found))
    digest = content_digest(found)
    if digest is None:
        raise SeedError(f"{what}: no file is there", remedy="correct source.host_path of the model")
    if sha256 is not None and sha256 != digest:
        raise SeedError(
            f"{what}: wrong content: sha256 is {digest}, and {sha256} was expected",
            remedy="somebody changed it on the host; correct the pinned digest only if you know why",
        )
    read = sum(known.get(name) != entry for name, entry in found.items())
    report(f"{what}: {len(found)} files, {read} of them read now, sha256 {digest[:16]}..")
    note = "lies on the host; named by its content"
    return fact.model_copy(update={"digest": f"sha256:{digest}", "note": note})


def content_digest(found: Known) -> str | None:
    """One sha256 for what was read: a single file's own, or that of a seed tree; None when there is nothing."""
    if "." in found:
        return str(found["."][2])
    files = [SeedFile(name, int(size), str(sha256)) for name, (size, _, sha256) in found.items() if _counts(name)]
    return tree_digest(files) if files else None


def _counts(name: str) -> bool:
    """What a seed tree leaves out, here too: equal folders have equal digests, wherever they lie."""
    path = PurePosixPath(name)
    return not (path.name.startswith(NOTE) or path.name.endswith(PART) or ".cache" in path.parts)


def _look(engine: DockerEngine, path: str, known: Known, *, image: str, what: str) -> Known:
    told = json.dumps(known)
    body = helper_body(
        image,
        _AGENT.read_text(),
        [told if len(told) < _LONGEST_ARGUMENT else "{}"],
        labels=containers.helper_labels("seeder"),
        mounts=[Mount(path, "/seed")],
    )
    try:
        result = containers.run_helper(engine, body, role="seeder", timeout_s=_READ_S)
        answer = json.loads(containers.checked(result, engine, f"reading {path}"))
    except HostError as error:
        if "bind source path does not exist" in error.message:
            raise SeedError(f"{what}: there is no such path", remedy="correct source.host_path of the model") from None
        raise
    if "unreadable" in answer:
        name, reason = answer["unreadable"]
        raise SeedError(f"{what}: {name} cannot be read: {reason}", remedy="let everybody on the host read it")
    return dict(answer)


def _recall(memory: Path) -> Known:
    try:
        known = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
