"""The pages as an application that is built when somebody opens the first one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class PagesOnDemand:
    """An ASGI application. Scheduler and tasks load the plugin as well, and must not pay for a web framework."""

    def __init__(self) -> None:
        self._app: Callable[[Scope, Receive, Send], Awaitable[None]] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if self._app is None:
            from benchgate.airflow.pages_app import create_app

            self._app = create_app()
        await self._app(scope, receive, send)
