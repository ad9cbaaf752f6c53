"""``benchgate import``: shows files, and puts them into the same tables as any run, unpublished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from benchgate.cli import main

FILES = Path(__file__).parents[2] / "fixtures" / "importers"


def rows(home: Path, query: str) -> list[dict[str, Any]]:
    engine = sa.create_engine(f"sqlite:///{home / 'warehouse.db'}")
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(sa.text(query)).mappings()]


def test_shows_a_file_without_a_warehouse(benchgate_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["import", str(FILES / "sglang" / "plain.jsonl")])

    shown = capsys.readouterr().out
    assert code == 0
    assert "sglang-bench" in shown
    assert "–" in shown  # errors are unknown, not 0
    assert not (benchgate_home / "warehouse.db").exists()


def test_json_has_every_summary(benchgate_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["import", "--json", str(FILES / "guidellm" / "sweep.json"), f"b={FILES / 'aiperf'}"])

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert [(cell["arm"], cell["format"], cell["summary"]["users"]) for cell in found] == [
        ("sweep", "guidellm", 1),
        ("sweep", "guidellm", 2),
        ("b", "aiperf", 4),
    ]


def test_a_bad_file_is_a_message_and_nothing_is_loaded(
    benchgate_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{")

    code = main(["import", "--campaign", "old", str(FILES / "vllm" / "plain.json"), str(bad)])

    said = capsys.readouterr().err
    assert code == 1
    assert str(bad) in said
    assert "Traceback" not in said
    assert not (benchgate_home / "warehouse.db").exists()


def test_imported_cells_are_in_the_same_tables_and_not_published(benchgate_home: Path) -> None:
    code = main(
        [
            *("import", "--campaign", "old-nights", "--workload", "short", "--engine", "vllm", "--simulated"),
            *("--client-version", "0.32.0", f"triton={FILES / 'vllm' / 'detailed.json'}"),
            *(f"triton={FILES / 'vllm' / 'plain.json'}", f"other={FILES / 'aiperf'}"),
        ]
    )

    cells = rows(benchgate_home, "SELECT * FROM cell ORDER BY cell")
    assert code == 0
    assert [(c["arm"], c["workload"], c["load_label"], c["repeat"]) for c in cells] == [
        ("other", "short", "u4", 1),
        ("triton", "short", "u4", 1),
        ("triton", "short", "u4", 2),
    ]
    assert {c["end_state"] for c in cells} == {"unpublishable"}
    assert all("imported" in c["reason"] for c in cells)
    assert [(c["client_name"], c["client_version"]) for c in cells] == [
        ("aiperf", "0.13.0"),
        ("vllm-bench", "0.32.0"),
        ("vllm-bench", "0.32.0"),
    ]
    detailed, plain = cells[1], cells[2]
    assert detailed["ttft_p50_ms"] == pytest.approx(54.834, abs=1e-3)
    assert plain["latency_reason"].startswith("not judged")
    assert detailed["client_cpu_share"] is None
    requests = rows(benchgate_home, "SELECT * FROM request")
    assert len(requests) == 24  # 12 of the detailed file, 12 of AIPerf
    assert sum(r["status"] == "ok" for r in requests) == 18
    launches = rows(benchgate_home, "SELECT * FROM launch")
    assert {(x["arm"], x["engine"], x["fingerprint"], bool(x["simulated"])) for x in launches} == {
        ("triton", "vllm", None, True),
        ("other", "vllm", None, True),
    }
    assert rows(benchgate_home, "SELECT count(*) AS n FROM published_cell")[0]["n"] == 0


def test_importing_the_same_files_again_changes_nothing(
    benchgate_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["import", "--campaign", "old-nights", "--arm", "a", str(FILES / "vllm" / "h200_s64.json")]
    main(command)
    before = rows(benchgate_home, "SELECT * FROM cell")
    capsys.readouterr()

    code = main(command)

    assert code == 0
    assert "unchanged" in capsys.readouterr().out
    assert rows(benchgate_home, "SELECT * FROM cell") == before


def test_a_load_that_no_file_names_is_asked_for(
    benchgate_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = json.loads((FILES / "sglang" / "plain.jsonl").read_text())
    values["max_concurrency"] = None
    target = tmp_path / "unlimited.jsonl"
    target.write_text(json.dumps(values))

    refused = main(["import", "--campaign", "c", str(target)])
    assert refused == 1
    assert "--users" in capsys.readouterr().err

    assert main(["import", "--campaign", "c", "--users", "12", str(target)]) == 0
    assert rows(benchgate_home, "SELECT users, errors FROM cell") == [{"users": 12, "errors": None}]
