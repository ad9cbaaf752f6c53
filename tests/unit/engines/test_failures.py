"""Launch failures: the kind, and the line of the root cause."""

from __future__ import annotations

import pytest

from benchgate.engines import get_engine
from benchgate.records import ExitInfo
from benchgate.records import FailureKind as Kind
from tests.unit.engines.logs import sglang, vllm

CORE = "(EngineCore_DP0 pid=79) ERROR 08-30 12:00:00 [core.py:700] "
API = "(APIServer pid=1) "
DEATH = [  # how vLLM ends, whatever it was
    f"{API}Traceback (most recent call last):",
    f'{API}  File "/usr/local/bin/vllm", line 10, in <module>',
    f"{API}    sys.exit(main())",
    f"{API}RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{'EngineCore_DP0': 1}}",
]


def crash(cause: str) -> list[str]:
    """A log in which the engine process dies of ``cause`` and the front process repeats it."""
    return [
        "(APIServer pid=1) INFO 08-30 12:00:00 [api_server.py:1869] vLLM API server version 0.11.0",
        f"{CORE}EngineCore failed to start.",
        f"{CORE}Traceback (most recent call last):",
        f'{CORE}  File "/usr/lib/python3/site-packages/vllm/v1/engine/core.py", line 691, in run_engine_core',
        f"{CORE}    engine_core = EngineCoreProc(*args, **kwargs)",
        f"{CORE}{cause}",
        *DEATH,
    ]


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("openai_harmony.HarmonyError: error downloading or loading vocab file: failed to download or load vocab file", Kind.VOCAB_MISSING),
        ("openai_harmony.HarmonyError: invalid tiktoken vocab file: hash mismatch: computed=aa, expected=bb", Kind.VOCAB_MISSING),
        ("RuntimeError: error sending request for url (https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken)", Kind.VOCAB_MISSING),
        ("ValueError: Free memory on device (31.44/47.38 GiB) on startup is less than desired GPU memory utilization (0.95, 45.01 GiB). Decrease GPU memory utilization", Kind.GPU_MEMORY_IN_USE),
        ("ValueError: Free memory on device cuda:0 (3.44/139.8 GiB) on startup is less than desired GPU memory utilization (0.92, 128.62 GiB).", Kind.GPU_MEMORY_IN_USE),
        ("ValueError: To serve at least one request with the models's max seq len (32768), (4.50 GiB KV cache is needed, which is larger than the available KV cache memory (3.58 GiB)", Kind.KV_TOO_SMALL),
        ("ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648). Try increasing", Kind.KV_TOO_SMALL),
        ("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", Kind.KV_TOO_SMALL),
        ("RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs`", Kind.CUDA_OOM),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB", Kind.CUDA_OOM),
        ("torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", Kind.CUDA_OOM),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: can't allocate memory: you tried to allocate 429496729600 bytes.", Kind.HOST_OOM),
        ("OSError: [Errno 12] Cannot allocate memory", Kind.HOST_OOM),
        ("RuntimeError: Failed to allocate pinned memory of 400 GiB", Kind.HOST_OOM),
        ("KeyError: 'layers.0.mlp.experts.w13_weight_scale'", Kind.CHECKPOINT_MISMATCH),
        ("KeyError: 'model.layers.0.self_attn.qkv_proj.weight'", Kind.CHECKPOINT_MISMATCH),
        ("ValueError: There is no module or parameter named 'lm_head.bias' in GptOssForCausalLM", Kind.CHECKPOINT_MISMATCH),
        ("safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderDeserialization", Kind.CHECKPOINT_MISMATCH),
        ("ncclSystemError: Error while creating shared memory segment /dev/shm/nccl-Xy12 (size 9637888)", Kind.SHM_TOO_SMALL),
        ("OSError: [Errno 28] No space left on device: '/psm_1a2b3c'", Kind.SHM_TOO_SMALL),
        ("huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/x: offline mode is enabled.", Kind.OFFLINE_MISS),
        ("huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files in the disk cache and outgoing traffic has been disabled.", Kind.OFFLINE_MISS),
        ("OSError: We couldn't connect to 'https://huggingface.co' to load the files", Kind.OFFLINE_MISS),
        ("ValueError: Mxfp4 MoE backend 'FLASHINFER_TRTLLM' does not support the deployment configuration since kernel does not support current device cuda.", Kind.BAD_FLAG),
        ("ZeroDivisionError: division by zero", Kind.ENGINE_CORE_DIED),
        ("some.package.StrangeError: nobody knows", Kind.ENGINE_CORE_DIED),
    ],
)  # fmt: skip
def test_the_cause_is_named_and_not_the_last_line_of_the_last_traceback(cause: str, kind: Kind) -> None:
    facts = vllm(*crash(cause))

    assert not facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 6
    assert cause[:60] in facts.failure.evidence.text


def test_engine_gone_without_a_word_points_at_the_first_line_that_says_so() -> None:
    facts = vllm(*DEATH)

    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED


def test_a_workers_exception_is_the_cause_and_the_ones_above_it_are_not() -> None:
    worker = "(Worker_TP1 pid=99) ERROR 08-30 12:00:00 [multiproc_executor.py:597] "
    facts = vllm(
        f"{worker}WorkerProc failed to start.",
        f"{worker}Traceback (most recent call last):",
        f"{worker}    self.load()",
        f"{worker}AttributeError: 'NoneType' object has no attribute 'shape'",
        *crash(
            "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
        ),
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 4


def test_an_exception_in_the_front_process_is_a_frontend_crash() -> None:
    facts = vllm(
        f"{API}Traceback (most recent call last):",
        f'{API}  File "/x/tool_parsers/openai_tool_parser.py", line 3, in <module>',
        f"{API}ImportError: cannot import name 'thing' from 'somewhere'",
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.FRONTEND_CRASH
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 3


@pytest.mark.parametrize(
    "lines",
    [
        ["thread 'main' panicked at src/tool_parser.rs:41:9:", "called `Result::unwrap()` on an `Err` value"],
        ["Error: failed to initialize tool parser `openai`", "", "Caused by:", "    unknown name"],
    ],
)
def test_a_crash_of_the_rust_front_end_names_the_switch(lines: list[str]) -> None:
    facts = vllm(*lines)

    assert facts.failure is not None
    assert facts.failure.kind is Kind.FRONTEND_CRASH
    assert "VLLM_USE_RUST_FRONTEND=0" in facts.failure.reason


@pytest.mark.parametrize(
    "line",
    [
        "vllm: error: unrecognized arguments: --moe-kernel marlin",
        "usage: vllm serve [model_tag] [options]\nvllm serve: error: argument --kv-cache-dtype: invalid choice: 'fp7' (choose from auto, fp8)",
        "api_server.py: error: argument --max-model-len: invalid int value: 'long'",
    ],
)
def test_a_flag_that_the_engine_does_not_take(line: str) -> None:
    facts = vllm(*line.split("\n"))

    assert facts.failure is not None
    assert facts.failure.kind is Kind.BAD_FLAG


def test_a_setting_that_the_configuration_refuses() -> None:
    facts = vllm(
        f"{API}Traceback (most recent call last):",
        f"{API}pydantic_core._pydantic_core.ValidationError: 1 validation error for KernelConfig",
        f"{API}moe_backend",
        f"{API}  Input should be 'auto', 'triton', 'marlin' [type=literal_error, input_value='marlyn', input_type=str]",
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.BAD_FLAG
    assert "KernelConfig" in facts.failure.reason


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 98] Address already in use",
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    ],
)
def test_a_taken_port_is_found_although_the_application_had_started(line: str) -> None:
    facts = vllm("INFO:     Application startup complete.", line, "INFO:     Waiting for application shutdown.")

    assert facts.failure is not None
    assert facts.failure.kind is Kind.PORT_IN_USE
    assert not facts.ready


def test_a_port_that_was_found_after_a_taken_one_is_no_failure() -> None:
    facts = vllm("INFO 08-30 [network_utils.py:36] Port 8000 is already in use, trying port 8001")

    assert facts.failure is None


def test_a_cuda_error_below_a_pinned_buffer_is_the_hosts_memory() -> None:
    facts = vllm(
        f"{CORE}Traceback (most recent call last):",
        f"{CORE}    torch.zeros(shape, dtype=dtype, device='cpu', pin_memory=True)",
        f"{CORE}RuntimeError: CUDA error: out of memory",
        *DEATH,
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.HOST_OOM


def test_a_cuda_error_without_one_is_the_gpus_memory() -> None:
    facts = vllm(f"{CORE}RuntimeError: CUDA error: out of memory", *DEATH)

    assert facts.failure is not None
    assert facts.failure.kind is Kind.CUDA_OOM


def test_a_handled_exception_in_a_warning_is_not_the_cause() -> None:
    warning = "(APIServer pid=1) WARNING 08-30 12:00:00 [import_utils.py:1] "
    facts = vllm(
        f"{warning}Traceback (most recent call last):",
        f"{warning}ModuleNotFoundError: No module named 'optional'",
        "(APIServer pid=1) INFO:     Application startup complete.",
    )

    assert facts.ready
    assert facts.failure is None


@pytest.mark.parametrize(
    "line",
    [
        "(EngineCore pid=7) ERROR [repo_utils.py:65] Error retrieving file list: OfflineModeIsEnabled: Cannot reach https://huggingface.co/x",
        "(EngineCore pid=7) WARNING [cuda_mem_ops.py:1] cudaHostRegister failed: 2; copies will not be pinned",
        "(EngineCore pid=7) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB; retrying with less",
    ],
)
def test_what_a_server_got_over_before_it_was_ready_is_no_failure(line: str) -> None:
    facts = vllm(line, f"{API}INFO:     Application startup complete.")

    assert facts.ready
    assert facts.failure is None


def test_an_orderly_shutdown_is_not_a_death() -> None:
    facts = vllm(
        f"{API}INFO:     Application startup complete.",
        f"{API}INFO:     Shutting down",
        f"{API}ERROR [core_client.py:600] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.",
    )

    assert facts.failure is None


def test_an_engine_that_dies_while_serving_is_named_with_its_exception() -> None:
    facts = vllm(
        f"{API}INFO:     Application startup complete.",
        f"{CORE}EngineCore encountered a fatal error.",
        f"{CORE}Traceback (most recent call last):",
        f"{CORE}RuntimeError: a kernel failed",
        f"{API}ERROR [async_llm.py:480] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
    )

    assert facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 4


def test_memory_that_runs_out_while_serving_counts() -> None:
    facts = vllm(
        f"{API}INFO:     Application startup complete.",
        f"{CORE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.CUDA_OOM


def test_a_bad_request_is_not_a_launch_failure() -> None:
    facts = vllm(
        f"{API}INFO:     Application startup complete.",
        f"{API}Traceback (most recent call last):",
        f"{API}KeyError: 'layers'",
        f"{API}ValueError: The prompt is too long",
    )

    assert facts.failure is None


@pytest.mark.parametrize(
    ("lines", "kind", "line"),
    [
        (
            [
                "[2025-11-02 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
                '  File "/x/scheduler.py", line 2, in run',
                "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.5",
            ],
            Kind.KV_TOO_SMALL,
            3,
        ),
        (
            [
                "[2025-11-02 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
                '  File "/x/scheduler.py", line 2, in run',
                "IndexError: list index out of range",
                "[2025-11-02 10:00:00] Received sigquit from a child process. It usually means the child failed.",
            ],
            Kind.ENGINE_CORE_DIED,
            3,
        ),
        (["launch_server.py: error: unrecognized arguments: --moe-backend triton"], Kind.BAD_FLAG, 1),
        (
            [
                "[2025-11-02 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            ],
            Kind.CUDA_OOM,
            2,
        ),
        (
            [
                "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=1, local_gpu_memory=2"
            ],
            Kind.GPU_MEMORY_IN_USE,
            1,
        ),
        (
            [
                "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='openaipublic.blob.core.windows.net', port=443): Max retries exceeded with url: /encodings/o200k_base.tiktoken"
            ],
            Kind.VOCAB_MISSING,
            1,
        ),
    ],
)
def test_sglangs_failures(lines: list[str], kind: Kind, line: int) -> None:
    facts = sglang(*lines)

    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == line


@pytest.mark.parametrize(
    ("exit_info", "timed_out", "kind"),
    [
        (ExitInfo(exit_code=137, oom_killed=True), False, Kind.HOST_OOM),
        (ExitInfo(exit_code=137, oom_killed=False), False, Kind.KILLED),
        (ExitInfo(exit_code=-9), False, Kind.KILLED),
        (ExitInfo(signal="SIGTERM"), False, Kind.KILLED),
        (ExitInfo(exit_code=135), False, Kind.SHM_TOO_SMALL),
        (ExitInfo(exit_code=139), False, Kind.FRONTEND_CRASH),
        (ExitInfo(), True, Kind.TIMEOUT),
        (ExitInfo(exit_code=1), False, Kind.UNKNOWN),
        (ExitInfo(exit_code=0), False, Kind.UNKNOWN),
    ],
)
def test_how_a_server_ended_names_the_kind_when_its_log_does_not(
    exit_info: ExitInfo, timed_out: bool, kind: Kind
) -> None:
    engine = get_engine("vllm")

    failure = engine.failure(vllm("nothing"), exit_info, timed_out=timed_out)

    assert failure.kind is kind
    assert failure.reason


def test_the_kernels_word_beats_the_log_and_the_log_beats_the_signal() -> None:
    engine, facts = get_engine("vllm"), vllm(*crash("RuntimeError: CUDA out of memory occurred when warming up"))

    assert engine.failure(facts, ExitInfo(exit_code=137, oom_killed=True)).kind is Kind.HOST_OOM
    assert engine.failure(facts, ExitInfo(exit_code=137, oom_killed=False)).kind is Kind.CUDA_OOM
    assert engine.failure(facts, ExitInfo(), timed_out=True).kind is Kind.CUDA_OOM
