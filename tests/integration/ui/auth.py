"""An auth manager in which not everybody may read every DAG, as a production Airflow's may."""

from __future__ import annotations

from typing import Any

from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager

GUEST = "guest"
NO_LOGS = "nologs"  # may read every DAG and no log
GUESTS_CAMPAIGN = "watched"  # the only DAG that a guest may read


class PerDagAuthManager(SimpleAuthManager):
    """Simple logins; a guest may read one DAG and nothing of any other."""

    def is_authorized_dag(self, *, method: Any, user: Any, access_entity: Any = None, details: Any = None) -> bool:
        """As always, but for the guest and for who may read no log."""
        if user.get_id() == GUEST and details is not None and details.id != GUESTS_CAMPAIGN:
            return False
        if user.get_id() == NO_LOGS and access_entity is DagAccessEntity.TASK_LOGS:
            return False
        return super().is_authorized_dag(method=method, user=user, access_entity=access_entity, details=details)
