from __future__ import annotations

import pytest

from benchgate import cli
from benchgate.cli.bench_options import goodput_limits
from benchgate.cli.bench_table import describe
from benchgate.client.config import OptionError
from benchgate.metrics.goodput import Limits
from benchgate.metrics.summary import summarise
from benchgate.request_record import ClientFacts
from tests.unit.metrics.cells import a_cell, a_request

URL = ("bench", "--base-url", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prompt-tokens", "5"], "nothing ends this run"),
        (["--prompt-tokens", "5", "--num-prompts", "0"], "--num-prompts must be more than zero"),
        (["--num-prompts", "4"], "needs --prompt-tokens"),
        (["--dataset", "/none/x.json", "--num-prompts", "4"], "/none/x.json: no such file"),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--extra-body", "{"], "--extra-body is no JSON"),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--extra-body", "[1]"], "must be a JSON object"),
        (
            ["--prompt-tokens", "5", "--num-prompts", "1", "--extra-body", '{"messages": []}'],
            "--extra-body must not hold messages",
        ),
        (
            [
                "--prompt-tokens",
                "5",
                "--num-prompts",
                "1",
                "--endpoint",
                "completions",
                "--extra-body",
                '{"prompt": 1}',
            ],
            "--extra-body must not hold prompt",
        ),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--goodput", "foo:1"], "'foo:1' is no limit"),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--processes", "some"], "must be a number or auto"),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--output", "/dev/null/x"], "--output /dev/null/x cannot"),
        (["--prompt-tokens", "5", "--num-prompts", "1", "--output", "/proc/none"], "--output /proc/none cannot"),
        (
            ["--prompt-tokens", "5", "--num-prompts", "1", "--concurrency", "1", "--request-rate", "1"],
            "either --concurrency",
        ),
    ],
)
def test_an_option_that_cannot_work_ends_with_2_and_its_name(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*URL, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_server_that_is_not_there_ends_with_1_and_its_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*URL, "--prompt-tokens", "5", "--num-prompts", "1"]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:9 cannot be reached" in error
    assert "start it" in error


def test_goodput_limits_are_read_in_ms() -> None:
    assert goodput_limits("ttft:200,tpot:50") == Limits(ttft_ms=200, tpot_ms=50)
    assert goodput_limits("ttft:200 e2el:5000") == Limits(ttft_ms=200, e2e_ms=5000)
    assert goodput_limits(None) is None


@pytest.mark.parametrize("text", ["", "ttft", "ttft:fast", "ttft:-1", "ttft:0"])
def test_goodput_limits_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--goodput"):
        goodput_limits(text)


def test_the_table_shows_unknown_as_a_dash_and_never_as_0() -> None:
    cell = [a_request(number, gap=0.0, tokens=100) for number in range(10)]
    for record in cell:
        record.prompt_tokens = None
    text = describe(summarise(cell, ClientFacts("benchgate", "0", users=1)))
    assert "prefill    - tok/s" in text
    assert "latencies  burst" in text
    (ttft,) = (line for line in text.splitlines() if line.startswith("ttft"))
    assert set(ttft.split()[1:]) == {"-"}


def test_the_table_names_errors_and_who_stopped_the_run() -> None:
    cell = a_cell(users=1, waves=6)
    cell[0].status, cell[0].error_message, cell[0].near_cap = "harmony_parse", "Unknown role: wizard", True
    text = describe(summarise(cell, ClientFacts("benchgate", "0", users=1, stopped_by="time_cap", notes=["a note"])))
    assert "stopped by time_cap" in text
    assert "harmony_parse x 1, 1 near the cap: Unknown role: wizard" in text
    assert "note       a note" in text
