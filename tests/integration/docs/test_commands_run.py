"""The commands of the pages for people, run in the order in which a person would type them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgate.warehouse.bundle import RunBundle
from benchgate.warehouse.connect import open_warehouse, reading
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from benchgate.warehouse.roles import READER, create_roles
from tests.support.doc_pages import NOT_RUN_HERE, PAGES, ROOT, Block, blocks, every_block
from tests.support.postgres import fresh_database
from tests.support.requirements import require
from tests.support.warehouses import keep, with_requests

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What a person has checked out, without what tests and builds need."""
    copy = tmp_path / "project"
    shutil.copytree(ROOT / "include", copy / "include", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "requirements.txt", "pyproject.toml", "docker-compose.yaml", ".env.example"):
        shutil.copy(ROOT / name, copy / name)
    for name in ("dags", "plugins", "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / ".benchgate").mkdir()
    return copy


def environment(project: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BENCHGATE_", "AIRFLOW", "AWS_"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(project / "include"),
        "BENCHGATE_HOME": str(project / ".benchgate"),
        "HOME": str(project.parent),
        **more,
    }


def run(block: Block, project: Path, **more: str) -> None:
    """One block as a person would paste it."""
    result = subprocess.run(
        ["bash", "-e", "-u", "-o", "pipefail"],
        input=block.text,
        capture_output=True,
        text=True,
        check=False,
        cwd=project,
        timeout=400,
        env=environment(project, **more),
    )
    said = f"{block.name}\n{block.text}\n{result.stdout}\n{result.stderr}"
    assert "Traceback" not in result.stderr, said
    assert (result.returncode != 0) if "fails" in block.words else (result.returncode == 0), said


def nights(url: str, folder: Path) -> list[RunBundle]:
    """Two loaded nights, so that there is something to ask."""
    migrate(url)
    made = []
    for number in (1, 2):
        started = {"started_at": f"2026-11-{28 + number}T02:00:00+00:00"}
        made.append(with_requests(folder, run=f"kernels.night-{number}", run_changes=started))
        load_run(made[-1], url)
    return made


def runnable(block: Block) -> bool:
    return block.language == "bash" and not ({"postgres", *NOT_RUN_HERE} & set(block.words))


def on_postgres(block: Block) -> bool:
    return block.language == "bash" and "postgres" in block.words


@pytest.mark.parametrize("page", [page for page in PAGES if any(map(runnable, blocks(page)))])
def test_a_page_from_top_to_bottom(page: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in ("operator", "analyst"):
        monkeypatch.setenv("BENCHGATE_HOME", str(project / ".benchgate"))
        for made in nights(f"sqlite:///{project}/.benchgate/warehouse.db", tmp_path):
            keep(made)
    if (ROOT / ".benchgate" / "seeds").is_dir():
        (project / ".benchgate" / "seeds").symlink_to(ROOT / ".benchgate" / "seeds")
    for block in blocks(page):
        for word in block.words:
            if word.startswith("file="):
                target = project / word.removeprefix("file=")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(block.text)
        if not runnable(block):
            continue
        if "engine" in block.words:
            require("engine")
        run(block, project)


@pytest.fixture
def postgres(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A warehouse on PostgreSQL, and the settings that the pages use."""
    with fresh_database() as url, fresh_database() as other:
        nights(url, tmp_path)
        monkeypatch.setenv("BENCHGATE_READER_PASSWORD", "reader-pass-word")
        create_roles(url)
        from sqlalchemy.engine import make_url

        plain = make_url(url).set(drivername="postgresql")
        reader = plain.set(username=READER, password="reader-pass-word")
        yield {
            "BENCHGATE_WAREHOUSE": url,
            "READER_URL": reader.render_as_string(hide_password=False),
            "NEW_WAREHOUSE": other,
            "BENCHGATE_LOADER_PASSWORD": "loader-pass-word",
            "BENCHGATE_READER_PASSWORD": "reader-pass-word",
        }


@pytest.mark.postgres
@pytest.mark.parametrize("page", [page for page in PAGES if any(map(on_postgres, blocks(page)))])
def test_what_a_page_says_about_postgres(page: str, project: Path, postgres: dict[str, str]) -> None:
    for block in filter(on_postgres, blocks(page)):
        run(block, project, **postgres)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_every_query_is_answered(kind: str, tmp_path: Path) -> None:
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path}/w.db"
        _ask_all(url, tmp_path)
    else:
        with fresh_database() as url:
            _ask_all(url, tmp_path)


def _ask_all(url: str, tmp_path: Path) -> None:
    from benchgate.analysis.findings_of_run import find_and_write

    nights(url, tmp_path)
    find_and_write("kernels.night-2", url)
    engine = open_warehouse(url)
    empty = []
    for block in every_block("sql"):
        for statement in filter(str.strip, block.text.split(";")):
            with reading(engine) as connection:
                if not connection.exec_driver_sql(statement).fetchall():
                    empty.append(block.name)
    engine.dispose()
    # a clean pair of nights has no regression, reversal, refusal or unpublished cell; everything else must answer
    assert len(empty) <= 4, empty
