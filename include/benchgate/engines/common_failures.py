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

START = (
    FailureWords(Kind.PORT_IN_USE, "ddress already in use", r"[Aa]ddress already in use",
                 "the server's port is taken", _PORT, denies_ready=True),
    FailureWords(Kind.PORT_IN_USE, "EADDRINUSE", r"EADDRINUSE", "the server's port is taken", _PORT, denies_ready=True),
    FailureWords(Kind.BAD_FLAG, "error: ", r"error: (unrecognized arguments: .+|argument [^:]+: .+|ambiguous option: .+|the following arguments are required: .+|unexpected argument .+)",
                 "the engine refused its command line ({0})", "correct the arm's args for this engine version",
                 weight=CERTAIN + 1),
)  # fmt: skip

MODEL = (
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
    FailureWords(Kind.OFFLINE_MISS, "RepositoryNotFoundError", r"RepositoryNotFoundError|GatedRepoError",
                 "the Hub does not give this model to us", _SEED_MODEL, weight=HINT),
)  # fmt: skip

COMMON = (*VOCAB, *MEMORY, *START, *MODEL)
