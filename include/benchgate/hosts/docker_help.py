"""What an image says about its own command line: ``--help``, in a container without network or GPU."""

from __future__ import annotations

from collections.abc import Sequence

from benchgate.errors import HostError
from benchgate.hosts import docker_containers as containers
from benchgate.hosts.docker_create import helper_body
from benchgate.hosts.docker_engine import DockerEngine

TIMEOUT_S = 300.0  # Python engines import half a gigabyte before they print


def help_text(
    engine: DockerEngine,
    image: str,
    variants: Sequence[Sequence[str]],
    *,
    entrypoint: Sequence[str] | None = None,
    lists: str = "--",
) -> str | None:
    """The first of ``variants`` (arguments such as ``--help=all``) that the image's command prints help for.

    Args:
        engine: where the image is.
        image: reference by digest.
        variants: tried in order, since older versions know fewer forms.
        entrypoint: the command; the image's own when None.
        lists: a flag that a whole help lists; one without it is an answer to something else.

    Returns:
        None when the image cannot say: it needs a GPU to start, is too slow, or ends with an error.
    """
    if entrypoint is None:
        with engine.doing(f"cannot look at image {image}"):
            entrypoint = engine.api.inspect_image(image)["Config"].get("Entrypoint") or []
    for arguments in variants:
        body = helper_body(image, "", arguments, labels=containers.helper_labels("helper"), entrypoint=list(entrypoint))
        try:
            result = containers.run_helper(engine, body, timeout_s=TIMEOUT_S)
        except HostError:
            return None
        text = result.stdout.decode("utf-8", "replace")
        if result.exit_code == 0 and lists in text:
            return text
    return None
