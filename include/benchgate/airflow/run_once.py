"""Run one DAG in this process, without a scheduler: ``python -m benchgate.airflow.run_once DAG_ID [JSON]``.

Exit status: 0 when the DAG run succeeded, 1 when it failed.
"""

from __future__ import annotations

import json
import sys


def main(argv: list[str]) -> int:
    """Parse the DAG files, run one DAG with its default params and the given ones."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk.definitions.dag import DAG

    from benchgate import settings

    dag_id, conf = argv[0], json.loads(argv[1]) if len(argv) > 1 else {}
    bag = DagBag(str(settings.PROJECT_ROOT / "dags"))
    dag = bag.dags.get(dag_id)
    if not isinstance(dag, DAG):
        for path, error in bag.import_errors.items():
            sys.stderr.write(f"{path}: {error}\n")
        sys.stderr.write(f"there is no DAG {dag_id}; there are: {', '.join(sorted(bag.dags))}\n")
        return 1
    run = dag.test(run_conf=conf)
    return 0 if str(getattr(run.state, "value", run.state)) == "success" else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
