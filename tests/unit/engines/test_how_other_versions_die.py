"""Deaths of versions, models and machines that no capture has: kind and root-cause line.

The lines have the shape that the versions' sources print; the numbers are made up.
"""

from __future__ import annotations

import pytest

from benchgate.records import FailureKind as Kind
from tests.unit.engines.logs import sglang, vllm

CORE = "(EngineCore_DP0 pid=311) ERROR 10-02 07:11:12 [core.py:842] "
API = "(APIServer pid=1) "
PARENT = [
    f"{API}Traceback (most recent call last):",
    f'{API}  File "/usr/local/bin/vllm", line 10, in <module>',
    f"{API}    sys.exit(main())",
    f"{API}RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {{}}",
]


def in_the_engine(*cause: str) -> list[str]:
    """The engine process dies with ``cause`` as the end of its traceback, line 5 on; its parent repeats it."""
    return [
        f"{API}INFO 10-02 07:10:00 [api_server.py:1971] vLLM API server version 0.14.1",
        f"{CORE}EngineCore failed to start.",
        f"{CORE}Traceback (most recent call last):",
        f'{CORE}  File "/vllm/v1/engine/core.py", line 833, in run_engine_core',
        *(f"{CORE}{line}" for line in cause),
        *PARENT,
    ]


def in_front(*cause: str) -> list[str]:
    """The server's own process dies, line 4 on, before an engine process exists."""
    return [
        f"{API}INFO 10-02 07:10:00 [api_server.py:1971] vLLM API server version 0.14.1",
        f"{API}Traceback (most recent call last):",
        f'{API}  File "/vllm/engine/arg_utils.py", line 1213, in create_model_config',
        *(f"{API}{line}" for line in cause),
    ]


@pytest.mark.parametrize(
    ("cause", "kind", "says"),
    [
        # the GPU, its driver, and the build
        ("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device", Kind.ENGINE_CORE_DIED, "no kernels for this GPU"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver", Kind.ENGINE_CORE_DIED, "driver is too old"),
        ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", Kind.ENGINE_CORE_DIED, "driver is too old"),
        ("RuntimeError: No CUDA GPUs are available", Kind.ENGINE_CORE_DIED, "sees no GPU"),
        ("torch.AcceleratorError: CUDA error: invalid device ordinal", Kind.ENGINE_CORE_DIED, "a GPU that it does not see"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", Kind.ENGINE_CORE_DIED, "illegal memory access"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376. Reducing block sizes may help.", Kind.ENGINE_CORE_DIED, "131072 of 101376"),
        # NCCL, and what is behind it
        ("torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled cuda error, NCCL version 2.27.3", Kind.ENGINE_CORE_DIED, "NCCL"),
        ("RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)", Kind.ENGINE_CORE_DIED, "NCCL"),
        ("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:94, ncclUnhandledCudaError: Cuda failure 2 'out of memory'", Kind.CUDA_OOM, "out of memory"),
        # memory
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.05 GiB. GPU 3 has a total capacity of 139.80 GiB of which 612.00 MiB is free.", Kind.CUDA_OOM, "GPU ran out of memory"),
        ("RuntimeError: CUDA out of memory occurred when warming up pooler (task='embed') with 256 dummy requests.", Kind.CUDA_OOM, "GPU ran out of memory"),
        ("ValueError: To serve at least one request with the model's max seq len (262144), (48.00 GiB KV cache is needed, which is larger than the available KV cache memory (31.25 GiB). Based on the available memory, the estimated maximum model length is 170656.", Kind.KV_TOO_SMALL, "262144 tokens"),
        ("ValueError: Available memory on node 0 (11.20/31.00 GiB) on startup is less than desired CPU memory utilization (0.92, 28.52 GiB).", Kind.HOST_OOM, "CPU backend"),
        ("RuntimeError: Insufficient space in /dev/shm: 160 MiB required, 64 MiB free. Increase /dev/shm (e.g. --shm-size or --ipc=host).", Kind.SHM_TOO_SMALL, "/dev/shm"),
        ("OSError: [Errno 28] No space left on device: '/root/.cache/vllm/torch_compile_cache'", Kind.ENGINE_CORE_DIED, "disk is full"),
        # the model
        ("ValueError: Following weights were not initialized from checkpoint: {'model.layers.3.mlp.experts.w2_weight'}", Kind.CHECKPOINT_MISMATCH, "lacks tensors"),
        ("KeyError: 'model.layers.12.mlp.experts.w13_weight_scale_2'", Kind.CHECKPOINT_MISMATCH, "does not know"),
    ],
)  # fmt: skip
def test_what_the_engine_process_dies_of(cause: str, kind: Kind, says: str) -> None:
    facts = vllm(*in_the_engine(cause))

    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert says in facts.failure.reason
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 5


@pytest.mark.parametrize(
    ("cause", "kind", "says"),
    [
        (["pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
          "  Value error, Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys([...])"], Kind.CHECKPOINT_MISMATCH, "Qwen9ForCausalLM"),
        (["pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
          "  Value error, The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize this architecture."], Kind.CHECKPOINT_MISMATCH, "model's type"),
        (["pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
          "  Value error, User-specified max_model_len (262144) is greater than the derived max_model_len (max_position_embeddings=131072 or model_max_length=None in model's config.json)."], Kind.BAD_FLAG, "262144"),
        (["ValueError: The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 80."], Kind.CHECKPOINT_MISMATCH, "fp8"),
        (["ValueError: Quantization method specified in the model config (mxfp4) does not match the quantization method specified in the `quantization` argument (fp8)."], Kind.BAD_FLAG, "quantization"),
        (["ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5."], Kind.BAD_FLAG, "Bfloat16"),
        (["ValueError: Total number of attention heads (40) must be divisible by tensor parallel size (3)."], Kind.BAD_FLAG, "split over that many"),
        (["ValueError: World size (8) is larger than the number of available GPUs (4) in this node."], Kind.BAD_FLAG, "GPUs"),
        (["ValueError: Tensor parallel size (8) cannot be larger than the number of available GPUs (4)."], Kind.BAD_FLAG, "GPUs"),
        (["ValueError: max_num_batched_tokens (8192) is smaller than max_model_len (131072)."], Kind.BAD_FLAG, "8192"),
        (["RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging"], Kind.FRONTEND_CRASH, "sees no GPU"),
        (["ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"], Kind.FRONTEND_CRASH, "GPU driver"),
        (["ValueError: The repository for moonshotai/Kimi-Linear-48B-A3B-Instruct contains custom code which must be executed. Please pass the argument `trust_remote_code=True` to allow custom code to be run."], Kind.BAD_FLAG, "code of its own"),
        (["huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-68)",
          "", "Cannot access gated repo for url https://huggingface.co/meta-llama/Llama-3.3-70B-Instruct/resolve/main/config.json."], Kind.OFFLINE_MISS, "Hub"),
        (["huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1-68)"], Kind.OFFLINE_MISS, "Hub"),
    ],
)  # fmt: skip
def test_what_the_front_process_dies_of(cause: list[str], kind: Kind, says: str) -> None:
    facts = vllm(*in_front(*cause))

    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert says in facts.failure.reason
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line in {4, 5}


def test_a_worker_of_the_first_engine_generation() -> None:
    """vLLM 0.6: one process a GPU, its error in a logger's line, and a parent that only points at it."""
    worker = "(VllmWorkerProcess pid=612) ERROR 09-20 03:00:00 multiproc_worker_utils.py:233] "
    facts = vllm(
        "INFO 09-20 02:59:00 api_server.py:526] vLLM API server version 0.6.2",
        f"{worker}Exception in worker VllmWorkerProcess while processing method init_device: CUDA error: out of memory, Traceback (most recent call last):",
        f'{worker}  File "/vllm/executor/multiproc_worker_utils.py", line 226, in _run_worker_process',
        f"{worker}RuntimeError: CUDA error: out of memory",
        "Process SpawnProcess-1:",
        "Traceback (most recent call last):",
        "RuntimeError: Engine process failed to start. See stack trace for the root cause.",
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.CUDA_OOM
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 2


def test_an_assertion_in_one_of_eight_workers_and_its_echoes() -> None:
    """V1: the worker prints it, the engine raises it again, the front says to look above."""
    worker = "(Worker_TP5_EP5 pid=905) ERROR 11-03 10:00:00 [multiproc_executor.py:772] "
    facts = vllm(
        f"{worker}WorkerProc hit an exception.",
        f"{worker}Traceback (most recent call last):",
        f'{worker}  File "/vllm/v1/worker/gpu_model_runner.py", line 2710, in _dummy_run',
        f"{worker}    assert num_tokens <= self.scheduler_config.max_num_batched_tokens",
        f"{worker}AssertionError",
        *in_the_engine(
            "RuntimeError: Worker failed with error '', please check the stack trace above for the root cause"
        ),
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 5


def test_ray_has_fewer_gpus_than_the_arm_asks_for() -> None:
    facts = vllm(
        *in_front(
            "ValueError: Cannot provide a placement group requiring 16 GPUs (placement_group_specs=[{'GPU': 1.0}]) within 1800 seconds."
        )
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.BAD_FLAG
    assert "Ray" in facts.failure.reason


def test_a_worker_that_was_killed_says_so_even_while_serving() -> None:
    facts = vllm(
        f"{API}INFO:     Application startup complete.",
        "(EngineCore_DP0 pid=311) ERROR 10-02 08:00:00 [multiproc_executor.py:259] Worker proc VllmWorker-2 died unexpectedly (exit code: -9), shutting down executor.",
    )

    assert facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED
    assert "SIGKILL" in facts.failure.reason


@pytest.mark.parametrize(
    "line",
    [
        "WARNING 10-02 07:10:00 [parallel.py:604] Address already in use. Retrying with a new port.",
        "WARNING 10-02 07:10:00 [gpu_worker.py:412] cudaHostRegister failed for rank=0 (code=1), transfers will still work but may be slower (unpinned DMA)",
        "WARNING 10-02 07:10:00 [worker.py:77] Pinned memory not available. CPU offload performance may be degraded.",
        "WARNING 10-02 07:10:00 [sharded_state_loader.py:90] Attempted to load weight torch.Size([1]) with dtype torch.int8 into parameter with dtype torch.bfloat16",
    ],
)
def test_what_the_server_goes_on_after_is_no_failure(line: str) -> None:
    healthy = vllm(line, f"{API}INFO:     Application startup complete.")
    cut_off = vllm(line)

    assert healthy.ready
    assert healthy.failure is None
    assert cut_off.failure is None


def test_a_warning_does_not_hide_what_the_server_died_of_later() -> None:
    facts = vllm(
        "WARNING 10-02 07:10:00 [gpu_worker.py:412] cudaHostRegister failed for rank=0 (code=1)",
        *in_the_engine("KeyError: 'model.layers.0.mlp.gate.weight'"),
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.CHECKPOINT_MISMATCH


SGL = "[2026-10-02 07:11:12 TP0] "


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", Kind.KV_TOO_SMALL),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB.", Kind.CUDA_OOM),
        ("Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 128.00 MiB.", Kind.CUDA_OOM),
        ("ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=77.3, local_gpu_memory=140.1", Kind.GPU_MEMORY_IN_USE),
        ("ValueError: Model architectures ['Qwen9ForCausalLM'] are not supported for now. Supported architectures: dict_keys([])", Kind.CHECKPOINT_MISMATCH),
        ("ValueError: User-specified context_length (131072) is greater than the derived context_length (40960).", Kind.BAD_FLAG),
        ("AssertionError: 20 is not divisible by 8", Kind.BAD_FLAG),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", Kind.ENGINE_CORE_DIED),
        ("KeyError: 'model.layers.0.mlp.experts.w13_weight_scale_inv'", Kind.CHECKPOINT_MISMATCH),
        ("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77", Kind.ENGINE_CORE_DIED),
        ("AssertionError: Memory pool size is too small", Kind.KV_TOO_SMALL),
        ("ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.3.", Kind.KV_TOO_SMALL),
        ("RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size=0", Kind.KV_TOO_SMALL),
        ("RuntimeError: SWA pool (512 tokens) cannot hold even one request: the prefill admission floor is 1088.", Kind.KV_TOO_SMALL),
        ("ValueError: Not enough host memory available. Requesting 512.00 GB but only have 200.00 GB free.", Kind.HOST_OOM),
        ("ValueError: Unsupported architectures: ['Qwen9ForCausalLM']. Supported list: ['LlamaForCausalLM']", Kind.CHECKPOINT_MISMATCH),
        ("AssertionError: chunked_prefill_size must be divisible by page_size", Kind.BAD_FLAG),
        ("ValueError: moe_intermediate_size 768 must be divisible by moe_tp_size (5) which is tp_size (5) divided by moe_ep_size (1).", Kind.BAD_FLAG),
    ],
)  # fmt: skip
def test_what_an_sglang_scheduler_dies_of(cause: str, kind: Kind) -> None:
    facts = sglang(
        "[2026-10-02 07:10:00] server_args=ServerArgs(model_path='openai/gpt-oss-20b', dp_size=1, tp_size=8)",
        f"{SGL}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 3100, in run_scheduler_process',
        "    scheduler = Scheduler(",
        cause,
        "",
        "[2026-10-02 07:11:13] Received sigquit from a child process. It usually means the child failed.",
    )

    assert facts.failure is not None
    assert facts.failure.kind is kind
    assert facts.failure.evidence is not None
    assert facts.failure.evidence.line == 5


def test_the_rust_front_end_that_ends_before_its_engine() -> None:
    utils = "ERROR 06-04 11:58:06 [utils.py:546] "
    facts = vllm(
        f"{utils}Exception occurred while running API servers: Process RustFrontend (PID: 740) died with exit code 101",
        f"{utils}Traceback (most recent call last):",
        f"{utils}RuntimeError: Process RustFrontend (PID: 740) died with exit code 101",
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.FRONTEND_CRASH
    assert "VLLM_USE_RUST_FRONTEND=0" in facts.failure.reason


def test_a_gpu_that_no_attention_kernel_runs_on() -> None:
    facts = vllm(
        *in_the_engine(
            "ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=576). Reasons: {}"
        )
    )

    assert facts.failure is not None
    assert facts.failure.kind is Kind.ENGINE_CORE_DIED
    assert "no attention kernel" in facts.failure.reason


def test_a_launcher_in_front_of_an_engines_rank() -> None:
    """Ray puts its process in front; a log that was pasted shows escapes as carets."""
    first = "(SGLangEngine pid=6680) [2025-09-22 14:35:35 DP0 TP0] max_total_num_tokens=1000, chunked_prefill_size=1"
    second = "^[[36m(SGLangEngine pid=6681)^[[0m [2025-09-22 14:35:35 DP1 TP2] max_total_num_tokens=1200, chunked_prefill_size=1^M"

    facts = sglang(first, second)

    assert facts.proofs["kv_tokens"].value == 2200
    assert "^" not in sglang(second).proofs["kv_tokens"].evidence.text


def test_colours_that_lost_their_escape_character() -> None:
    """A log copied out of a terminal: the smallest pool of sixteen workers of one rank is the server's."""
    facts = vllm(
        "[36m(RayWorkerWrapper pid=858)[0m WARNING 04-16 10:29:53 [parallel.py:1] Address already in use. Retrying with a new port.[32m [repeated 15x across cluster][0m",
        "[36m(RayWorkerWrapper pid=858, ip=10.0.0.2)[0m INFO 04-16 10:29:53 [cuda.py:221] Using Flash Attention backend on V1 engine.[32m [repeated 15x across cluster][0m",
        "INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: 305,216 tokens",
        "INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: 304,704 tokens",
        "INFO 04-16 10:31:19 [kv_cache_utils.py:634] GPU KV cache size: 305,216 tokens",
    )

    assert facts.failure is None
    assert facts.proofs["attention_backend"].value == "FLASH_ATTN"
    assert "[36m" not in facts.proofs["attention_backend"].evidence.text
    assert facts.proofs["kv_tokens"].value == 304704


def test_sglang_runs_out_of_pool_while_serving() -> None:
    facts = sglang(
        "[2026-10-02 07:11:12] The server is fired up and ready to roll!",
        f"{SGL}Scheduler hit an exception: Traceback (most recent call last):",
        "RuntimeError: Prefill out of memory. Try to lower your batch size.",
    )

    assert facts.ready
    assert facts.failure is not None
    assert facts.failure.kind is Kind.KV_TOO_SMALL


def test_sglang_goes_on_with_unbalanced_memory_when_told_to() -> None:
    facts = sglang(f"{SGL}The memory capacity is unbalanced. Some GPUs may be occupied by other processes.")

    assert facts.failure is None
