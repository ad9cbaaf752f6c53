from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from benchgate.cli import main
from benchgate.records import CellOutcome, EndState, GateResult
from benchgate.report.export import read_rows, to_csv, to_parquet
from benchgate.report.llmd import document
from benchgate.report.load import load_report
from benchgate.report.model import SeedRow
from benchgate.report.reproduce import shell, to_reproduce
from benchgate.steps.reporting import client_commands, load_sources_into_warehouse, nightly_message, report_run
from benchgate.warehouse.load import load_run
from benchgate.warehouse.migrate import migrate
from tests.support.demo_like import load_demo
from tests.support.runs import campaign, launch_record, ledger_of
from tests.support.warehouses import bundle
from tests.unit.analysis.test_from_warehouse import load_night

RUN = "kernels.night-1"


@pytest.fixture
def url(tmp_path: Path, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A warehouse with one run: one cell refused, the rest published."""
    url = f"sqlite:///{tmp_path}/warehouse.db"
    monkeypatch.setenv("BENCHGATE_WAREHOUSE", url)
    migrate(url)
    ledger = ledger_of(campaign(), RUN)
    refused = ledger.cells[0].cell
    outcomes = [
        CellOutcome(cell=c.cell, state=EndState.UNPUBLISHABLE, reason="=cmd()|' /C calc'!A0")
        if c.cell == refused
        else CellOutcome(cell=c.cell, state=EndState.PUBLISHED, reason=None)
        for c in ledger.cells
    ]
    load_run(bundle(RUN, gates=GateResult(verdicts=[], quarantine=[], outcomes=outcomes)), url)
    return url


def test_csv_holds_every_planned_cell_with_its_end_state(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", RUN, "--format", "csv"]) == 0

    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 12
    assert [row["end_state"] for row in rows].count("unpublishable") == 1
    assert rows[0]["ttfv_p50_ms"] == ""  # unknown, not 0
    assert {row["model_id"] for row in rows} == {"openai/gpt-oss-20b"}


def test_published_only_leaves_refused_cells_out(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", "latest", "--format", "csv", "--published-only"])

    assert "unpublishable" not in capsys.readouterr().out


def test_a_spreadsheet_runs_no_text_of_ours(url: str) -> None:
    reasons = [row["reason"] for row in csv.DictReader(io.StringIO(to_csv(read_rows(RUN, url)))) if row["reason"]]

    assert reasons
    assert all(not reason.startswith("=") for reason in reasons)


def test_parquet_keeps_types_even_of_columns_without_a_value(url: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    to_parquet(read_rows(RUN, url), tmp_path / "run.parquet")

    table = pq.read_table(tmp_path / "run.parquet")
    assert table.num_rows == 12
    assert str(table.schema.field("ttfv_p50_ms").type) == "double"
    assert table.column("ttfv_p50_ms").null_count == 12
    assert str(table.schema.field("completed").type) == "int64"


def test_a_run_that_published_nothing_is_exported_with_its_columns(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    ledger = ledger_of(campaign(), "kernels.none")
    refused = [CellOutcome(cell=c.cell, state=EndState.UNPUBLISHABLE, reason="no") for c in ledger.cells]
    load_run(bundle("kernels.none", gates=GateResult(verdicts=[], quarantine=[], outcomes=refused)), url)
    main(["report", RUN, "--format", "csv"])
    header = capsys.readouterr().out.splitlines()[0]

    assert main(["report", "kernels.none", "--format", "csv", "--published-only"]) == 0
    assert capsys.readouterr().out == f"{header}\n"
    file = tmp_path / "none.parquet"
    assert main(["report", "kernels.none", "--format", "parquet", "--published-only", "--output", str(file)]) == 0
    table = pq.read_table(file)
    assert (table.num_rows, table.column_names) == (0, header.split(","))
    assert main(["report", "kernels.none", "--format", "llm-d", "--output", str(tmp_path / "none")]) == 0
    for form in ("text", "markdown", "html", "reproduce"):
        assert main(["report", "kernels.none", "--format", form]) == 0


def test_markdown_shows_the_comparison_and_what_was_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", RUN, "--format", "markdown"])

    text = capsys.readouterr().out
    assert "Arms against the baseline" in text
    assert "1 unpublishable" in text


def test_reproduce_names_commands_digests_and_no_secret_values(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", RUN, "--format", "reproduce"])

    text = capsys.readouterr().out
    assert "python -m benchgate run campaign.yaml" in text
    # a container's arguments are no command: what is typed on its host is
    assert "python -m benchgate command campaign.yaml \\\n  --arm marlin \\\n  --placement h200/quad-b\n" in text
    assert "--concurrency 8" in text
    assert "--prompt-tokens 8192" in text
    assert "a" * 64 in text
    assert "campaign: kernels" in text


def test_reproduce_pins_the_image_by_its_digest_and_shows_what_ran_in_the_container(url: str) -> None:
    digest = "vllm/vllm-openai@sha256:" + "c" * 64
    launches = [
        launch_record(one, image_digest=digest, command=["openai/gpt-oss-20b", "--port", "{port}"])
        for one in ledger_of(campaign(), "kernels.pinned").launches
    ]
    load_run(bundle("kernels.pinned", launches=launches), url)
    report = load_report("kernels.pinned", url)

    text = to_reproduce(report, client_commands(report))

    assert f"python -m benchgate run campaign.yaml \\\n  --image {digest}\n" in text
    assert "```text\nopenai/gpt-oss-20b \\\n  --port PORT\n```" in text


def test_every_command_of_reproduce_is_one_that_the_command_line_takes(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each block is read by its command's own parser; the load generator's are run by the integration tests."""
    main(["report", RUN, "--format", "reproduce"])
    blocks = re.findall(r"^```sh\n(.*?)^```", capsys.readouterr().out, re.DOTALL | re.MULTILINE)
    taken = []
    for name in ("run", "command", "bench"):
        monkeypatch.setattr(f"benchgate.cli.{name}_command.run", lambda args: taken.append(args) or 0)

    for block in blocks:
        words = shlex.split(block.replace("\\\n", " "))
        assert words[:3] == ["python", "-m", "benchgate"]
        assert main(words[3:]) == 0

    assert len(taken) == len(blocks) >= 5


def test_reproduce_names_the_file_that_a_dataset_was(url: str) -> None:
    seeds = [SeedRow("h200", "dataset", "sharegpt", None, "hub", "/seeds/ShareGPT.json")]
    report = replace(load_report(RUN, url), seeds=tuple(seeds))

    commands = client_commands(report)

    chat = next(args for cell, args in commands.items() if "short-chat" in cell)
    assert chat[chat.index("--dataset") + 1] == "/seeds/ShareGPT.json"


def test_reproduce_says_which_cells_a_command_never_measured(
    tmp_path: Path, benchgate_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/demo.db"
    monkeypatch.setenv("BENCHGATE_WAREHOUSE", url)
    migrate(url)
    load_demo(url, "2026-11-30")

    main(["report", "latest", "--format", "reproduce"])

    load = capsys.readouterr().out.partition("## Load")[2].replace("\\", "")
    measured = [line for line in load.splitlines() if line.endswith(":") and "@" in line]
    never = [line for line in load.splitlines() if line.startswith("Planned and never measured")]
    assert measured
    assert never
    assert not any("bad-flag" in line or "small-context" in line for line in measured)
    assert any("bad_flag: the server does not know" in line for line in never)
    assert any("small-context" in line and "(not measured)" in line for line in never)


def test_an_output_file_is_written_and_a_bad_one_is_an_error_without_a_traceback(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", RUN, "--format", "html", "--output", str(tmp_path / "r.html")]) == 0
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")

    assert main(["report", RUN, "--format", "html", "--output", str(tmp_path / "no" / "r.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_an_unknown_run_is_named_with_the_ones_there_are(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "nothing"]) == 1

    assert "the warehouse has no run nothing (newest runs: kernels.night-1)" in capsys.readouterr().err


def test_no_warehouse_is_an_error_that_says_what_to_do(
    benchgate_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "latest"]) == 1

    assert "warehouse migrate" in capsys.readouterr().err


def test_llmd_documents_hold_published_cells_with_their_units(url: str, tmp_path: Path) -> None:
    assert main(["report", RUN, "--format", "llm-d", "--output", str(tmp_path / "out")]) == 0

    files = sorted((tmp_path / "out").iterdir())
    assert len(files) == 11
    one = yaml.safe_load(files[0].read_text())
    aggregate = one["results"]["request_performance"]["aggregate"]
    assert aggregate["latency"]["time_to_first_token"]["units"] == "ms"
    assert aggregate["latency"]["time_per_output_token"] == {
        "units": "ms/token",
        "mean": pytest.approx(9.9),
        "p50": 9.0,
        "p90": 13.5,
        "p95": pytest.approx(15.3),
        "p99": 18.0,
    }
    assert aggregate["throughput"]["output_token_rate"] == {"units": "tokens/s", "mean": 1000.0}
    assert one["scenario"]["stack"][0]["standardized"]["kind"] == "inference_engine"


def test_a_latency_that_is_none_is_left_out_of_the_llmd_document(url: str) -> None:
    row = {**read_rows(RUN, url, published_only=True)[0], "tpot_mean_ms": None}

    latency = document(row)["results"]["request_performance"]["aggregate"]["latency"]

    assert "time_per_output_token" not in latency


def test_gaps_between_events_of_many_tokens_are_not_exported_as_gaps_between_tokens(url: str) -> None:
    row = {**read_rows(RUN, url, published_only=True)[0], "tokens_per_event": 2.5}

    latency = document(row)["results"]["request_performance"]["aggregate"]["latency"]

    assert "inter_token_latency" not in latency


def test_a_shell_command_survives_any_argument() -> None:
    words = ["vllm", "serve", "a b", "--flag", "it's $HOME", "--json", '{"a": 1}']

    assert shlex.split(shell(words).replace("\\\n", " ")) == words


def test_an_argument_that_does_not_print_is_written_out_and_stays_what_it_was() -> None:
    word = "it's \\ \x1b[31m\nred \u202e \u00fc"

    typed = shell(["printf", "%s", word])

    assert typed.isprintable()
    done = subprocess.run(["bash", "-c", typed], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    assert done.stdout.decode() == word


def test_the_report_step_writes_findings_report_and_commands(url: str, benchgate_home: Path) -> None:
    said = report_run(RUN, url)

    files = {path.name for path in (benchgate_home / "artifacts" / RUN).iterdir()}
    assert files == {"report.html", "report.md", "reproduce.md"}
    assert "comparisons" in said
    assert nightly_message([RUN], url) is None


def test_one_message_covers_a_night_and_is_not_sent_again(url: str) -> None:
    for night in range(2, 13):
        load_night(url, night)
    for night in (13, 14, 15):
        load_night(url, night, level=800.0, digest="b")
    messages = []
    for night in (12, 13, 14, 15):
        report_run(f"kernels.night-{night}", url)
        messages.append(nightly_message([f"kernels.night-{night}"], url))

    assert messages[0] is None
    sent = [message for message in messages if message]
    assert len(sent) == 1
    assert "image_digest" in sent[0]
    assert "regressed" in sent[0]
    assert "decode throughput -2" in sent[0]


def test_the_sources_file_of_the_project_is_loaded(url: str) -> None:
    assert load_sources_into_warehouse(url) > 15


def test_writing_the_findings_brings_the_sources_up_to_date(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", RUN, "--write"]) == 0
    assert main(["warehouse", "query", "reversal", "--limit", "0"]) == 0

    assert "marlin against triton" in capsys.readouterr().out
