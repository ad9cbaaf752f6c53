"""The internal network that servers under test live in: no route out, so what was not seeded fails at once."""

from __future__ import annotations

import time
from typing import Any

from docker.errors import APIError

from benchgate import names
from benchgate.errors import HostError
from benchgate.hosts.docker_engine import DockerEngine

NETWORK = "benchgate-internal"
SETTLE_S = 2.0  # an engine lists a network a while after the moment that it says it was created at


def winner(networks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Which of several networks of the same name everybody uses: the oldest, then the smallest id."""
    return min(networks, key=lambda network: (network.get("Created", ""), network["Id"]), default=None)


def _existing(engine: DockerEngine) -> list[dict[str, Any]]:
    with engine.doing("cannot list networks"):
        found = engine.api.networks(names=[NETWORK])  # the engine matches parts of names
    return [network for network in found if network["Name"] == NETWORK]


def ensure_internal_network(engine: DockerEngine) -> str:
    """The id of the internal network; made when it is missing.

    Engines before 25 allow several networks of one name, and two workers may come here at the same moment: everybody
    settles on the same one, and each removes only what it made itself. Who made one waits until an older one, made at
    the same moment, would be seen as well.

    Raises:
        HostError: a network of that name exists and is not internal.
    """
    present = winner(_existing(engine))
    if present is None:
        made: str | None = None
        try:
            with engine.doing(f"cannot create network {NETWORK}"):
                made = engine.api.create_network(
                    NETWORK,
                    driver="bridge",
                    internal=True,
                    check_duplicate=True,
                    labels={names.LABEL_OWNER: names.OWNER},
                )["Id"]
        except HostError:
            present = winner(_existing(engine))  # somebody was faster, and the engine noticed
            if present is None:
                raise
        else:
            time.sleep(SETTLE_S)
            present = winner(_existing(engine))
            if present is not None and made is not None and present["Id"] != made:
                with engine.connecting():
                    try:
                        engine.api.remove_network(made)
                    except APIError as error:
                        if error.status_code != 404:
                            raise
    if present is None:
        raise HostError(f"host {engine.host}: network {NETWORK} vanished while it was made", remedy="try again")
    if not present.get("Internal"):
        raise HostError(
            f"host {engine.host}: network {NETWORK} exists and is not internal: servers could reach the internet",
            remedy=f"`docker network rm {NETWORK}` on that host; Benchgate makes it again",
        )
    return str(present["Id"])
