"""Arguments against an engine version's own help."""

from __future__ import annotations

import gzip

import pytest

from benchgate.engines import get_engine
from benchgate.engines.arguments import flags_in_help, unknown_arguments
from tests.unit.engines.logs import FIXTURES

HELP = """
usage: vllm serve [model_tag] [options]

options:
  --moe-backend {auto,triton,marlin}
                        Backend for MoE, see --kernel-config. (default: auto)
  --enable-prefix-caching, --no-enable-prefix-caching
                        Whether to enable prefix caching.
  --tensor-parallel-size TENSOR_PARALLEL_SIZE, -tp TENSOR_PARALLEL_SIZE
  --max-num-seqs MAX_NUM_SEQS
  --kv-offloading-size SIZE     in GiB, e.g. --kv-offloading-size=96
  --compilation-config COMPILATION_CONFIG, -cc COMPILATION_CONFIG, -O COMPILATION_CONFIG
"""


def names(args: dict[str, object]) -> list[str]:
    return [unknown.name for unknown in get_engine("vllm").unknown_arguments(args, HELP)]


def test_known_arguments_pass_in_every_spelling() -> None:
    assert (
        names(
            {
                "moe-backend": "marlin",
                "max_num_seqs": 4,
                "-tp": 2,
                "enable-prefix-caching": False,
                "compilation-config.level": 3,
                "-O": 3,
            }
        )
        == []
    )


def test_a_renamed_flag_is_found_with_what_it_may_be_now() -> None:
    (unknown,) = get_engine("vllm").unknown_arguments({"moe-kernel-backend": "marlin"}, HELP)

    assert "--moe-backend" in unknown.nearest
    assert "args.moe-kernel-backend" in str(unknown)
    assert "did you mean" in str(unknown)


def test_a_short_name_without_its_dash_is_told_the_dash() -> None:
    (unknown,) = get_engine("vllm").unknown_arguments({"tp": 2}, HELP)

    assert unknown.nearest[0] == "-tp"


def test_switching_off_a_switch_that_has_no_off_is_found() -> None:
    assert names({"moe-backend": False}) == ["moe-backend"]


def test_a_removed_argument_is_not_asked_for() -> None:
    assert names({"swap-space": None}) == []


def test_a_help_that_says_nothing_accuses_nobody() -> None:
    assert unknown_arguments({"anything": 1}, "RuntimeError: Failed to infer device type", false_as_no=True) == []


def test_flags_are_read_wherever_they_stand() -> None:
    assert {"--moe-backend", "-tp", "--no-enable-prefix-caching", "-O"} <= flags_in_help(HELP)
    assert "-device" not in flags_in_help("multi-device setups")


def test_what_prose_names_is_no_flag_of_this_version() -> None:
    text = """options:
  --enable-log-requests, --no-enable-log-requests
                        Replaces
                        --disable-log-requests, which
                        is gone; also see --log-level. (default: False)
  --kv-cache-dtype {auto,fp8}, -k {auto,fp8}
"""

    flags = flags_in_help(text)

    assert flags == {"--enable-log-requests", "--no-enable-log-requests", "--kv-cache-dtype", "-k"}
    (unknown,) = get_engine("vllm").unknown_arguments({"disable-log-requests": True}, text)
    assert "--enable-log-requests" in unknown.nearest


def test_an_answer_to_a_search_accuses_nobody() -> None:
    """vLLM 0.9 and 0.10 take --help=all for a search after flags with "all" in their names."""
    text = """
Parameters matching 'all':

  --allow-credentials   Allow credentials. (default: False)
  --enable-multimodal-encoder-data-parallel, --disable-custom-all-reduce
"""

    assert get_engine("vllm").unknown_arguments({"max-model-len": 4096}, text) == []


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
def test_a_whole_help_is_told_by_a_flag_that_every_version_has(engine: str) -> None:
    assert get_engine(engine).help_lists.startswith("--")


SGLANG_HELP = """usage: launch_server.py [-h] --model-path MODEL_PATH
                        [--context-length CONTEXT_LENGTH]
                        [--moe-runner-backend {auto,triton,flashinfer_cutlass}]
                        [--tensor-parallel-size TENSOR_PARALLEL_SIZE]
                        [--enable-metrics]

options:
  -h, --help            show this help message and exit
  --model-path MODEL_PATH, --model MODEL_PATH
                        The path of the model weights.
  --context-length CONTEXT_LENGTH
                        The model's maximum context length.
  --moe-runner-backend {auto,triton,flashinfer_cutlass}
                        Choose the runner backend for MoE.
  --tensor-parallel-size TENSOR_PARALLEL_SIZE, --tp-size TENSOR_PARALLEL_SIZE, --tp TENSOR_PARALLEL_SIZE
                        The tensor parallelism size.
  --enable-metrics      Enable log prometheus metrics.
"""


def test_sglang_knows_its_aliases_and_takes_no_underscores() -> None:
    args = {"tp": 2, "tp-size": 2, "moe-runner-backend": "triton", "enable-metrics": True, "context_length": 8192}

    (unknown,) = get_engine("sglang").unknown_arguments(args, SGLANG_HELP)

    assert unknown.name == "context_length"
    assert unknown.nearest[0] == "--context-length"


def test_a_beginning_that_only_one_flag_has_is_that_flag() -> None:
    """SGLang 0.5.23 has --tp-size and takes --tp for it; --cuda-graph-max-bs became two flags."""
    real = gzip.decompress((FIXTURES / "sglang-0.5.23-flags.txt.gz").read_bytes()).decode()

    unknown = get_engine("sglang").unknown_arguments({"tp": 2, "dp": 2, "cuda-graph-max-bs": 32}, real)

    assert [found.name for found in unknown] == ["cuda-graph-max-bs"]
    assert unknown[0].nearest[:2] == ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")


def test_arguments_of_the_spark_campaign_against_the_real_flags_of_sglang() -> None:
    real = gzip.decompress((FIXTURES / "sglang-0.5.23-flags.txt.gz").read_bytes()).decode()
    args = {
        "context-length": 65536,
        "reasoning-parser": "gpt-oss",
        "tool-call-parser": "gpt-oss",
        "moe-runner-backend": "marlin",
        "attention-backend": "triton",
        "mem-fraction-static": 0.85,
        "max-running-requests": 32,
        "enable-metrics": True,
        "enable-moe-ep": True,
    }

    unknown = get_engine("sglang").unknown_arguments(args, real)

    assert [found.name for found in unknown] == ["enable-moe-ep"]


def test_dotted_arguments_of_a_configuration_are_known_by_their_first_part() -> None:
    args = {"compilation-config.mode": 3, "compilation_config.pass_config.fuse_norm": True, "kernel-config.x": 1}

    assert names(args) == ["kernel-config.x"]


def test_arguments_of_a_write_up_against_the_real_help_of_a_later_version() -> None:
    real = gzip.decompress((FIXTURES / "vllm-0.27.1-help-all.txt.gz").read_bytes()).decode()
    args = {
        "max-model-len": 131072,
        "gpu-memory-utilization": 0.85,
        "max_num_seqs": 32,
        "data-parallel-size": 4,
        "moe-backend": "marlin",
        "kv-offloading-size": 96,
        "enable-prefix-caching": False,
        "speculative-config": {"method": "eagle3"},
        "-O": 3,
        "swap-space": 4,
        "disable-log-requests": True,
    }

    unknown = get_engine("vllm").unknown_arguments(args, real)

    assert [found.name for found in unknown] == ["swap-space", "disable-log-requests"]
    assert "--enable-log-requests" in unknown[1].nearest
