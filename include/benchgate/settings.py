"""Where things are: read from the environment once per call, so that tests and containers can point elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def home() -> Path:
    """Folder of all local state (``BENCHGATE_HOME``, default ``.benchgate`` in the project)."""
    return Path(os.environ.get("BENCHGATE_HOME") or PROJECT_ROOT / ".benchgate").expanduser().resolve()


def artifacts_url() -> str:
    """Root of the artifact store: a folder or an object storage URL (``BENCHGATE_ARTIFACTS``)."""
    return os.environ.get("BENCHGATE_ARTIFACTS") or str(home() / "artifacts")


def warehouse_url() -> str:
    """SQLAlchemy URL of the warehouse (``BENCHGATE_WAREHOUSE``, default a SQLite file in :func:`home`)."""
    return os.environ.get("BENCHGATE_WAREHOUSE") or f"sqlite:///{home() / 'warehouse.db'}"


def include_dir() -> Path:
    """Folder that holds ``campaigns/``, ``hosts.yaml`` and ``sources.yaml`` (``BENCHGATE_INCLUDE``)."""
    return Path(os.environ.get("BENCHGATE_INCLUDE") or PROJECT_ROOT / "include")


def campaigns_dir() -> Path:
    """Folder of the campaign files."""
    return include_dir() / "campaigns"


def hosts_file() -> Path:
    """The inventory (``BENCHGATE_HOSTS``, default ``hosts.yaml`` in the include folder)."""
    return Path(os.environ.get("BENCHGATE_HOSTS") or include_dir() / "hosts.yaml")


def seeds_dir() -> Path:
    """Local cache of verified seeds: vocabularies, models, datasets."""
    return home() / "seeds"


def worker_folders() -> list[Path] | None:
    """Folders of a worker that campaigns may name files in (``BENCHGATE_WORKER_FOLDERS``, joined by ``:``).

    None: any that this user may read, which is right where whoever writes campaigns is this user. Workers of Celery or
    Kubernetes serve other people: theirs are the include folder and ``shared`` in :func:`home`, unless told otherwise.
    """
    text = os.environ.get("BENCHGATE_WORKER_FOLDERS")
    if text:
        return [Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part]
    if os.environ.get("AIRFLOW__CORE__EXECUTOR", "LocalExecutor") == "LocalExecutor":
        return None
    return [include_dir().resolve(), home() / "shared"]


def state_dir() -> Path:
    """Leases and process state of the process host on this machine."""
    return home() / "state"
