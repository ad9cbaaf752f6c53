"""From a request to a view: looks up what may be shown, and says with which template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.core_api.security import get_user
from fastapi import Depends, HTTPException, Path, Query, Request
from sqlalchemy.engine import Connection

from benchgate.airflow import pages_access, pages_runs
from benchgate.airflow.report_dag import REPORT
from benchgate.airflow.warehouse import warehouse_url_of_server
from benchgate.artifacts import RunStore
from benchgate.pages import launch_page, task_ids
from benchgate.pages.campaign_view import campaign_view
from benchgate.pages.campaigns_view import campaign_names, campaigns_view
from benchgate.pages.cell_view import cell_view
from benchgate.pages.compare_view import Asked, compare_view
from benchgate.pages.grid import MEASURE_NAMES
from benchgate.pages.head import Pending
from benchgate.pages.hosts_view import hosts_view
from benchgate.pages.links import PREFIX, Links
from benchgate.pages.not_run_view import not_run_view
from benchgate.pages.reading import warehouse
from benchgate.pages.report_view import report_view
from benchgate.pages.run_rows import find_run
from benchgate.pages.run_view import run_view

User = Annotated[BaseUser, Depends(get_user)]
Page = Annotated[int, Query(ge=1, le=100_000)]
Text = Annotated[str | None, Query(max_length=500)]
Id = Annotated[str, Path(max_length=250)]  # Airflow's limit for the id of a DAG, a run or a task
Key = Annotated[str, Path(max_length=1000)]  # of a launch or a cell
V = TypeVar("V")


@dataclass(frozen=True)
class Shown:
    """A view and how it is shown. ``address`` is the page's own, for a page of a list."""

    template: str
    here: str
    view: Any
    page_address: Callable[[Any], str] | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def links_of(request: Request) -> Links:
    """Addresses as this request's Airflow is reached."""
    return Links(str(request.scope.get("root_path", "")).removesuffix(PREFIX))


@contextmanager
def _warehouse() -> Iterator[Connection | None]:
    with warehouse(warehouse_url_of_server()) as connection:
        yield connection


def _must_read(campaign: str, user: BaseUser) -> None:
    """A campaign that the user may not read looks like one that does not exist."""
    if not pages_access.may_read(campaign, user):
        raise HTTPException(404, "There is no such campaign, or you may not read it.")


def _there(view: V | None) -> V:
    if view is None:
        raise HTTPException(404, "There is no such run, launch or cell. It may be past its retention.")
    return view


def _allowed(connection: Connection | None, user: BaseUser) -> tuple[set[str], set[str]]:
    """Campaigns the user may read, and those of them that have a DAG."""
    with_dag = pages_access.readable(pages_runs.campaigns_in_airflow(), user)
    return with_dag | pages_access.readable(campaign_names(connection), user), with_dag


def campaigns(request: Request, user: User, page: Page = 1) -> Shown:
    """The list of campaigns."""
    links = links_of(request)
    with _warehouse() as connection:
        allowed, with_dag = _allowed(connection, user)
        recent = {name: pages_runs.newest_runs(name) for name in with_dag}
        view = campaigns_view(connection, allowed, in_airflow=with_dag, recent=recent, page=page)
    return Shown("campaigns", "campaigns", view, lambda number: links.page("", page=number))


def campaign(
    request: Request, user: User, dag_id: Id, page: Page = 1, choice: Text = None, metric: Text = None
) -> Shown:
    """One campaign's nights."""
    _must_read(dag_id, user)
    links = links_of(request)
    recent = pages_runs.newest_runs(dag_id)
    with _warehouse() as connection:
        view = campaign_view(connection, dag_id, recent=recent, page=page, choice=choice, metric=metric)
    in_airflow = dag_id in pages_runs.campaigns_in_airflow()
    if not view.nights and not in_airflow:
        _there(None)
    return Shown(
        "campaign",
        "campaigns",
        view,
        lambda number: links.campaign(dag_id, page=number, choice=choice, metric=metric),
        {"in_airflow": in_airflow},
    )


def run(user: User, dag_id: Id, run_id: Id, show: Text = None) -> Shown:
    """One campaign run, or one run of the DAG ``report``."""
    _must_read(dag_id, user)
    known = pages_runs.dag_run(dag_id, run_id)
    pending = pages_runs.pending_questions(dag_id, run_id)
    if dag_id == REPORT:
        return _report(user, _there(known).run_id, pending)
    with _warehouse() as connection:
        logs = pages_access.may_read_logs(dag_id, user)
        view = _there(run_view(connection, dag_id, run_id, known=known, pending=pending, logs=logs))
    if view.grid is None and dag_id not in pages_runs.campaigns_in_airflow():
        raise HTTPException(404, f"The DAG {dag_id} is no campaign: only campaigns have a ledger and results.")
    chosen = show if show in MEASURE_NAMES else "decode_tok_s"
    return Shown("run", "campaigns", view, extra={"show": chosen})


def _report(user: BaseUser, run_id: str, pending: Sequence[Pending]) -> Shown:
    with _warehouse() as connection:
        allowed, _ = _allowed(connection, user)
        keys = pages_runs.reported_runs(run_id)
        return Shown("report", "campaigns", report_view(connection, allowed, run_id, keys=keys, pending=pending))


def cell(user: User, dag_id: Id, run_id: Id, cell: Key) -> Shown:
    """One cell of a run."""
    _must_read(dag_id, user)
    known = pages_runs.dag_run(dag_id, run_id)
    with _warehouse() as connection:
        view = _there(cell_view(connection, dag_id, run_id, cell, known=known))
    return Shown("cell", "campaigns", view)


def launch(user: User, dag_id: Id, run_id: Id, launch: Key) -> Shown:
    """One launch of a run."""
    _must_read(dag_id, user)
    known = pages_runs.dag_run(dag_id, run_id)
    with _warehouse() as connection:
        view = _there(launch_page.launch_page(connection, dag_id, run_id, launch, known=known))
    return Shown("launch", "campaigns", view)


def log(
    request: Request,
    user: User,
    dag_id: Id,
    run_id: Id,
    launch: Key,
    page: Page = 1,
    line: Annotated[int | None, Query(ge=1, le=10_000_000_000)] = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
) -> Shown:
    """The server log of a launch."""
    if not pages_access.may_read_logs(dag_id, user):
        raise HTTPException(404, "There is no such campaign, or you may not read its logs.")
    links = links_of(request)
    known = pages_runs.dag_run(dag_id, run_id)
    with _warehouse() as connection:
        found = _there(launch_page.log_page(connection, dag_id, run_id, launch, known=known))
    view = found.with_log(RunStore(found.head.run), page=page, line=line, search=q)
    return Shown("log", "campaigns", view, lambda number: links.log(dag_id, run_id, launch, page=number))


def task_address(request: Request, user: User, dag_id: Id, run_id: Id, task_id: Id) -> str:
    """Where the page of a task is: its cell, its launch or its run."""
    _must_read(dag_id, user)
    links = links_of(request)
    with _warehouse() as connection:
        found = find_run(connection, dag_id, run_id)
    subject = task_ids.subject_of_task(task_id, found.launches, found.cells) if found is not None else None
    if subject is None:
        return links.run(dag_id, run_id)
    kind, key = subject
    return links.cell(dag_id, run_id, key) if kind == "cell" else links.launch(dag_id, run_id, key)


def compare(
    user: User,
    campaign: Text = None,
    by: Literal["arms", "nights"] = "arms",
    run: Text = None,
    other: Text = None,
    arm: Text = None,
    baseline: Text = None,
    made_for: Text = None,
) -> Shown:
    """Two arms, or two nights. A form that was made for another campaign offered that one's nights and arms."""
    stale = made_for is not None and made_for != campaign
    asked = Asked(campaign, by) if stale else Asked(campaign, by, run, other, arm, baseline)
    with _warehouse() as connection:
        allowed, _ = _allowed(connection, user)
        view = compare_view(connection, allowed, asked)
    return Shown("compare", "compare", view)


def not_run(
    request: Request, user: User, campaign: Text = None, everything: bool = False, before: Text = None
) -> Shown:
    """What did not run."""
    links = links_of(request)
    with _warehouse() as connection:
        allowed, with_dag = _allowed(connection, user)
        view = not_run_view(connection, allowed, campaign=campaign, everything=everything, before=before)
    chosen = {"campaign": view.campaign, "everything": 1 if everything else None}
    return Shown(
        "not_run",
        "not_run",
        view,
        lambda older: links.page("did-not-run", before=older, **chosen),
        {"in_airflow": with_dag},
    )


def hosts(user: User) -> Shown:
    """Hosts, placements and what occupies them."""
    with _warehouse() as connection:
        allowed, _ = _allowed(connection, user)
        living = pages_runs.living_runs(pages_runs.campaigns_in_airflow())
        view = hosts_view(connection, allowed, living=living)
    return Shown("hosts", "hosts", view)
