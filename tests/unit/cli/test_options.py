"""Options that cannot be meant: one line that names the option and what is allowed, exit code 2, and no work begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgate import cli
from benchgate.cli.options import output_file
from benchgate.errors import BenchgateError

BENCH = ("bench", "--base-url", "http://127.0.0.1:9", "--prompt-tokens", "50", "--num-prompts", "2")
NEEDLE = ("needle", "--base-url", "http://127.0.0.1:9", "--model", "m")
IMPORT = ("import", "nothing.json")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The only line that a refused command says."""
    try:
        code = cli.main(list(arguments))
    except SystemExit as exit_:
        code = int(str(exit_.code))
    said = capsys.readouterr()
    assert code == 2, said
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert "Error" not in said.err
    return said.err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "0", "", "x", "1e999"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (NEEDLE, "--max-seconds"),
        (NEEDLE, "--max-tokens"),
        (NEEDLE, "--context-tokens"),
        (BENCH, "--max-seconds"),
        (BENCH, "--timeout"),
        (BENCH, "--idle-timeout"),
        (BENCH, "--max-tokens"),
        (BENCH, "--prompt-tokens"),
        (BENCH, "--num-prompts"),
        (BENCH, "--concurrency"),
        (BENCH, "--processes"),
        (BENCH, "--repeats"),
        (BENCH, "--stop-on-error-rate"),
        (BENCH, "--max-tokens-per-event"),
        (BENCH, "--min-latency-samples"),
        (("housekeeping",), "--max-hours"),
        (("run", "x.yaml"), "--repeats"),
        (("run", "x.yaml"), "--users"),
        (IMPORT, "--users"),
        (IMPORT, "--request-rate"),
    ],
)
def test_no_number_that_makes_no_sense_is_taken(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], option: str, value: str
) -> None:
    assert option in refused(capsys, *command, f"{option}={value}")


@pytest.mark.parametrize("value", ["nan", "inf", "x"])
@pytest.mark.parametrize("option", ["--temperature", "--ramp-seconds", "--seed"])
def test_where_zero_and_less_make_sense_the_rest_is_refused(
    capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    assert option in refused(capsys, *BENCH, f"{option}={value}")


@pytest.mark.parametrize(
    ("command", "option", "value", "says"),
    [
        (BENCH, "--api-key-env", "NO_SUCH_KEY", "that variable is not set"),
        (NEEDLE, "--api-key-env", "NO_SUCH_KEY", "that variable is not set"),
        (BENCH, "--ca-file", "/no/such.pem", "there is no such file"),
        (BENCH, "--goodput", "ttft:inf", "is no limit"),
        (BENCH, "--goodput", "ttft:nan", "is no limit"),
        (BENCH, "--extra-body", '{"a": NaN}', "NaN is not allowed"),
        (BENCH, "--base-url", "junk", "is no URL"),
        (NEEDLE, "--base-url", "junk", "is no URL"),
        (NEEDLE, "--depths", "nan", "from 0 to 1"),
        (NEEDLE, "--depths", "0.1;0.5", "from 0 to 1"),
        (NEEDLE, "--depths", "", "from 0 to 1"),
        (BENCH, "--concurrency", "1000000000", "100000 or less"),
        (("run", "x.yaml"), "--run-id", "../x", "letters, digits"),
        (("run", "x.yaml"), "--run-id", "", "letters, digits"),
        (("warehouse", "load"), "", "../../etc", "letters, digits"),
        (("housekeeping",), "--run", "a/b", "letters, digits"),
        (("warehouse", "retain"), "--nights", "99999999999", "36500 or less"),
    ],
)
def test_what_an_option_cannot_mean_is_told(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...], option: str, value: str, says: str
) -> None:
    said = refused(capsys, *command, *([f"{option}={value}"] if option else [value]))
    assert option in said
    assert says in said


def test_certificates_for_a_server_without_tls_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    assert "--base-url is not" in refused(capsys, *BENCH, "--ca-file", str(tmp_path / "ca.pem"))


def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "geheim\r\nX-Evil: 1")
    said = refused(capsys, *BENCH, "--api-key-env", "MY_KEY")
    assert "MY_KEY holds" in said
    assert "geheim" not in said


def test_a_folder_is_no_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ("bench", "--base-url", "http://127.0.0.1:9", "--num-prompts", "2", "--dataset", str(tmp_path))
    assert f"--dataset {tmp_path}: is a folder" in refused(capsys, *command)


@pytest.mark.parametrize("where", ["", "a-file/x.json"])
def test_a_result_that_cannot_be_written_is_told_before_the_work(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, where: str
) -> None:
    (tmp_path / "a-file").write_text("")
    assert "--output" in refused(capsys, *NEEDLE, "--output", str(tmp_path / where))


def test_a_server_that_is_not_there_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(list(NEEDLE)) == 1
    said = capsys.readouterr().err
    assert said == (
        "error: no server answers at http://127.0.0.1:9: Connection refused (start it, or correct --base-url)\n"
    )


def test_a_run_that_nobody_knows_is_told(capsys: pytest.CaptureFixture[str], benchgate_home: Path) -> None:
    hosts = benchgate_home / "hosts.yaml"
    hosts.write_text("hosts: {here: {kind: process, placements: {one: {}}}}\n")

    code = cli.main(["housekeeping", "--hosts", str(hosts), "--run", "nope"])

    assert code == 1
    assert "no run nope is on these hosts or in" in capsys.readouterr().err


def run_out_of_space(target: Path) -> None:
    with output_file(target) as aside:
        aside.write_text("ha")
        raise OSError(28, "No space left on device")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "r.json"
    with output_file(target) as aside:
        aside.write_text("whole")
    with pytest.raises(BenchgateError, match=r"r\.json cannot be written: No space left"):
        run_out_of_space(target)

    assert target.read_text() == "whole"
    assert [file.name for file in target.parent.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--format", "parquet"], "give it with --output"),
        (["--format", "llm-d"], "give it with --output"),
        (["--format", "html", "--published-only"], "is for csv and parquet"),
        (["--campaign", "demo"], "chooses among the newest"),
        (["--format", "html", "--output", "."], "is a folder; name a file in it"),
    ],
)
def test_what_a_report_cannot_do_is_told_before_anything_is_read(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str], benchgate_home: Path
) -> None:
    assert cli.main(["report", "demo.x", *options]) == 1
    assert says in capsys.readouterr().err
