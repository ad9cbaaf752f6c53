"""Measuring on a Docker host: a task of the Docker provider, whose container is the load generator.

The provider drives: it connects through its hook, runs the container and ends it when the task is killed. What it does
inside one run is replaced by :mod:`benchgate.hosts.docker_client`, for reasons that docs/docker.md gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.docker.hooks.docker import DockerHook
from airflow.providers.docker.operators.docker import DockerOperator

from benchgate.airflow.pages_link import PageLink
from benchgate.errors import HostError
from benchgate.hosts.base import Mount, ServerHandle
from benchgate.names import client_name
from benchgate.spec.hosts import HostSpec

if TYPE_CHECKING:
    from airflow.sdk import Context

    from benchgate.hosts.docker import DockerHost
    from benchgate.hosts.docker_engine import DockerEngine


class EngineHook(DockerHook):
    """The provider's hook over our connection: TLS, ssh and Airflow connections as the inventory names them.

    The provider's own client lets ``REQUESTS_CA_BUNDLE`` and ``HTTP_PROXY`` of the worker override a host's files, and
    reads its ``docker_conn_id`` as the login of a registry; ours is the address of an engine.
    """

    def __init__(self, engine: DockerEngine) -> None:
        super().__init__(docker_conn_id=None, base_url=engine.connection.url)
        self._engine = engine

    @cached_property
    def api_client(self) -> Any:
        """The library's ``docker.APIClient`` for this engine."""
        client = self._engine.api
        self._client_created = True
        return client


class MeasureInContainer(DockerOperator):
    """Measure one cell: the load generator joins the network namespace of the server, wherever its engine is.

    :param campaign_file: path of the campaign's YAML file.
    :param launch: key of the launch.
    :param cell: key of the cell.
    :param placement: ``host/placement`` of the launch.
    :param spec: the host as the inventory describes it when the DAG is parsed; the task uses that of its run.
    """

    template_fields: Sequence[str] = ("image", "container_name")  # what the UI shows of it; nothing is rendered
    template_ext: Sequence[str] = ()
    operator_extra_links = (PageLink(),)
    ui_color = "#e8eef7"

    def __init__(
        self, *, campaign_file: str, launch: str, cell: str, placement: str, spec: HostSpec, **kwargs: Any
    ) -> None:
        host, _, name = placement.partition("/")
        super().__init__(
            image=spec.client_image,
            docker_url=spec.docker_url or f"the Airflow connection {spec.docker_conn_id}",
            container_name=client_name(host, name),
            mount_tmp_dir=False,  # the engine may be on another machine
            auto_remove="never",  # its files are fetched first; the library removes it, also when the task is killed
            **kwargs,
        )
        self.step = "measure"
        self.campaign_file = campaign_file
        self.launch: str | None = launch
        self.cell: str | None = cell
        self.host: str | None = host
        self.run_key: str | None = None
        self._on: DockerHost | None = None
        self._context: Context | None = None
        self._client: Callable[[], int] | None = None

    def execute(self, context: Context) -> Any:
        """Call the step ``measure``, which calls back :meth:`run_client` once for each time it measures the cell."""
        from benchgate.airflow import task_steps

        self._context = context
        return task_steps.run(self, context)

    def run_client(
        self,
        host: DockerHost,
        handle: ServerHandle,
        args: list[str],
        output: Path,
        *,
        on_line: Callable[[str], None],
        timeout_s: float,
        mounts: Sequence[Mount] = (),
    ) -> int:
        """Run the container through the provider; see :meth:`benchgate.hosts.base.Host.run_client`.

        Raises:
            HostError: the client image is not on the host. It is built there, never pulled by its name.
        """
        self._on = host
        self.image, self.command = host.spec.client_image, args
        self.network_mode = f"container:{handle.id}"
        with host.engine.doing(f"cannot look at image {self.image}"):
            there = bool(self.cli.images(name=self.image))
        if not there:
            raise HostError(
                f"host {host.name}: image {self.image} is not there any more",
                remedy=f"build it: python include/images/build.py client --host {host.name}",
            )
        self._client = lambda: host.run_client(
            handle, args, output, on_line=on_line, timeout_s=timeout_s, mounts=mounts
        )
        assert self._context is not None
        return int(super().execute(self._context))

    @cached_property
    def hook(self) -> DockerHook:
        """The provider's hook on the engine of the run's inventory."""
        assert self._on is not None
        return EngineHook(self._on.engine)

    def _run_image_with_mounts(self, target_mounts: Any, add_tmp_variable: bool) -> Any:
        """Create, start, follow, wait, fetch: as :mod:`benchgate.hosts.docker_client` does it. Gives the exit code."""
        del target_mounts, add_tmp_variable
        assert self._client is not None
        return self._client()

    def on_kill(self) -> None:
        """Remove the load generator at once: the supervisor leaves 5 s, ``docker stop`` alone would take 10."""
        from benchgate.airflow import task_steps

        task_steps.on_kill(self)
