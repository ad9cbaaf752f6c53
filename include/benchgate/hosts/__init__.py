"""Hosts: machines with placements. ``get_host`` is the one way to get one; drivers are imported when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchgate.errors import HostError

if TYPE_CHECKING:
    from benchgate.hosts.base import Host
    from benchgate.spec.hosts import Inventory


def get_host(name: str, inventory: Inventory) -> Host:
    """The host ``name`` of the inventory.

    Raises:
        HostError: there is no such host.
    """
    spec = inventory.hosts.get(name)
    if spec is None:
        raise HostError(
            f"there is no host {name!r} in the inventory", remedy=f"hosts are: {', '.join(sorted(inventory.hosts))}"
        )
    if spec.kind == "process":
        from benchgate.hosts.process import ProcessHost

        return ProcessHost(name, spec)
    from benchgate.hosts.docker import DockerHost

    return DockerHost(name, spec)
