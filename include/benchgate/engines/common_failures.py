"""Failures that any engine can meet, since their words come from PyTorch, CUDA, Python or the Hugging Face libraries."""

from __future__ import annotations

from benchgate.engines.failures import CERTAIN, HINT, LIKELY, FailureWords
from benchgate.records import FailureKind as Kind

_SEED_VOCAB = (
    "seed the vocabulary and set TIKTOKEN_ENCODINGS_BASE to its plain folder (no file://), then check its sha256"
)
_SEED_MODEL = "seed the model for this host, or correct its id or path; servers start without egress"
_SHM = "give the container host IPC or a larger shm_size_gib"
_GPU = "lower the memory the engine asks for, or the number of sequences or graphs, or use more GPUs"
_HOST_MEMORY = "pin less host memory (CPU KV buffers count once a replica) or use a host with more"
_CHECKPOINT = "use a checkpoint that this engine version can read, or another version"
_PORT = "stop what listens there, or give the placement another port"

VOCAB = (
    FailureWords(Kind.VOCAB_MISSING, "invalid tiktoken vocab file", r"invalid tiktoken vocab file: (.+)",
                 "the tokenizer vocabulary cannot be read ({0})", _SEED_VOCAB, while_serving=True),
    FailureWords(Kind.VOCAB_MISSING, "loading vocab file", r"error downloading or loading vocab file",
                 "the tokenizer vocabulary is not there and cannot be downloaded", _SEED_VOCAB, while_serving=True),
    FailureWords(Kind.VOCAB_MISSING, "openaipublic.blob.core", r"openaipublic\.blob\.core",
                 "the tokenizer vocabulary is not there and its download is blocked", _SEED_VOCAB,
                 weight=LIKELY, while_serving=True),
    FailureWords(Kind.VOCAB_MISSING, ".tiktoken", r"(?:No such file|not found|[Ff]ailed|[Ee]rror).{0,200}\.tiktoken|\.tiktoken.{0,200}(?:No such file|not found|hash mismatch|does not match)",
                 "a tokenizer vocabulary file is missing or altered", _SEED_VOCAB, weight=LIKELY, while_serving=True),
)  # fmt: skip

MEMORY = (
    # A pinned buffer fails in CUDA's words although it is the host that is full: look at the call above.
    FailureWords(Kind.HOST_OOM, "CUDA error: out of memory", r"CUDA error: out of memory",
                 "a pinned host-memory buffer could not be allocated", _HOST_MEMORY,
                 weight=CERTAIN + 1, near=r"pin_memory|cudaHostAlloc|cudaHostRegister|cudaMallocHost"),
    *(
        FailureWords(Kind.HOST_OOM, words, rf"(?i){words}.{{0,200}}(?:fail|out of memory|cannot|could not)|(?:fail\w*|cannot|could not|unable)\b.{{0,200}}{words}",
                     "a pinned host-memory buffer could not be allocated", _HOST_MEMORY)
        for words in ("pinned", "pin_memory", "cudaHostAlloc", "cudaHostRegister", "cudaMallocHost", "HostAllocator")
    ),
    FailureWords(Kind.HOST_OOM, "DefaultCPUAllocator", r"DefaultCPUAllocator: (?:can't|not enough).*",
                 "the host has too little memory for an allocation", _HOST_MEMORY),
    FailureWords(Kind.HOST_OOM, "annot allocate memory", r"(?:\[Errno 12\] |os error 12|: )[Cc]annot allocate memory",
                 "the host has too little memory for an allocation", _HOST_MEMORY),
    FailureWords(Kind.HOST_OOM, "bad_alloc", r"std::bad_alloc", "the host has too little memory", _HOST_MEMORY),
    FailureWords(Kind.HOST_OOM, "MemoryError", r"(?<![A-Za-z.])(?:numpy\.\w+\.\w+)?MemoryError\b",
                 "the host has too little memory for an allocation", _HOST_MEMORY),
    FailureWords(Kind.HOST_OOM, "ut of memory: Killed", r"[Oo]ut of memory: Killed process",
                 "the kernel killed a process because the host ran out of memory", _HOST_MEMORY, while_serving=True),
    FailureWords(Kind.CUDA_OOM, "out of memory", r"(?:CUDA|HIP|XPU) out of memory|(?:CUDA|HIP) error: out of memory|[Cc]uda failure 2 'out of memory'|OutOfMemoryError",
                 "the GPU ran out of memory", _GPU, while_serving=True),
    FailureWords(Kind.CUDA_OOM, "OutOfMemoryError", r"torch\.(?:cuda\.)?OutOfMemoryError",
                 "the GPU ran out of memory", _GPU, while_serving=True),
    FailureWords(Kind.CUDA_OOM, "cudaErrorMemoryAllocation", r"cudaErrorMemoryAllocation",
                 "the GPU ran out of memory", _GPU, while_serving=True),
    FailureWords(Kind.CUDA_OOM, "STATUS_ALLOC_FAILED", r"CU\w+_STATUS_ALLOC_FAILED",
                 "a CUDA library could not allocate GPU memory", _GPU, weight=LIKELY, while_serving=True),
    FailureWords(Kind.SHM_TOO_SMALL, "/dev/shm", r"Error while creating shared memory segment /dev/shm|/dev/shm.{0,200}(?:No space left|too small|MiB free)|(?:No space left|[Ii]nsufficient).{0,200}/dev/shm",
                 "the shared memory of the container (/dev/shm) is too small", _SHM, weight=CERTAIN + 1),
    FailureWords(Kind.SHM_TOO_SMALL, "us error", r"\b[Bb]us error\b", "a process died of a bus error, which in a container "
                 "means that /dev/shm is full", _SHM, weight=LIKELY, while_serving=True),
    FailureWords(Kind.SHM_TOO_SMALL, "No space left on device", r"No space left on device.{0,200}(?:psm_|shm|sem\.)|(?:psm_|shm).{0,200}No space left on device",
                 "the shared memory of the container (/dev/shm) is full", _SHM),
)  # fmt: skip

_IMAGE = "use an image that is built for this GPU and driver, or update the host's driver"
_DOCKER_GPUS = "look at the placement's gpus, the driver (nvidia-smi on the host) and the NVIDIA container toolkit"
# What no kind stands for: the words name it, and the kind is the process that it ended.
GPU = (
    FailureWords(None, "no kernel image is available", r"no kernel image is available for execution on the device",
                 "this build of the engine has no kernels for this GPU", _IMAGE, while_serving=True),
    FailureWords(None, "driver", r"NVIDIA driver on your system is too old|CUDA driver version is insufficient|requires .{0,40}driver version .{0,40}or (?:newer|higher|later)",
                 "the host's GPU driver is too old for the engine's CUDA", _IMAGE),
    FailureWords(None, "Ptx", r"cudaErrorUnsupportedPtxVersion", "the host's GPU driver is too old for the engine's kernels", _IMAGE, while_serving=True),
    FailureWords(None, "PTX", r"PTX was compiled with an unsupported toolchain|(?:unsupported|invalid) PTX|PTX JIT compiler library was not found",
                 "the host's GPU driver is too old for the engine's kernels", _IMAGE, while_serving=True),
    FailureWords(None, "GPUs are available", r"No (?:CUDA|HIP|XPU) GPUs are available", "the server sees no GPU", _DOCKER_GPUS),
    FailureWords(None, "NVIDIA driver", r"Found no NVIDIA driver on your system", "the server sees no GPU driver", _DOCKER_GPUS),
    FailureWords(None, "device", r"Failed to infer device type|no CUDA-capable device is detected", "the server sees no GPU", _DOCKER_GPUS),
    FailureWords(None, "libcuda.so", r"libcuda\.so\.?\d*: cannot open shared object", "the server sees no GPU driver", _DOCKER_GPUS),
    FailureWords(None, "invalid device ordinal", r"invalid device ordinal", "the server asked for a GPU that it does not see",
                 "correct the parallel sizes or the placement's gpus"),
    FailureWords(None, "CUDA error: ", r"(?:CUDA|HIP) error: (an illegal memory access was encountered|unspecified launch failure|device-side assert triggered|misaligned address|uncorrectable ECC error encountered|an illegal instruction was encountered|the launch timed out and was terminated|system not yet initialized)",
                 "a kernel failed on the GPU ({0})", "look for an Xid in the host's dmesg; with none, it is the kernel: try another", weight=LIKELY, while_serving=True),
    FailureWords(None, "out of resource", r"OutOfResources: out of resource: ([\w ]+), Required: (\d+), Hardware limit: (\d+)",
                 "a Triton kernel needs more {0} than this GPU has ({1} of {2})", "choose another kernel or a smaller block size", while_serving=True),
    FailureWords(None, "NCCL", r"NCCL error|DistBackendError|ncclUnhandledCudaError|ncclSystemError|ncclInternalError|ncclRemoteError",
                 "the GPUs could not talk to each other (NCCL)", "set NCCL_DEBUG=WARN and read on; check NVLink, /dev/shm and the interfaces", weight=LIKELY, while_serving=True),
    FailureWords(None, "collective operation timeout", r"Watchdog caught collective operation timeout",
                 "the GPUs waited for each other in vain (NCCL timeout)", "find the rank that stopped first", weight=LIKELY, while_serving=True),
    FailureWords(None, "egmentation fault", r"Fatal Python error: Segmentation fault|Segmentation fault \(core dumped\)",
                 "a process of the server crashed (segmentation fault)", "look for a core dump; try another kernel or image", weight=LIKELY, while_serving=True),
    FailureWords(None, "Segfault encountered", r"Segfault encountered", "a process of the server crashed (segmentation fault)",
                 "look for a core dump; try another kernel or image", weight=LIKELY, while_serving=True),
    FailureWords(None, "No space left on device", r"No space left on device", "a disk is full",
                 "make room where the caches and the model are", weight=LIKELY),
    FailureWords(None, "exit code: -9", r"died unexpectedly \(exit code: -9\)", "a process of the engine was killed (SIGKILL)",
                 "most often by the kernel when memory runs out: look at the host's dmesg", weight=HINT, while_serving=True),
)  # fmt: skip

_ARGS = "correct the arm's args; the message says which value this version or GPU does not take"
START = (
    FailureWords(Kind.PORT_IN_USE, "ddress already in use", r"[Aa]ddress already in use",
                 "the server's port is taken", _PORT, denies_ready=True),
    FailureWords(Kind.PORT_IN_USE, "EADDRINUSE", r"EADDRINUSE", "the server's port is taken", _PORT, denies_ready=True),
    FailureWords(Kind.BAD_FLAG, "error: ", r"error: (unrecognized arguments: .+|argument [^:]+: .+|ambiguous option: .+|the following arguments are required: .+|unexpected argument .+)",
                 "the engine refused its command line ({0})", "correct the arm's args for this engine version",
                 weight=CERTAIN + 1),
)  # fmt: skip

# Arguments that every engine has in one form or another.
ARGS = (
    FailureWords(Kind.BAD_FLAG, "trust_remote_code", r"(?:pass|set) the (?:argument|option) `trust_remote_code=True`|--trust-remote-code|`trust_remote_code=True` to (?:remove|allow)",
                 "the model brings code of its own and may not run it", "set trust-remote-code: true in the arm's args, and pin the model's revision", weight=LIKELY),
    FailureWords(Kind.BAD_FLAG, "User-specified", r"(?<!Warning: )User-specified (max_model_len|context_length) \((\d+)\) is greater than the derived \w+ \((\w+=\d+|[^)]{0,80})\)",
                 "{0} {1} is more than the model's own ({2})", _ARGS, weight=CERTAIN + 1),
    FailureWords(Kind.BAD_FLAG, "is smaller than max_model_len", r"max_num_batched_tokens \((\d+)\) is smaller than max_model_len \((\d+)\)",
                 "max-num-batched-tokens {0} is less than max-model-len {1}", _ARGS),
    FailureWords(Kind.BAD_FLAG, "float16 is only supported", r"([Bb]?float16) is only supported on GPUs with compute capability", "this GPU does not have {0}", _ARGS),
    FailureWords(Kind.BAD_FLAG, "uantization", r"does not match the quantization method specified in the `?quantization|(?:Unknown|Invalid) quantization method", "the quantization that is asked for is not the checkpoint's", _ARGS),
    FailureWords(Kind.BAD_FLAG, "must be divisible by", r"(?:attention heads|num_heads|vocab\w{0,20}|tp_size|num_experts|(?:\d+) is not).{0,80}(?:must be )?divisible by", "the model cannot be split over that many GPUs", _ARGS),
    FailureWords(Kind.BAD_FLAG, "is not divisible by", r"AssertionError: \d+ is not divisible by \d+", "the model cannot be split over that many GPUs", _ARGS),
    FailureWords(Kind.BAD_FLAG, "number of available", r"(?:size|number of required \w+) ?(?:\((\d+)\))? ?(?:cannot be larger than|is larger than|exceeds) the (?:total )?number of available (?:GPU|device)",
                 "the arm is split over more GPUs than the server sees", "correct the parallel sizes or the placement's GPUs"),
    FailureWords(Kind.BAD_FLAG, "gpu count", r"set tensor_parallel_size \((\d+)\) to less than max local gpu count \((\d+)\)",
                 "the arm needs {0} GPUs and the server sees {1}", "correct the parallel sizes or the placement's GPUs"),
    FailureWords(Kind.BAD_FLAG, "visible devices", r"local_world_size \((\d+)\) must be less than or equal to the number of visible devices \((\d+)\)",
                 "the arm needs {0} GPUs and the server sees {1}", "correct the parallel sizes or the placement's GPUs"),
    FailureWords(Kind.BAD_FLAG, "placement group", r"Cannot provide a placement group|required GPUs exceeds the total number of available GPUs",
                 "Ray has fewer GPUs than the arm is split over", "correct the parallel sizes, or start Ray on all nodes"),
)  # fmt: skip

_HUB = "accept the model's terms and set HF_TOKEN where it is seeded; a server itself starts without egress"
MODEL = (
    FailureWords(Kind.CHECKPOINT_MISMATCH, "rchitectures", r"Model architectures (\[.{0,100}?\]) (?:are|is) not supported",
                 "this version of the engine does not know the model ({0})", _CHECKPOINT, weight=CERTAIN + 1),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "does not recognize this architecture", r"Transformers does not recognize this architecture",
                 "the engine's Transformers does not know the model's type", _CHECKPOINT, weight=CERTAIN + 1),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "implementation", r"(\w+) has no \w+ implementation and the Transformers implementation is not compatible",
                 "this version of the engine does not know the model ({0})", _CHECKPOINT, weight=CERTAIN + 1),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "is not supported for the current GPU", r"quantization method (\S+) is not supported for the current GPU",
                 "this GPU cannot run the checkpoint's quantization ({0})", _CHECKPOINT, weight=CERTAIN + 1),
    FailureWords(Kind.OFFLINE_MISS, "gated repo", r"gated repo", "the Hub gives this model only to those who accepted its terms", _HUB, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "Client Error", r"40[134] Client Error", "the Hub does not give this model to us", _HUB, weight=LIKELY),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "KeyError: ", r"KeyError: (['\"][\w.]*(?:layers|experts|weight|scale|bias|proj|embed|lm_head|norm|mlp|attn)[\w.]*['\"]?)",
                 "the checkpoint has a tensor that the engine's model does not know ({0})", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "no module or parameter named", r"There is no module or parameter named (\S+)",
                 "the checkpoint has a tensor that the engine's model does not know ({0})", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "not initialized from checkpoint", r"weights were not initialized from checkpoint",
                 "the checkpoint lacks tensors that the engine's model needs", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "size mismatch", r"size mismatch for (\S+?):",
                 "a tensor of the checkpoint has another shape than the engine's model ({0})", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "Attempted to load weight", r"Attempted to load weight .{0,200} into parameter",
                 "a tensor of the checkpoint has another shape than the engine's model", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "in loading state_dict", r"Error\(s\) in loading state_dict",
                 "the checkpoint does not fit the engine's model", _CHECKPOINT),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "SafetensorError", r"SafetensorError:? ?(.*)",
                 "a weight file cannot be read ({0})", "seed the model again and verify its digests"),
    FailureWords(Kind.CHECKPOINT_MISMATCH, "while deserializing header", r"Error while deserializing header",
                 "a weight file cannot be read", "seed the model again and verify its digests"),
    FailureWords(Kind.OFFLINE_MISS, "OfflineModeIsEnabled", r"OfflineModeIsEnabled", "something that was not seeded had to be "
                 "downloaded, and the server starts without egress", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "LocalEntryNotFoundError", r"LocalEntryNotFoundError",
                 "a file of the model is not in the local cache", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "outgoing traffic has been disabled", r"outgoing traffic has been disabled",
                 "a file of the model is not in the local cache", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "connect to 'https://huggingface.co", r"connect to 'https://huggingface\.co",
                 "the server tried to reach the Hugging Face Hub and could not", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "huggingface.co", r"(?:Cannot reach|Failed to resolve|Max retries exceeded|resolve host|ConnectionError).{0,200}huggingface\.co|huggingface\.co.{0,200}(?:Max retries exceeded|Name or service not known|Failed to resolve|[Nn]etwork is unreachable)",
                 "the server tried to reach the Hugging Face Hub and could not", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "is not a local folder", r"is not a local folder and is not a valid model identifier",
                 "the model is neither a folder that the server sees nor a model id", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "Repo id must", r"Repo id must (?:be in the form|use alphanumeric)",
                 "the model folder is not where the server looks for it", _SEED_MODEL, weight=LIKELY),
    FailureWords(Kind.OFFLINE_MISS, "Invalid repository ID", r"Invalid repository ID or local directory specified",
                 "the model is neither a folder that the server sees nor a model id", _SEED_MODEL),
    FailureWords(Kind.OFFLINE_MISS, "annot find any model weights", r"[Cc]annot find any model weights with",
                 "the model folder holds no weights", _SEED_MODEL),
    FailureWords(Kind.OFFLINE_MISS, "RepositoryNotFoundError", r"RepositoryNotFoundError",
                 "the Hub does not give this model to us", _HUB, weight=HINT),
    FailureWords(Kind.OFFLINE_MISS, "GatedRepoError", r"GatedRepoError",
                 "the Hub gives this model only to those who accepted its terms", _HUB, weight=LIKELY),
)  # fmt: skip

COMMON = (*VOCAB, *MEMORY, *START, *ARGS, *MODEL, *GPU)
