"""Arguments against an engine version's own help."""

from __future__ import annotations

from benchgate.engines import get_engine
from benchgate.engines.arguments import flags_in_help, unknown_arguments
from benchgate.engines.models import is_harmony

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


def test_harmony_models() -> None:
    assert is_harmony("openai/gpt-oss-120b")
    assert is_harmony("unsloth/gpt_oss_20b-FP8")
    assert not is_harmony("Qwen/Qwen3-30B-A3B")
