"""From an arm to a command line: vLLM and SGLang."""

from __future__ import annotations

import dataclasses

import pytest

from benchgate.engines import get_engine
from benchgate.engines.base import ServerRequest
from benchgate.errors import BenchgateError

REQUEST = ServerRequest(
    model_path="openai/gpt-oss-20b",
    served_model_name="openai/gpt-oss-20b",
    args={"max-model-len": 65536, "gpu-memory-utilization": 0.85, "max-num-seqs": 32},
    env={},
    host="0.0.0.0",
    port=8000,
    image_entrypoint=["vllm", "serve"],
)


def argv(engine: str = "vllm", **changes: object) -> list[str]:
    return get_engine(engine).command(dataclasses.replace(REQUEST, **changes)).argv  # type: ignore[arg-type]


def test_the_published_command_flag_for_flag() -> None:
    assert argv() == [
        "openai/gpt-oss-20b",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--max-model-len",
        "65536",
        "--gpu-memory-utilization",
        "0.85",
        "--max-num-seqs",
        "32",
    ]


def test_another_entrypoint_is_replaced_and_vllms_own_are_kept() -> None:
    engine = get_engine("vllm")

    unknown = engine.command(dataclasses.replace(REQUEST, image_entrypoint=["/bin/sh", "-c"]))
    bare = engine.command(dataclasses.replace(REQUEST, image_entrypoint=["/usr/bin/vllm", "vllm"]))
    old = engine.command(
        dataclasses.replace(REQUEST, image_entrypoint=["python3", "-m", "vllm.entrypoints.openai.api_server"])
    )

    assert (unknown.entrypoint, unknown.argv[0]) == (["vllm", "serve"], "openai/gpt-oss-20b")
    assert (bare.entrypoint, bare.argv[:2]) == (None, ["serve", "openai/gpt-oss-20b"])
    assert (old.entrypoint, old.argv[:2]) == (None, ["--model", "openai/gpt-oss-20b"])


def test_without_a_container_the_whole_command_is_written() -> None:
    assert argv(in_container=False)[:3] == ["vllm", "serve", "openai/gpt-oss-20b"]
    assert argv("sglang", in_container=False)[:5] == [
        "python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "openai/gpt-oss-20b",
    ]


def test_a_path_gets_the_model_id_as_its_served_name() -> None:
    words = argv(model_path="/model")

    assert words[:7] == ["/model", "--host", "0.0.0.0", "--port", "8000", "--served-model-name", "openai/gpt-oss-20b"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"enforce-eager": True}, ["--enforce-eager"]),
        ({"enable-prefix-caching": False}, ["--no-enable-prefix-caching"]),
        (
            {"speculative-config": {"method": "eagle3", "num_speculative_tokens": 3}},
            ["--speculative-config", '{"method": "eagle3", "num_speculative_tokens": 3}'],
        ),
        ({"cudagraph-capture-sizes": [1, 2, 4]}, ["--cudagraph-capture-sizes", "1", "2", "4"]),
        ({"max_num_seqs": 8}, ["--max_num_seqs", "8"]),
        ({"-tp": 2}, ["-tp", "2"]),
        ({"kv-offloading-size": None}, []),
        ({"hf-overrides": "{}"}, ["--hf-overrides", "{}"]),
    ],
)
def test_values_of_every_kind(args: dict[str, object], words: list[str]) -> None:
    assert argv(args=args)[5:] == words


def test_the_order_is_the_campaigns() -> None:
    assert argv(args={"b": 1, "a": 2})[5:] == ["--b", "1", "--a", "2"]


@pytest.mark.parametrize("name", ["port", "host", "model", "--port"])
def test_what_the_placement_decides_is_not_an_arms(name: str) -> None:
    with pytest.raises(BenchgateError, match=name):
        argv(args={name: "1"})


@pytest.mark.parametrize("variable", ["TIKTOKEN_ENCODINGS_BASE", "TIKTOKEN_RS_CACHE_DIR"])
@pytest.mark.parametrize(
    ("url", "plain"), [("file:///vocab", "/vocab"), ("file://vocab", "/vocab"), ("https://x/encodings", "/vocab")]
)
def test_a_vocabulary_as_url_is_refused_before_anything_starts(variable: str, url: str, plain: str) -> None:
    for engine in ("vllm", "sglang"):
        with pytest.raises(BenchgateError, match=f"{variable}.*URL.*write {plain}"):
            argv(engine, env={variable: url}, args={})


def test_the_seeded_vocabulary_is_where_the_server_looks() -> None:
    command = get_engine("vllm").command(dataclasses.replace(REQUEST, vocab_dir="/vocab"))

    assert command.env["TIKTOKEN_ENCODINGS_BASE"] == "/vocab"


def test_a_server_without_egress_knows_it() -> None:
    engine = get_engine("vllm")

    env = engine.command(dataclasses.replace(REQUEST, env={"VLLM_USE_RUST_FRONTEND": "0"})).env

    assert env == {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_USE_RUST_FRONTEND": "0",
    }
    assert engine.command(dataclasses.replace(REQUEST, offline=False)).env == {}


@pytest.mark.parametrize(
    ("args", "gpus", "fits"),
    [
        ({"data-parallel-size": 4}, 4, True),
        ({"data-parallel-size": 4}, 2, False),
        ({"tensor-parallel-size": 2, "data-parallel-size": 2}, 4, True),
        ({"tensor-parallel-size": 4, "pipeline-parallel-size": 2}, 4, False),
        ({"data-parallel-size": 8, "data-parallel-size-local": 4}, 4, True),
        ({}, 4, True),
        ({"tensor-parallel-size": 2}, 0, True),
    ],
)
def test_gpus_of_the_placement_against_the_parallel_sizes(args: dict[str, object], gpus: int, fits: bool) -> None:
    if fits:
        argv(args=args, gpu_count=gpus)
    else:
        with pytest.raises(BenchgateError, match=f"placement has {gpus}"):
            argv(args=args, gpu_count=gpus)


def test_a_served_name_that_requests_will_not_ask_for_is_refused() -> None:
    assert argv(args={"served-model-name": ["openai/gpt-oss-20b", "short"]})[5:] == [
        "--served-model-name",
        "openai/gpt-oss-20b",
        "short",
    ]
    with pytest.raises(BenchgateError, match="served-model-name"):
        argv(args={"served-model-name": "short"})


def test_sglang_command() -> None:
    command = get_engine("sglang").command(
        dataclasses.replace(
            REQUEST,
            image_entrypoint=[],
            args={
                "reasoning-parser": "gpt-oss",
                "moe-runner-backend": "triton_kernel",
                "disable-radix-cache": False,
                "tp": 2,
            },
        )
    )

    assert command.entrypoint == ["python3", "-m", "sglang.launch_server"]
    assert command.argv == [
        "--model-path",
        "openai/gpt-oss-20b",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--reasoning-parser",
        "gpt-oss",
        "--moe-runner-backend",
        "triton_kernel",
        "--tp",
        "2",
        "--enable-metrics",
    ]


@pytest.mark.parametrize(
    ("args", "env", "gib"),
    [
        ({}, {}, 0),
        ({"kv-offloading-size": 96, "data-parallel-size": 4}, {}, 384),
        ({"kv-offloading-size": 400, "data-parallel-size": 4}, {}, 1600),
        ({"kv_offloading_size": 96, "tensor-parallel-size": 4}, {}, 96),
        ({"cpu-offload-gb": 10, "tensor-parallel-size": 2, "data-parallel-size": 2}, {}, 40),
        (
            {
                "kv-transfer-config": {
                    "kv_connector": "OffloadingConnector",
                    "kv_connector_extra_config": {"cpu_bytes_to_use": 96 * 2**30},
                },
                "data-parallel-size": 4,
            },
            {},
            384,
        ),
        (
            {
                "kv-transfer-config": '{"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 1073741824}}'
            },
            {},
            1,
        ),
        (
            {"kv-transfer-config": {"kv_connector": "LMCacheConnectorV1"}, "tensor-parallel-size": 2},
            {"LMCACHE_MAX_LOCAL_CPU_SIZE": "50"},
            100,
        ),
    ],
)
def test_host_memory_that_an_arm_pins_counts_every_replica(
    args: dict[str, object], env: dict[str, str], gib: float
) -> None:
    assert get_engine("vllm").pinned_host_memory_gib(args, env) == pytest.approx(gib)


def test_a_size_that_is_no_number_is_named() -> None:
    with pytest.raises(BenchgateError, match="kv-offloading-size"):
        get_engine("vllm").pinned_host_memory_gib({"kv-offloading-size": "lots"}, {})


def test_an_unknown_engine_names_the_known_ones() -> None:
    with pytest.raises(BenchgateError, match="vllm, sglang, llamacpp"):
        get_engine("tgi")
