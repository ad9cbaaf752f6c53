"""The server logs of the H200 runs in docs/h200.md: what each proves, and what its silence does not."""

from __future__ import annotations

import re

import pytest

from benchgate.engines import get_engine
from benchgate.engines.base import LogFacts
from tests.unit.engines.logs import capture, value

ONCE = (  # what vLLM names of a Triton server's life, in the order in which it does
    "_topk_forward",
    "_sum_bitmatrix_rows",
    "_combined_routing_memset",
    "define_kernel.<locals>._empty_fn",
    "_patch_legacy_routing_for_nonpow2_topk.<locals>._combined_routing_compute_pow2",
)


def read(name: str) -> LogFacts:
    return get_engine("vllm").parse_log(capture(f"{name}.log"))


def compiled(name: str) -> list[tuple[int | None, str]]:
    """(line, kernel) of every compile event."""
    found = []
    for event in get_engine("vllm").compile_events(capture(f"{name}.log")):
        match = re.search(r"during inference: (\S+?)\.? (?:This|\()", event.text)
        found.append((event.line, match.group(1) if match else event.text))
    return found


@pytest.mark.parametrize(
    ("name", "kernel", "weights", "pool", "concurrency", "reserved", "graphs", "init", "compiling"),
    [
        ("h200-triton-gpu0", "triton", 13.03, 4359959, 33.26, 112.38, 13.0, 68.3, 23.73),
        ("h200-marlin-gpu0", "marlin", 13.8, 4308652, 32.87, 111.05, 3.0, 55.11, 17.25),
        ("h200-swap-triton-gpu1", "triton", 13.03, 4359959, 33.26, 112.38, 8.0, 29.55, 2.38),
        ("h200-swap-marlin-gpu1", "marlin", 13.8, 4308652, 32.87, 111.05, 2.0, 53.78, 20.64),
        ("h200-120b-triton-verbose-jit", "triton", 61.43, 1653780, 12.62, 63.94, 16.0, 75.86, 27.04),
    ],
)
def test_kernel_pool_weights_and_times_are_proven(
    name: str,
    kernel: str,
    weights: float,
    pool: int,
    concurrency: float,
    reserved: float,
    graphs: float,
    init: float,
    compiling: float,
) -> None:
    facts = read(name)

    assert {
        key: value(facts, key)
        for key in ("moe_kernel", "moe_kernel_requested", "weights_gib", "kv_tokens", "max_concurrency")
    } == {
        "moe_kernel": kernel,
        "moe_kernel_requested": kernel,
        "weights_gib": weights,
        "kv_tokens": pool,
        "max_concurrency": concurrency,
    }
    assert {
        key: value(facts, key)
        for key in ("memory_reserved_gib", "graph_capture_seconds", "init_seconds", "compile_seconds", "kv_meaning")
    } == {
        "memory_reserved_gib": reserved,
        "graph_capture_seconds": graphs,
        "init_seconds": init,
        "compile_seconds": compiling,
        "kv_meaning": "max_concurrency_x_max_model_len",
    }
    assert facts.ready
    assert facts.failure is None


def test_the_pool_is_concurrency_times_length_as_its_meaning_says() -> None:
    for name in ("h200-triton-gpu0", "h200-marlin-gpu0", "h200-120b-triton-verbose-jit"):
        facts = read(name)
        pool, times, length = (value(facts, key) for key in ("kv_tokens", "max_concurrency", "max_model_len"))
        assert float(str(pool)) == pytest.approx(float(str(times)) * float(str(length)), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("h200-triton-gpu0", (102, 103, 104, 105, 614)),
        ("h200-swap-triton-gpu1", (101, 102, 103, 104, 493)),
    ],
)
def test_by_default_each_kernel_is_named_once_however_often_it_is_compiled(name: str, lines: tuple[int, ...]) -> None:
    # four with the first chat, one in a warm-up: none of them in a measured window, and yet these servers stood still
    # for seconds in windows that followed (tests/fixtures/metrics/h200_short_64_users.json)
    assert compiled(name) == list(zip(lines, ONCE, strict=True))


@pytest.mark.parametrize("name", ["h200-marlin-gpu0", "h200-swap-marlin-gpu1"])
def test_marlin_compiles_nothing_under_load(name: str) -> None:
    assert compiled(name) == []
    assert read(name).warnings == []


def test_the_verbose_monitor_says_which_shape_a_kernel_was_compiled_for() -> None:
    events = get_engine("vllm").compile_events(capture("h200-120b-triton-verbose-jit.log"))

    assert compiled("h200-120b-triton-verbose-jit") == [(94, ONCE[0]), (95, ONCE[1]), (96, ONCE[2])]
    # the rows of the batch, rounded up to 32, are a constant of the kernel: each new number is another compilation
    assert "stride_rn=96" in events[0].text


def test_a_second_compilation_of_a_kernel_is_an_event_of_its_own_when_the_log_has_it() -> None:
    first, *_ = get_engine("vllm").compile_events(capture("h200-120b-triton-verbose-jit.log"))
    again = first.text.replace("13:11:33", "13:14:11").replace("stride_rn=96", "stride_rn=7200")  # as it was logged

    assert len(get_engine("vllm").compile_events([first.text, again])) == 2
