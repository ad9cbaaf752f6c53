"""Who may see which campaign: whoever may read its DAG, and nobody else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.configuration import conf
from airflow.models.dag import DagModel
from airflow.utils.session import create_session
from sqlalchemy import select


def readable(campaigns: Iterable[str], user: BaseUser) -> set[str]:
    """Those of ``campaigns`` whose DAG ``user`` may read.

    A campaign whose DAG is gone (renamed, imported) is asked about by its name all the same. Where DAGs belong to
    teams that is not enough: nobody knows whose it was, so nobody sees it.
    """
    by_team: dict[str | None, set[str]] = defaultdict(set)
    for name, team in _teams(set(campaigns)).items():
        by_team[team].add(name)
    allowed: set[str] = set()
    for team, names in by_team.items():
        allowed |= get_auth_manager().filter_authorized_dag_ids(dag_ids=names, user=user, method="GET", team_name=team)
    return allowed


def may_read(campaign: str, user: BaseUser) -> bool:
    """Whether ``user`` may read the DAG of ``campaign``."""
    return campaign in readable([campaign], user)


def may_read_logs(campaign: str, user: BaseUser) -> bool:
    """Whether ``user`` may read the logs of that DAG as well."""
    team = _teams({campaign}).get(campaign)
    return may_read(campaign, user) and get_auth_manager().is_authorized_dag(
        method="GET",
        access_entity=DagAccessEntity.TASK_LOGS,
        details=DagDetails(id=campaign, team_name=team),
        user=user,
    )


def _teams(campaigns: set[str]) -> dict[str, str | None]:
    """Campaign -> team of its DAG (None: of no team). Without the campaigns that nobody may be shown."""
    if not conf.getboolean("core", "multi_team", fallback=False):
        return dict.fromkeys(campaigns)
    with create_session() as session:
        known = set(session.scalars(select(DagModel.dag_id).where(DagModel.dag_id.in_(campaigns))))
        teams = DagModel.get_dag_id_to_team_name_mapping(sorted(known), session=session)
    return {name: teams.get(name) for name in known}
