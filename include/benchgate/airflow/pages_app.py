"""The pages as a web application inside Airflow's API server: routes, logins, answers to mistakes.

Every route needs an Airflow login, and shows only campaigns whose DAG the user may read (``pages_access``). Each page
has its JSON at the same address under ``/api``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, FastAPI, HTTPException, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from benchgate.airflow import pages_views
from benchgate.airflow.pages_views import Shown, links_of
from benchgate.errors import BenchgateError
from benchgate.pages.render import ASSETS, CONTENT_SECURITY_POLICY, as_json, asset, render

log = logging.getLogger("benchgate")
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
_RUN = "/run/{dag_id}/{run_id}"
PAGES: dict[str, Callable[..., Shown]] = {
    "/": pages_views.campaigns,
    "/campaign/{dag_id}": pages_views.campaign,
    _RUN: pages_views.run,
    f"{_RUN}/cell/{{cell:path}}": pages_views.cell,
    f"{_RUN}/launch/{{launch:path}}": pages_views.launch,
    f"{_RUN}/log/{{launch:path}}": pages_views.log,
    "/compare": pages_views.compare,
    "/did-not-run": pages_views.not_run,
    "/hosts": pages_views.hosts,
}


def create_app() -> FastAPI:
    """The application. Its own documentation pages are off: they would be open to everybody."""
    needed = [Depends(get_user), Depends(_without_nul)]
    app = FastAPI(title="Benchgate", docs_url=None, redoc_url=None, openapi_url=None, dependencies=needed)
    for path, view in PAGES.items():
        app.add_api_route(path, _html(view), methods=["GET"], response_class=HTMLResponse)
        app.add_api_route(f"/api{path}", _json(view), methods=["GET"])
    app.add_api_route(f"{_RUN}/task/{{task_id}}", _page_of_task, methods=["GET"])
    app.add_api_route("/assets/{name}", _asset, methods=["GET"])
    app.add_exception_handler(StarletteHTTPException, _refused)  # type: ignore[arg-type]
    app.add_exception_handler(RequestValidationError, _not_understood)  # type: ignore[arg-type]
    app.add_exception_handler(BenchgateError, _out_of_order)  # type: ignore[arg-type]
    app.add_exception_handler(Exception, _broken)
    app.middleware("http")(_with_headers)
    return app


def _without_nul(request: Request) -> None:
    """No name has a NUL in it, and PostgreSQL takes no text with one."""
    if "\0" in request.scope["path"]:
        raise HTTPException(404, "There is no such page: no name has a NUL in it.")
    for name, value in request.query_params.multi_items():
        if "\0" in name + value:
            raise HTTPException(422, f"{name}: a value cannot have a NUL in it.")


def _html(view: Callable[..., Shown]) -> Callable[..., Response]:
    def page(request: Request, shown: Annotated[Shown, Depends(view)]) -> Response:
        links = links_of(request)
        query = f"?{request.url.query}" if request.url.query else ""
        return HTMLResponse(
            render(
                shown.template,
                links,
                here=shown.here,
                view=shown.view,
                page_address=shown.page_address,
                json=links.api(f"{links.home}{_own_path(request)}{query}"),
                **shown.extra,
            )
        )

    # FastAPI resolves the annotations of a function in its module; this one names a local
    page.__annotations__ = {"request": Request, "shown": Annotated[Shown, Depends(view)], "return": Response}
    return page


def _json(view: Callable[..., Shown]) -> Callable[..., Response]:
    def data(shown: Annotated[Shown, Depends(view)]) -> Response:
        return JSONResponse(as_json(shown.view))

    data.__annotations__ = {"shown": Annotated[Shown, Depends(view)], "return": Response}
    return data


def _page_of_task(address: Annotated[str, Depends(pages_views.task_address)]) -> Response:
    return RedirectResponse(address, status_code=303)


def _asset(name: Annotated[str, Path(max_length=50)]) -> Response:
    if name not in ASSETS:
        raise HTTPException(404, "There is no such file.")
    # its address carries a hash of its content
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(asset(name), media_type=ASSETS[name], headers=headers)


def _own_path(request: Request) -> str:
    """The path below the pages' root, still quoted."""
    raw = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("ascii", "replace").split("?")[0]
    home = links_of(request).home
    return path[path.index(home) + len(home) :] if home in path else path


async def _with_headers(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    answer = await proceed(request)
    for name, value in HEADERS.items():
        answer.headers[name] = value
    if "Cache-Control" not in answer.headers:
        answer.headers["Cache-Control"] = "private, no-store"
    return answer


_TITLES = {401: "Log in first", 403: "Not allowed", 404: "Not found", 422: "Not understood"}


def _refused(request: Request, error: StarletteHTTPException) -> Response:
    message = str(error.detail)
    if error.status_code == 401:
        message = "These pages need an Airflow login."
    return _message(request, error.status_code, _TITLES.get(error.status_code, "Refused"), message)


def _not_understood(request: Request, error: RequestValidationError) -> Response:
    problems = [f"{'.'.join(str(part) for part in one['loc'][1:])}: {one['msg']}" for one in error.errors()]
    return _message(request, 422, _TITLES[422], "; ".join(problems))


def _out_of_order(request: Request, error: BenchgateError) -> Response:
    return _message(request, 503, "Not available now", str(error))


def _broken(request: Request, error: Exception) -> Response:
    log.exception("a results page failed: %s", request.url.path, exc_info=error)
    return _message(request, 500, "Something is broken", "This is a fault of the pages: the API server's log has it.")


def _message(request: Request, status: int, title: str, message: str) -> Response:
    """A mistake in words: a page for a browser, JSON for everybody else."""
    wants_page = "text/html" in request.headers.get("accept", "") and not _own_path(request).startswith("/api/")
    if not wants_page:
        return JSONResponse({"detail": message}, status_code=status)
    links = links_of(request)
    values: dict[str, Any] = {"title": title, "message": message, "here": "", "json": None, "login": None}
    if status == 401:
        values["login"] = get_auth_manager().get_url_login(next_url=str(request.url))
    return HTMLResponse(render("message", links, **values), status_code=status)
