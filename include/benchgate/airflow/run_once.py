"""Run one DAG without a scheduler: ``python -m benchgate.airflow.run_once [--parallel] DAG_ID [JSON]``.

With ``--parallel`` its tasks are processes of the configured executor, beside an API server of this run's own; without,
they run in this process, one after another.

Exit status: 0 when the DAG run succeeded, 1 when it failed.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext

from benchgate.airflow.api_server import api_server, use_a_server_of_its_own
from benchgate.errors import BenchgateError


def main(argv: list[str]) -> int:
    """Parse the DAG files, run one DAG with its default params and the given ones."""
    parallel = argv[0] == "--parallel"
    dag_id, *rest = argv[1:] if parallel else argv
    conf = json.loads(rest[0]) if rest else {}
    port = use_a_server_of_its_own() if parallel else None
    try:
        with api_server(port) if port is not None else nullcontext():
            return _run(dag_id, conf, parallel=parallel)
    except BenchgateError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1


def _run(dag_id: str, conf: dict[str, object], *, parallel: bool) -> int:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk.definitions.dag import DAG

    from benchgate import settings

    bag = DagBag(str(settings.PROJECT_ROOT / "dags"))
    dag = bag.dags.get(dag_id)
    if not isinstance(dag, DAG):
        for path, error in bag.import_errors.items():
            sys.stderr.write(f"{path}: {error}\n")
        sys.stderr.write(f"there is no DAG {dag_id}; there are: {', '.join(sorted(bag.dags))}\n")
        return 1
    run = dag.test(run_conf=conf, use_executor=parallel)
    return 0 if str(getattr(run.state, "value", run.state)) == "success" else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
