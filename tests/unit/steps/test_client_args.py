"""From a planned cell to the load generator's command line."""

from __future__ import annotations

import argparse

import pytest

from benchgate.cli import bench_command
from benchgate.cli.bench_options import goodput_limits
from benchgate.spec.campaign import Goodput, WorkloadSpec
from benchgate.steps.client_args import bench_args, cell_seed
from tests.support.runs import planned_cell

CLOSED = WorkloadSpec(dataset="synthetic", prompt_tokens=64, users=[1, 4], requests=20, max_tokens=16, max_seconds=30)
OPEN = WorkloadSpec(
    dataset="/data/s.json",
    request_rates=[2.5],
    arrivals="burst",
    max_seconds=60,
    ramp_seconds=5,
    endpoint="completions",
    ignore_eos=True,
    temperature=None,
    stop_on_error_rate=0.5,
    warmup_requests=0,
    goodput=Goodput(ttft_ms=200, tpot_ms=50),
    extra_body={"top_p": 0.9},
)


def parsed(args: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    bench_command.add_arguments(parser)
    return parser.parse_args(args[1:])


def test_a_closed_loop_cell_is_what_the_bench_command_understands() -> None:
    args = bench_args(CLOSED, planned_cell(), base_url="http://h:1", model="m", dataset="synthetic")

    options = parsed(args)
    config = bench_command.config_of(options)
    assert args[0] == "bench"
    assert (config.users, config.request_rate) == (4, None)
    assert (config.num_prompts, config.max_tokens, config.prompt_tokens) == (20, 16, 64)
    assert config.max_seconds == 30
    assert options.progress == "json"


def test_an_open_loop_cell_keeps_every_setting_of_its_workload() -> None:
    args = bench_args(
        OPEN, planned_cell(users=None, rate=2.5), base_url="http://h:1", model="m", dataset="/datasets/s.json"
    )

    options = parsed(args)
    config = bench_command.config_of(options)
    limits = goodput_limits(options.goodput)
    assert (config.users, config.request_rate, config.arrivals) == (None, 2.5, "burst")
    assert (config.endpoint, config.ignore_eos, config.ramp_seconds, config.warmup) == ("completions", True, 5, 0)
    assert config.extra_body == {"top_p": 0.9}
    assert config.stop_on_error_rate == 0.5
    assert config.temperature is None
    assert limits is not None
    assert (limits.ttft_ms, limits.tpot_ms, limits.e2e_ms) == (200, 50, None)


def test_arms_get_the_same_prompts_and_two_cells_of_a_launch_never_do() -> None:
    same = {cell_seed(CLOSED, planned_cell(f"{arm}@here/one")) for arm in ("a", "b")}
    different = {cell_seed(CLOSED, planned_cell(users=users, repeat=repeat)) for users in (1, 4) for repeat in (1, 2)}

    assert len(same) == 1
    assert len(different) == 4


@pytest.mark.parametrize("repeat", [1, 2])
def test_measuring_once_more_sends_other_prompts(repeat: int) -> None:
    assert cell_seed(CLOSED, planned_cell(repeat=repeat)) != cell_seed(CLOSED, planned_cell(repeat=repeat), again=True)


def test_a_tokenizer_that_failed_in_this_launch_is_not_asked_again() -> None:
    why = "it answered 500: Integer exceeds 64-bit range"

    args = bench_args(
        CLOSED, planned_cell(), base_url="http://h:1", model="m", dataset="synthetic", tokenize_refused=why
    )

    assert bench_command.config_of(parsed(args)).tokenize_refused == why
    asks = bench_args(CLOSED, planned_cell(), base_url="http://h:1", model="m", dataset="synthetic")
    assert bench_command.config_of(parsed(asks)).tokenize_refused is None
