"""Every client that is measured beside ours: how to install it, its command line, and how to read what it counted."""

from benchmarks.peers.aiperf import AiPerf
from benchmarks.peers.base import Client, Load, Reading
from benchmarks.peers.guidellm import GuideLlm
from benchmarks.peers.inference_perf import InferencePerf
from benchmarks.peers.ours import Ours
from benchmarks.peers.vllm_bench import VllmBench

CLIENTS: dict[str, type[Client]] = {
    client.name: client for client in (Ours, VllmBench, AiPerf, GuideLlm, InferencePerf)
}

__all__ = ["CLIENTS", "Client", "Load", "Reading"]
